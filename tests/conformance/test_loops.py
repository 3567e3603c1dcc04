"""The native loop."""

from __future__ import annotations

from datamind.testing.conformance.loops import LoopConformance


class TestNativeLoop(LoopConformance):
    factory = "datamind.agent.loop_native:open_loop"
