"""Decisions with their candidates."""

from __future__ import annotations

import math

from concord_server.domain.enums import DecisionBasis, ReconcileAction
from concord_server.domain.judgement import Discrepancy, Relation
from concord_server.domain.model import Candidate, Decision, Thresholds
from concord_server.storage.sessions import PostgresLedger
from uuid_utils.compat import uuid7

from tests.support.facts import NOON, a_fact, save


async def test_a_decision_comes_back_as_it_was_stored(ledger: PostgresLedger, project: str) -> None:
    async with ledger.write(project) as session:
        facts = [await save(session, a_fact(text=text)) for text in "ab"]
        decision = Decision(
            decision_id=uuid7(),
            basis=DecisionBasis.JUDGED,
            judge="local 1",
            action=ReconcileAction.BRANCHED,
            candidates=(
                Candidate(
                    facts[1].fact_id,
                    0.1 + 0.2,
                    Relation.CONTRADICTION,
                    {Relation.CONTRADICTION: 0.9, Relation.SAME: 0.1},
                    (Discrepancy.NEGATION, Discrepancy.NUMBER),
                    "one says not",
                    chosen=True,
                ),
                Candidate(facts[0].fact_id, 0.61, None, {Relation.SAME: math.inf}, (), "", chosen=False),
            ),
            thresholds=Thresholds(0.9, 0.5, 0.8, 0.7),
            rationale="contradicts",
            create_time=NOON,
            fact_id=facts[0].fact_id,
        )
        await session.decisions.save(decision)
    async with ledger.read(project) as session:
        assert await session.decisions.get(decision.decision_id) == decision


async def test_a_decision_may_have_no_candidates(ledger: PostgresLedger, project: str) -> None:
    decision = Decision(
        uuid7(), DecisionBasis.NO_CANDIDATE, "", ReconcileAction.CREATED, (), Thresholds(), "", NOON
    )
    async with ledger.write(project) as session:
        await session.decisions.save(decision)
    async with ledger.read(project) as session:
        assert await session.decisions.get(decision.decision_id) == decision
        assert await session.decisions.get(uuid7()) is None
