"""Judges one pair of statements without a service."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from concord_server.bootstrap.wiring import find_embedder, load_embedder, load_judge
from concord_server.config import Settings
from concord_server.domain.choice import Choice, Hit, choose
from concord_server.domain.judgement import Judgement
from concord_server.domain.model import Thresholds
from concord_server.ports.judge import JudgePair


@dataclass(frozen=True, slots=True)
class PairJudgement:
    """What the default judge says about a pair, and what Reconcile would do.

    Attributes:
        similarity: cosine of the two embeddings, in [-1, 1].
        candidate: whether the known statement would be judged at all.
        choice: by the default thresholds; CREATE when it is no candidate.
    """

    similarity: float
    judgement: Judgement
    candidate: bool
    choice: Choice


def judge_pair(settings: Settings, statement: str, known: str, owner: str = "") -> PairJudgement:
    """Judges ``statement`` against the known statement ``known``; blocks for some tenths of a second.

    Raises:
        ModelNotFoundError: the embedder was not exported.
    """
    return asyncio.run(_judge_pair(settings, statement, known, owner))


async def _judge_pair(settings: Settings, statement: str, known: str, owner: str) -> PairJudgement:
    embedder = await load_embedder(settings, find_embedder(settings))
    try:
        first, second = await embedder.embed([statement, known])
    finally:
        await embedder.close()
    similarity = float(first @ second)
    pair = JudgePair(statement=statement, known=known, similarity=similarity, owner=owner)
    [judgement] = await load_judge().judge([pair])
    thresholds = Thresholds()
    candidate = similarity >= thresholds.conflict
    hits = [Hit(similarity, judgement)] if candidate else []
    return PairJudgement(similarity, judgement, candidate, choose(hits, thresholds))
