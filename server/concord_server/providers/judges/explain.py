"""Judges one pair of texts and says why, for people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concord_server.domain.discrepancies import detect
from concord_server.domain.judgement import Finding, Judgement
from concord_server.ports.embedder import Embedder
from concord_server.ports.judge import Judge, JudgePair


@dataclass(frozen=True, slots=True)
class Explanation:
    """A judgement with what it rests on; ``similarity`` is the cosine, in [-1, 1]."""

    judgement: Judgement
    findings: tuple[Finding, ...]
    similarity: float


async def explain(judge: Judge, embedder: Embedder, statement: str, known: str, *, owner: str = "") -> Explanation:
    """Returns how ``statement`` relates to ``known``, and why.

    Raises:
        JudgeUnavailableError: the judge cannot answer now.
        EmbedderUnavailableError: the embedder cannot answer now.
    """
    first, second = await embedder.embed([statement, known])
    similarity = float(np.dot(first, second))
    (judgement,) = await judge.judge([JudgePair(statement, known, similarity, owner)])
    return Explanation(judgement, detect(statement, known), similarity)
