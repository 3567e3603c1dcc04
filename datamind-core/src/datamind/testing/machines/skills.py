"""A skill source against a model made of a dict, in any order of writes and readings. Needs hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from datamind.core.protocols.skills import SkillDraft
from datamind.testing.conformance.skills import draft_of
from datamind.testing.machines.base import ProviderMachine

_WORDS = ("zebra", "lion", "网关", "budget")
_NAMES = st.sampled_from(["alpha", "beta", "gamma-7"])
_TEXTS = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=3).map(" ".join)


@st.composite
def drafts(draw: st.DrawFn) -> SkillDraft:
    """Drafts so few and alike that they meet."""
    return SkillDraft(
        name=draw(_NAMES),
        description=draw(_TEXTS),
        body=draw(_TEXTS) + "\n",
        keywords=tuple(draw(st.lists(st.sampled_from(_WORDS), max_size=2, unique=True))),
    )


class SkillsMachine(ProviderMachine):
    """A SkillSource that begins empty."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, SkillDraft] = {}

    @rule(draft=drafts())
    def put(self, draft: SkillDraft) -> None:
        """Whether anything changed is said rightly, and the second time nothing does."""
        assert self.run(self.provider.put(draft)) is (self.known.get(draft.name) != draft)
        assert self.run(self.provider.put(draft)) is False
        self.known[draft.name] = draft

    @rule(name=_NAMES)
    def remove(self, name: str) -> None:
        """One that may not be there."""
        assert self.run(self.provider.remove(name)) is (self.known.pop(name, None) is not None)

    @rule(words=st.lists(st.sampled_from(_WORDS), min_size=1, max_size=2), limit=st.integers(1, 2))
    def search(self, words: list[str], limit: int) -> None:
        """Every skill that shares a word and no other, and a smaller limit gives the beginning."""
        view = self.provider.read_view()
        hits = self.run(view.search(" ".join(words), 100))
        expected = {name for name, draft in self.known.items() if set(words) & words_of(draft)}
        assert {hit.skill.name for hit in hits} == expected
        order = [(-hit.score, hit.skill.name) for hit in hits]
        assert order == sorted(order)
        assert list(self.run(view.search(" ".join(words), limit))) == list(hits)[:limit]

    @invariant()
    def the_list_agrees(self) -> None:
        """Names, and each skill whole."""
        view = self.provider.read_view()
        assert [skill.name for skill in self.run(view.skills())] == sorted(self.known)
        for name, draft in self.known.items():
            skill = self.run(view.skill(name))
            assert skill is not None and draft_of(skill) == draft
        assert list(self.run(view.problems())) == []


def words_of(draft: SkillDraft) -> set[str]:
    """Words of the vocabulary that a draft holds."""
    return set(f"{draft.description} {draft.body} {' '.join(draft.keywords)}".split())
