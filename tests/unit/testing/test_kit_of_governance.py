"""The kit of hooks, approvers and loaders fails where one step is broken."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from datamind.capabilities.ingest.loaders import TextLoader
from datamind.core.errors import LimitExceeded
from datamind.core.hooks import Allow, AskUser, Deny
from datamind.core.types import ToolEffect
from datamind.testing.conformance.governance import ApproverConformance, HookCase, HookConformance
from datamind.testing.conformance.loaders import LoaderConformance, Sample
from datamind.testing.fakes import ScriptedApprover
from datamind.testing.gates import make_tool
from tests.unit.testing.kits import failures_of, numbers_of, suite_of


class AsksBeforeDestroying:
    """A hook as it should be."""

    def __init__(self, folder) -> None:
        self.folder = folder
        self.asked = 0

    async def pre(self, call, ctx):
        destroys = call.spec.effect is ToolEffect.DESTRUCTIVE
        return AskUser("this cannot be undone") if destroys else Allow()

    async def post(self, call, outcome, ctx):
        pass


class KnowsNames(AsksBeforeDestroying):
    """G1: a list of names."""

    async def pre(self, call, ctx):
        return AskUser("this cannot be undone") if call.spec.name == "erase" else Allow()


class TiresOfAsking(AsksBeforeDestroying):
    """G2: the second time the answer is no."""

    async def pre(self, call, ctx):
        self.asked += 1
        return Deny("asked already") if self.asked > 1 else await super().pre(call, ctx)


class WritesAFile(AsksBeforeDestroying):
    """G2: a decision leaves something behind."""

    async def pre(self, call, ctx):
        (self.folder / f"decision-{time.monotonic_ns()}").touch()
        return await super().pre(call, ctx)


class RaisesForDenials(AsksBeforeDestroying):
    """G3: cannot take the outcome of a call that did not run."""

    async def post(self, call, outcome, ctx):
        assert not outcome.denied


def hook_suite(hook: type[AsksBeforeDestroying]) -> type[HookConformance]:
    class Suite(HookConformance):
        async def open_hook(self, folder):
            return hook(folder)

        def cases(self, folder):
            erase = make_tool("erase", effect=ToolEffect.DESTRUCTIVE)
            return [HookCase(make_tool("save", effect=ToolEffect.WRITE), Allow), HookCase(erase, AskUser)]

    return Suite


@pytest.mark.parametrize(
    ("hook", "guarantee"),
    [(KnowsNames, "g1"), (TiresOfAsking, "g2"), (WritesAFile, "g2"), (RaisesForDenials, "g3")],
    ids=lambda value: getattr(value, "__name__", value),
)
async def test_the_kit_fails_where_the_hook_is_broken(tmp_path, hook, guarantee):
    assert guarantee in numbers_of(await failures_of(hook_suite(hook), tmp_path))


async def test_the_kit_passes_a_hook_that_is_right(tmp_path):
    assert not await failures_of(hook_suite(AsksBeforeDestroying), tmp_path)


def approver_suite(decide) -> type[ApproverConformance]:
    class Suite(ApproverConformance):
        async def open_approver(self, folder, answer):
            return ScriptedApprover([decide(answer)])

    return Suite


@pytest.mark.parametrize(
    ("decide", "fails"),
    [
        (lambda answer: answer is True, False),
        (lambda answer: bool(answer), True),
        (lambda answer: answer in (True, "1") or str(answer).startswith("yes"), True),
        (lambda answer: False, True),
    ],
    ids=["right", "truthy", "starts_with_yes", "never"],
)
async def test_the_kit_of_approvers(tmp_path, decide, fails):
    assert bool(await failures_of(approver_suite(decide), tmp_path)) is fails


class OpensAFile(TextLoader):
    """G1: looks something up."""

    async def load(self, content, *, media_type, limits):
        assert Path(__file__).read_bytes()
        return await super().load(content, media_type=media_type, limits=limits)


class AddsATime(TextLoader):
    """G2: the text depends on when it was read."""

    async def load(self, content, *, media_type, limits):
        document = await super().load(content, media_type=media_type, limits=limits)
        return document.model_copy(update={"text": f"{document.text}{time.monotonic_ns()}"})


class Replaces(TextLoader):
    """G3: what cannot be read becomes question marks."""

    async def load(self, content, *, media_type, limits):
        text = content.decode("utf-8", "replace").replace("\0", "?")
        return await super().load(text.encode(), media_type=media_type, limits=limits)


class CutsLongTexts(TextLoader):
    """G3: more than the limit is cut."""

    async def load(self, content, *, media_type, limits):
        try:
            return await super().load(content, media_type=media_type, limits=limits)
        except LimitExceeded:
            return await super().load(b"", media_type=media_type, limits=limits)


@pytest.mark.parametrize(
    ("loader", "guarantee"),
    [(OpensAFile, "g1"), (AddsATime, "g2"), (Replaces, "g3"), (CutsLongTexts, "g3")],
    ids=lambda value: getattr(value, "__name__", value),
)
async def test_the_kit_fails_where_the_loader_is_broken(tmp_path, loader, guarantee):
    class Suite(suite_of(LoaderConformance, loader)):
        samples = (
            Sample("text/plain", b"The gateway restarts.", ["gateway"]),
            Sample("text/markdown", b"# Title\n", ["Title"]),
        )
        broken = (("text/plain", b"a\0b"),)

    assert guarantee in numbers_of(await failures_of(Suite, tmp_path))
