"""The default judge: offline, without a language model, in milliseconds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Self

from concord_server.domain.discrepancies import detect
from concord_server.domain.judgement import Judgement
from concord_server.ports.judge import JudgePair
from concord_server.providers.judges.calibration import Calibration
from concord_server.providers.judges.evidence import features, gather
from concord_server.providers.judges.pair_model import PairModel
from concord_server.providers.judges.verdict import decide

NAME = "local-1"


class LocalJudge:
    """Weighs discrepancies, a small trained pair model and the cosine.

    Safe to share between tasks and threads: nothing in it changes.
    """

    def __init__(self, model: PairModel, calibration: Calibration) -> None:
        self._model = model
        self._calibration = calibration
        self._name = f"{NAME}/{model.version}"

    @classmethod
    def load(cls, *, threads: int = 1) -> Self:
        """Loads the model and the word lists that come with the package, and judges once to warm up.

        Args:
            threads: threads of one call.

        Raises:
            PairModelError: the package's files are damaged.
            CalibrationError: the files do not belong together.
        """
        judge = cls(PairModel.load(threads=threads), Calibration.load())
        detect("Ana owns 3 bikes", "Ben owns 4 cars")
        judge.judge_now([JudgePair("warm", "cold", 0.5)])
        return judge

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
        gathered = [gather(pair.statement, pair.known, pair.similarity) for pair in pairs]
        logits = self._model.logits([(p.known, e.wording) for p, e in zip(pairs, gathered, strict=True)])
        return [
            decide(evidence, self._calibration.probabilities(features(evidence, row)), pair.statement, self._name)
            for pair, evidence, row in zip(pairs, gathered, logits, strict=True)
        ]
