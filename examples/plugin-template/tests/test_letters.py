"""The embedding against the conformance kit, and the rest in a whole system."""

from pathlib import Path

from datamind.agent import build_datamind
from datamind.config import Settings
from datamind.core.types import Role
from datamind.testing.conformance.embeddings import EmbeddingConformance


class TestLetters(EmbeddingConformance):
    """Every guarantee of ``EmbeddingProvider``, one test each."""

    factory = "datamind_embed_letters.embedding:open_embedding"
    options_model = "datamind_embed_letters.options:LettersOptions"


async def test_the_plugin_joins_a_system(tmp_path: Path) -> None:
    settings = Settings(
        data={"base_dir": tmp_path},
        embedding={"provider": "letters"},
        memory={"backend": "memory"},
        hooks={"audit_key": tmp_path / "keys"},
    )
    async with await build_datamind(settings) as system:
        outcome = await system.call("slugify", {"title": "Ärger im Büro!"}, role=Role.RETRIEVE)
        assert outcome.data == {"slug": "arger-im-buro"}
        refused = await system.call("memory_save", {"text": "STOP SHOUTING"}, role=Role.STORE)
        assert refused.code == "access_denied.no_shouting"
        assert "slugify" in system.agents[Role.RETRIEVE].system
