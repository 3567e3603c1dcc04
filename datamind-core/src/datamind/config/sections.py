"""The sections of Settings: every key with its type, bounds, default and meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from datamind.config.fields import (
    BaseDir,
    Count,
    CountOrZero,
    Dollars,
    HttpUrl,
    LowerCase,
    Names,
    Options,
    Paths,
    ProfileName,
    Seconds,
    SecondsOrZero,
    Size,
    Temperature,
    UserPath,
    split_list,
)
from datamind.config.mistakes import SectionInvalid, mistakes_of
from datamind.config.paths import user_config_dir
from datamind.config.profile import Profile


class Section(BaseModel):
    """One immutable table of settings.

    Raises:
        ConfigError: A value is wrong or a key is unknown; one line per mistake.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, allow_inf_nan=False)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
            return
        except ValidationError as error:
            mistakes = mistakes_of(self.section_name(), type(self).model_fields, error)
        # Outside the except clause: the pydantic error holds the values, secret ones too.
        raise SectionInvalid(mistakes)

    @classmethod
    def section_name(cls) -> str:
        """``llm`` for ``LlmSettings``: the first part of each key."""
        return cls.__name__.removesuffix("Settings").lower()

    @model_validator(mode="before")
    @classmethod
    def _empty_is_none(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {key: None if value == "" else value for key, value in values.items()}


class LlmSettings(Section):
    """The language model."""

    api_base: HttpUrl | None = Field(None, description="URL of the model service; none = the vendor's own.")
    api_key: SecretStr | None = Field(None, description="Key of the model service.")
    protocol: str | None = Field(None, description="Model client; none = anthropic with a key, offline without one.")
    model: str = Field("claude-sonnet-4-6", description="Model name as the service knows it.")
    max_tokens: Count = Field(4096, description="Most tokens in one reply.")
    temperature: Temperature | None = Field(None, description="Sampling temperature; none = the model's own.")
    timeout_s: Seconds = Field(60, description="Total time for one model call, retries included.")
    options: Options = Field(default_factory=dict, description="Options of the model client.", repr=False)


class EmbeddingSettings(Section):
    """The embedding model."""

    provider: str = Field("local", description="Embedding provider.")
    api_base: HttpUrl | None = Field(None, description="URL of the embedding service.")
    api_key: SecretStr | None = Field(None, description="Key of the embedding service.")
    model: str | None = Field(None, description="Embedding model; none = the provider's own.")
    batch_size: Count = Field(32, description="Most texts in one embedding call.")
    options: Options = Field(default_factory=dict, description="Options of the embedding provider.", repr=False)


class RetrievalSettings(Section):
    """How the knowledge base is cut and searched."""

    strategy: str = Field("hybrid", description="Retriever: hybrid, lexical, vector, multi_query or a plugin's.")
    top_k: Count = Field(5, description="Passages a search returns.")
    chunk_size: Count = Field(512, description="Most characters of a chunk.")
    chunk_overlap: CountOrZero = Field(64, description="Characters a chunk shares with the one before it.")
    rerank: bool = Field(False, description="Whether passages are ranked again by retrieval.rerank_model.")
    rerank_model: str | None = Field(None, description="Reranker that retrieval.rerank uses.")
    options: Options = Field(default_factory=dict, description="Options of the retriever.", repr=False)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(
                f"retrieval.chunk_overlap = {self.chunk_overlap} must be less than "
                f"retrieval.chunk_size = {self.chunk_size}; lower the first or raise the second"
            )
        if self.rerank and not self.rerank_model:
            raise ValueError("retrieval.rerank = true needs a reranker; set retrieval.rerank_model")
        if self.rerank_model and not self.rerank:
            raise ValueError("retrieval.rerank_model does nothing alone; set retrieval.rerank = true too, or remove it")
        return self


class KbSettings(Section):
    """The knowledge base."""

    backend: str = Field("lancedb", description="KB store.")
    lexical: str = Field("store", description="Lexical index; store = the KB store's own.")
    options: Options = Field(default_factory=dict, description="Options of the KB store.", repr=False)


class GraphSettings(Section):
    """The knowledge graph."""

    backend: str = Field("rdflib", description="Graph store.")
    dsn: SecretStr | None = Field(None, description="Address of a remote graph store.")
    embed_entities: bool = Field(False, description="Entity search by vectors too; true is rejected in 1.0.")
    options: Options = Field(default_factory=dict, description="Options of the graph store.", repr=False)

    @field_validator("embed_entities")
    @classmethod
    def _by_names_alone(cls, value: bool) -> bool:
        if value:
            raise ValueError("is rejected: entities are found by their names alone; remove it")
        return value


class DbSettings(Section):
    """The tables."""

    dialect: str = Field("duckdb", description="Database dialect.")
    dsn: SecretStr | None = Field(None, description="Data source name for writes; none = a file of the profile.")
    read_dsn: SecretStr | None = Field(
        None, description="Data source name for reads; without it a server database is write-only."
    )
    read_only: bool = Field(True, description="SQL is read-only; false is rejected, for there is no SQL write tool.")
    row_limit: Count = Field(1000, description="Most rows a query returns.")
    query_timeout_s: Seconds = Field(10, description="Time after which a statement is stopped.")
    options: Options = Field(default_factory=dict, description="Options of the database dialect.", repr=False)

    @field_validator("read_only")
    @classmethod
    def _always_read_only(cls, value: bool) -> bool:
        if not value:
            raise ValueError("is rejected: there is no SQL write tool, tables change by imports alone; remove it")
        return value


class MemorySettings(Section):
    """What is remembered of conversations."""

    backend: str = Field("sqlite", description="Memory store.")
    dsn: SecretStr | None = Field(None, description="Data source name of a server; none = a file of the profile.")
    short_term_turns: CountOrZero = Field(20, description="Turns of a conversation kept word for word.")
    long_term_enabled: bool = Field(
        True, description="Facts are kept beyond a conversation; false is rejected, switch the surface off instead."
    )
    options: Options = Field(default_factory=dict, description="Options of the memory store.", repr=False)

    @field_validator("long_term_enabled")
    @classmethod
    def _always_long_term(cls, value: bool) -> bool:
        if not value:
            raise ValueError(
                "is rejected: a fact is kept only when it is told to be; build without the memory surface, or remove it"
            )
        return value


class DataSettings(Section):
    """Which profile, and where profiles are kept. A profile file cannot set these."""

    profile: ProfileName = Field("default", description="Name of the profile.")
    base_dir: BaseDir = Field(
        Path(),
        validate_default=True,
        description="Folder of data/ and storage/; relative paths start at the working directory.",
        json_schema_extra={"shown_default": "."},
    )

    @property
    def data_dir(self) -> Path:
        """``Profile.data_dir`` of this profile."""
        return Profile(self.profile, self.base_dir).data_dir

    @property
    def storage_dir(self) -> Path:
        """``Profile.storage_dir`` of this profile."""
        return Profile(self.profile, self.base_dir).storage_dir


class AgentSettings(Section):
    """The agent loop and the budget of one run."""

    backend: str = Field("native", description="Agent loop.")
    max_turns: Count = Field(12, description="Most model calls.")
    max_tool_calls: Count = Field(24, description="Most tool calls.")
    max_input_tokens: Count = Field(120_000, description="Most input tokens, all turns together.")
    max_output_tokens: Count | None = Field(None, description="Most output tokens, all turns together; none = any.")
    max_cost_usd: Dollars | None = Field(None, description="Most US dollars spent on the model; none = any.")
    wall_clock_timeout_s: Seconds = Field(300, description="Total time.")
    finalization_reserve_s: SecondsOrZero = Field(20, description="Part of the total time kept for a final answer.")
    options: Options = Field(default_factory=dict, description="Options of the agent loop.", repr=False)

    @model_validator(mode="after")
    def _leaves_time_to_work(self) -> Self:
        if self.finalization_reserve_s >= self.wall_clock_timeout_s:
            raise ValueError(
                f"agent.finalization_reserve_s = {self.finalization_reserve_s:g} must be less than "
                f"agent.wall_clock_timeout_s = {self.wall_clock_timeout_s:g}; lower the first or raise the second"
            )
        return self


class HooksSettings(Section):
    """The hooks around each tool call. Access checks and the ledger are no hooks: nothing here removes them."""

    enabled: bool = Field(True, description="Whether the hooks below run; access checks and the ledger always do.")
    path_allowlist: bool = Field(True, description="Whether paths are held to the allowed folders.")
    audit_log: bool = Field(True, description="Whether every decision is audited.")
    path_allowlist_extra: Paths = Field((), description="Folders allowed beside the profile's data folder.")
    required: Names = Field((), description="Hooks without which nothing is built.")
    audit_key: UserPath | None = Field(
        default_factory=lambda: _below(user_config_dir(), "keys"),
        description="Folder of the keys that sign the audit chain.",
        json_schema_extra={"shown_default": "<user config dir>/datamind/keys"},
    )


def _below(folder: Path | None, name: str) -> Path | None:
    return folder / "datamind" / name if folder else None


class SkillsSettings(Section):
    """The skill book."""

    backend: str = Field("profile", description="Skill source.")
    code_skills: bool = Field(False, description="Skills that run code; true is rejected in 1.0.")
    options: Options = Field(default_factory=dict, description="Options of the skill source.", repr=False)

    @field_validator("code_skills")
    @classmethod
    def _no_code(cls, value: bool) -> bool:
        if value:
            raise ValueError("is rejected: skills that run code are not part of 1.0; remove it")
        return value


class IngestSettings(Section):
    """Bounds of what is taken in."""

    max_bytes: Size = Field(ByteSize(2 * 1024**3), description="Largest file taken in.")
    kb_max_bytes: Size = Field(ByteSize(100 * 1024**2), description="Largest file the knowledge base takes.")
    options: Options = Field(default_factory=dict, description="Options of the document loaders.", repr=False)


class PluginsSettings(Section):
    """Which installed plugins are loaded; DATAMIND_PLUGINS, _BLOCK and _STRICT are short names of these."""

    allow: Annotated[tuple[str, ...] | None, BeforeValidator(split_list)] = Field(
        None, description="The plugins that may load; none = every installed one."
    )
    block: Names = Field((), description="Plugins that never load.")
    strict: bool = Field(False, description="Whether a broken plugin stops every command.")


class LoggingSettings(Section):
    """The log."""

    level: Annotated[Literal["debug", "info", "warning", "error"], LowerCase] = Field(
        "warning", description="Least severe record that is logged."
    )
    format: Annotated[Literal["text", "json"], LowerCase] = Field("text", description="Form of a record.")
    file: UserPath | None = Field(None, description="File the log is written to; none = standard error.")


class Sections(BaseModel):
    """All sections, without the loading; the one list of them."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)

    llm: LlmSettings
    embedding: EmbeddingSettings
    retrieval: RetrievalSettings
    kb: KbSettings
    graph: GraphSettings
    db: DbSettings
    memory: MemorySettings
    data: DataSettings
    agent: AgentSettings
    hooks: HooksSettings
    skills: SkillsSettings
    ingest: IngestSettings
    plugins: PluginsSettings
    logging: LoggingSettings
