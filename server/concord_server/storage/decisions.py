"""Decisions and their candidates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, bindparam, insert, select

from concord_server.domain.enums import DecisionBasis, ReconcileAction
from concord_server.domain.judgement import Discrepancy, Relation
from concord_server.domain.model import Candidate, Decision, Thresholds
from concord_server.storage.statements import PROJECT, SessionContext
from concord_server.storage.tables import decision_candidates, decisions

_INSERT = insert(decisions)
_INSERT_CANDIDATES = insert(decision_candidates)
_GET = select(decisions).where(decisions.c.project_id == PROJECT, decisions.c.decision_id == bindparam("decision"))
_CANDIDATES = (
    select(decision_candidates)
    .where(
        decision_candidates.c.project_id == PROJECT,
        decision_candidates.c.decision_id == bindparam("decision"),
    )
    .order_by(decision_candidates.c.position)
)


class PostgresDecisions:
    """Implements :class:`~concord_server.ports.ledger.DecisionRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def save(self, decision: Decision) -> None:
        """Stores a decision with its candidates."""
        thresholds = decision.thresholds
        values = {
            "project_id": self._context.project,
            "decision_id": decision.decision_id,
            "fact_id": decision.fact_id,
            "basis": decision.basis.value,
            "judge": decision.judge,
            "action": decision.action.value,
            "similarity_threshold": thresholds.similarity,
            "conflict_threshold": thresholds.conflict,
            "merge_probability_threshold": thresholds.merge_probability,
            "supersede_probability_threshold": thresholds.supersede_probability,
            "rationale": decision.rationale,
            "create_time": decision.create_time,
        }
        await self._context.statements.execute(_INSERT, values)
        if not decision.candidates:
            return
        candidates = [
            {
                "project_id": self._context.project,
                "decision_id": decision.decision_id,
                "position": position,
                "fact_id": candidate.fact_id,
                "similarity": candidate.similarity,
                "relation": candidate.relation.value if candidate.relation else None,
                "probabilities": probabilities_to_json(candidate.probabilities),
                "discrepancies": [discrepancy.value for discrepancy in candidate.discrepancies],
                "rationale": candidate.rationale,
                "chosen": candidate.chosen,
            }
            for position, candidate in enumerate(decision.candidates)
        ]
        await self._context.statements.execute(_INSERT_CANDIDATES, candidates)

    async def get(self, decision_id: UUID) -> Decision | None:
        """Returns a decision."""
        parameters = {"project": self._context.project, "decision": decision_id}
        row = await self._context.statements.first(_GET, parameters)
        if row is None:
            return None
        candidates = await self._context.statements.rows(_CANDIDATES, parameters)
        return _decision(row, candidates)


def probabilities_to_json(probabilities: Mapping[Relation, float]) -> dict[str, float | str]:
    """Returns probabilities as JSON, which has no number for what a judge may answer instead of one."""
    return {
        relation.value: value if math.isfinite(value) else repr(value) for relation, value in probabilities.items()
    }


def probabilities_from_json(document: Mapping[str, float | str]) -> dict[Relation, float]:
    """Returns what :func:`probabilities_to_json` was given."""
    return {Relation(name): float(value) for name, value in document.items()}


def _decision(row: Row[Any], candidates: Sequence[Row[Any]]) -> Decision:
    return Decision(
        decision_id=row.decision_id,
        basis=DecisionBasis(row.basis),
        judge=row.judge,
        action=ReconcileAction(row.action),
        candidates=tuple(_candidate(candidate) for candidate in candidates),
        thresholds=Thresholds(
            similarity=row.similarity_threshold,
            conflict=row.conflict_threshold,
            merge_probability=row.merge_probability_threshold,
            supersede_probability=row.supersede_probability_threshold,
        ),
        rationale=row.rationale,
        create_time=row.create_time,
        fact_id=row.fact_id,
    )


def _candidate(row: Row[Any]) -> Candidate:
    return Candidate(
        fact_id=row.fact_id,
        similarity=row.similarity,
        relation=Relation(row.relation) if row.relation is not None else None,
        probabilities=probabilities_from_json(row.probabilities),
        discrepancies=tuple(Discrepancy(name) for name in row.discrepancies),
        rationale=row.rationale,
        chosen=row.chosen,
    )
