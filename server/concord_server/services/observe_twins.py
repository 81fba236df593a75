"""Folds wordings that say the same, and judges what comes late; everything unclear stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from uuid import UUID

import numpy as np

from concord_server.domain.enums import ObservationAction
from concord_server.domain.judgement import Judgement, Relation
from concord_server.domain.observation_folding import TWIN_SIMILARITY, Twin, fold
from concord_server.domain.observations import Observation
from concord_server.domain.observing import Change, Plan, Pool, without_late
from concord_server.domain.text import text_key
from concord_server.ports.embedder import Embedder, Vector
from concord_server.ports.judge import Judge, JudgePair, JudgeUnavailableError
from concord_server.ports.ledger import Ledger
from concord_server.ports.observations import GroupLease
from concord_server.services.embedding import embed_all

_COMPATIBLE = frozenset({Relation.SAME, Relation.REFINEMENT, Relation.EXTENSION})


class EmbedderDownError(Exception):
    """Wordings cannot be embedded now."""


class Folded:
    """A plan with twins folded, the vectors of its new wordings, and every stored observation that it is about."""

    def __init__(
        self, plan: Plan, vectors: Mapping[str, Vector], observations: Mapping[UUID, Observation]
    ) -> None:
        self.plan = plan
        self.vectors = vectors
        self.observations = observations


class Folder:
    """Compares the wordings of a plan with each other and with what is stored."""

    def __init__(self, ledger: Ledger, embedder: Embedder, judge: Judge) -> None:
        self._ledger = ledger
        self._embedder = embedder
        self._judge = judge

    async def fold(self, project: str, lease: GroupLease, pool: Pool, planned: Plan) -> Folded:
        """Returns the plan with twins folded and without late wordings that contradict what is believed.

        Raises:
            EmbedderDownError: a new wording cannot be embedded now.
        """
        known = dict(pool.by_id)
        texts = {change.text for change in planned.changes if _is_reworded(change, known)}
        late = [change for change in planned.changes if change.is_late]
        texts |= {known[c.observation_id].text for c in late if c.observation_id is not None}
        vectors = await self._embedded([text for text in sorted(texts) if text])
        stands = [change for change in late if await self._stands(lease, change, known, vectors)]
        planned = without_late(planned, stands)
        reworded = [i for i, change in enumerate(planned.changes) if _is_reworded(change, known)]
        async with self._ledger.read(project) as session:
            near = await session.observing.near(
                lease, [vectors[planned.changes[i].text] for i in reworded], TWIN_SIMILARITY
            )
        stored = known | {each.observation.observation_id: each.observation for each in near}
        candidates: list[tuple[Twin, JudgePair]] = []
        for first, second in combinations(reworded, 2):
            one, other = planned.changes[first], planned.changes[second]
            similarity = _cosine(vectors[one.text], vectors[other.text])
            if similarity >= TWIN_SIMILARITY or text_key(one.text) == text_key(other.text):
                candidates.append((Twin(second, first), _pair(lease, other.text, one.text, similarity)))
        for each in near:
            change = planned.changes[reworded[each.index]]
            if each.observation.observation_id in {change.observation_id, *change.absorbed}:
                continue
            twin = Twin(reworded[each.index], each.observation.observation_id)
            candidates.append((twin, _pair(lease, change.text, each.observation.text, each.similarity)))
        twins = await self._judged(candidates)
        return Folded(fold(planned, twins, stored), vectors, stored)

    async def _embedded(self, texts: Sequence[str]) -> dict[str, Vector]:
        if not texts:
            return {}
        vectors = await embed_all(self._embedder, texts)
        if vectors is None:
            raise EmbedderDownError
        return dict(zip(texts, vectors, strict=True))

    async def _stands(
        self, lease: GroupLease, change: Change, known: Mapping[UUID, Observation], vectors: Mapping[str, Vector]
    ) -> bool:
        """Tells whether late wording says nothing against the present one."""
        assert change.observation_id is not None, "what is new is not late"
        present = known[change.observation_id].text
        if not present:
            return True
        similarity = _cosine(vectors[change.text], vectors[present])
        try:
            [judgement] = await self._judge.judge([_pair(lease, change.text, present, similarity)])
        except JudgeUnavailableError:
            return False
        return judgement.largest() in _COMPATIBLE

    async def _judged(self, candidates: Sequence[tuple[Twin, JudgePair]]) -> list[Twin]:
        """Returns the twins that the judge confirms; without a judge, those of equal wording."""
        equal = [twin for twin, pair in candidates if text_key(pair.statement) == text_key(pair.known)]
        unsure = [(twin, pair) for twin, pair in candidates if text_key(pair.statement) != text_key(pair.known)]
        if not unsure:
            return equal
        try:
            judgements = await self._judge.judge([pair for _, pair in unsure])
        except JudgeUnavailableError:
            return equal
        says = [twin for (twin, _), judgement in zip(unsure, judgements, strict=True) if _same(judgement)]
        return [*equal, *says]


def _is_reworded(change: Change, known: Mapping[UUID, Observation]) -> bool:
    if change.action is ObservationAction.RETIRED:
        return False
    return change.observation_id is None or change.text != known[change.observation_id].text


def _same(judgement: Judgement) -> bool:
    return judgement.largest() is Relation.SAME and not judgement.discrepancies


def _pair(lease: GroupLease, statement: str, known: str, similarity: float) -> JudgePair:
    return JudgePair(statement, known, min(max(similarity, -1.0), 1.0), lease.group.owner_id)


def _cosine(one: Vector, other: Vector) -> float:
    return float(np.dot(one, other))
