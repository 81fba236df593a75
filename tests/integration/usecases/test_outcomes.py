"""The outcome of a candidate, rule by rule of the semantics (section 4), through the real database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from concord_server.domain.commands import ClaimInput
from concord_server.domain.enums import (
    CandidateAction,
    CandidateOutcome,
    Cardinality,
    FactStatus,
    FactType,
    Trust,
    Volatility,
)
from concord_server.domain.events import NewEvent
from concord_server.domain.runs import EventOutcome, RunScope
from concord_server.services.runs import StartRun
from concord_server.services.statuses import UpdateFactStatus

from tests.support.runs import DAY, START, Bench, said

LOW, MIDDLE, HIGH = Trust.UNTRUSTED, Trust.SEMI_TRUSTED, Trust.TRUSTED


def with_candidate(event: NewEvent, **changes: object) -> NewEvent:
    [candidate] = event.candidates
    return replace(event, candidates=(replace(candidate, **changes),))  # type: ignore[arg-type]


def visited(value: object, day: int, *, supersede: bool = False) -> NewEvent:
    return with_candidate(said(value, day, predicate="visited", supersede=supersede), type=FactType.EVENT)


def likes(value: object, day: int, *, supersede: bool = False) -> NewEvent:
    event = said(value, day, predicate="likes", supersede=supersede)
    claim = ClaimInput("u1", "likes", value, cardinality=Cardinality.MULTI)  # type: ignore[arg-type]
    return with_candidate(event, claim=claim)


async def planned(bench: Bench, events: Sequence[NewEvent]) -> list[str]:
    """What would become of events, in the order of their times."""
    await bench.append(*events)
    messages = await StartRun(bench.ledger, bench.consolidate, bench.clock, bench.ids).plan(
        bench.context, RunScope()
    )
    return [
        one.outcome.name for m in messages if isinstance(m.update, EventOutcome) for one in m.update.candidates
    ]


TABLE: dict[str, tuple[list[NewEvent], str]] = {
    # 2: occurrences never compete.
    "an occurrence": ([visited("clinic", 1)], "CREATED"),
    "the same occurrence again": ([visited("clinic", 1), visited("CLINIC ", 1)], "CREATED REINFORCED"),
    "the same at another time": ([visited("clinic", 1), visited("clinic", 2)], "CREATED CREATED"),
    "another at the same time": ([visited("clinic", 1), visited("bank", 1)], "CREATED CREATED"),
    "an occurrence with a key that is null": (
        [visited({"at": "bank", "why": None}, 1, supersede=True), visited({"at": "bank", "why": None}, 1)],
        "CREATED REINFORCED",
    ),
    # Several values may hold where the predicate says so.
    "another of several values": ([likes("tea", 1), likes("coffee", 2)], "CREATED CREATED"),
    "one of several values again": ([likes("tea", 1), likes("TEA", 2, supersede=True)], "CREATED REINFORCED"),
    "one of several values with a key that is null": (
        [likes({"drink": "tea", "milk": None}, 1, supersede=True), likes({"drink": "tea", "milk": None}, 2)],
        "CREATED REINFORCED",
    ),
    # 4
    "the value that holds": ([said("A", 1), said("a ", 2, supersede=False)], "CREATED REINFORCED"),
    "the value that holds, by lower trust": ([said("A", 1), said("A", 2, trust=LOW)], "CREATED REINFORCED"),
    "numbers that are equal": ([said(3, 1), said(3.0, 2, supersede=False)], "CREATED REINFORCED"),
    "keys in another order": (
        [said({"a": 1, "b": 2}, 1), said({"b": 2, "a": 1}, 2, supersede=False)],
        "CREATED REINFORCED",
    ),
    "a part of what holds": ([said({"a": 1, "b": 2}, 1), said({"a": 1}, 2)], "CREATED REINFORCED"),
    # 5
    "a create of what waits": (
        [said("A", 1), said("B", 2, supersede=False), said("B", 3, supersede=False)],
        "CREATED CONFLICTED REINFORCED",
    ),
    "a supersede of what waits": (
        [said("A", 1), said("B", 2, supersede=False), said("B", 3)],
        "CREATED CONFLICTED SUPERSEDED",
    ),
    "a supersede of what waits, by lower trust": (
        [said("A", 1), said("B", 2, trust=LOW), said("B", 3, trust=MIDDLE)],
        "CREATED CONFLICTED REINFORCED",
    ),
    # 6
    "lower trust": ([said("A", 1), said("B", 2, trust=MIDDLE)], "CREATED CONFLICTED"),
    "the same instant": ([said("A", 1), said("B", 1)], "CREATED CONFLICTED"),
    # 8
    "a supersede": ([said("A", 1), said("B", 2)], "CREATED SUPERSEDED"),
    "a supersede by higher trust": (
        [said("A", 1, trust=LOW), said("B", 2, trust=HIGH)],
        "CREATED SUPERSEDED",
    ),
    "back to an earlier value": ([said("A", 1), said("B", 2), said("A", 3)], "CREATED SUPERSEDED SUPERSEDED"),
    # 9
    "a create against another value": ([said("A", 1), said("B", 2, supersede=False)], "CREATED CONFLICTED"),
    # 10
    "a create where nothing is": ([said("A", 1, supersede=False)], "CREATED"),
    "other qualifiers": (
        [said("A", 1), with_candidate(said("B", 2), claim=ClaimInput("u1", "city", "B", {"for": "work"}))],
        "CREATED CREATED",
    ),
    "another spelling of the predicate": (
        [said("A", 1), with_candidate(said("B", 2), claim=ClaimInput("U1", "City", "B"))],
        "CREATED SUPERSEDED",
    ),
    "after what has ended": (
        [with_candidate(said("A", 1), valid_to=START + 2 * DAY), said("B", 3, supersede=False, trust=LOW)],
        "CREATED CREATED",
    ),
    # Before all of them: what is no statement, and what is said twice.
    "one that its sender rejects": ([with_candidate(said("A", 1), action=CandidateAction.REJECT)], "REJECTED"),
    "one without a value": ([with_candidate(said("A", 1), claim=ClaimInput("u1", "city", None))], "REJECTED"),
    "the same twice in one event": (
        [replace(said("A", 1), candidates=(*said("A", 1).candidates, *said("A", 1).candidates))],
        "CREATED DUPLICATE",
    ),
    "two values in one event": (
        [replace(said("A", 1), candidates=(*said("A", 1).candidates, *said("B", 1).candidates))],
        "CREATED CONFLICTED",
    ),
}


@pytest.mark.parametrize("name", TABLE)
async def test_the_first_rule_that_applies_decides(bench: Bench, name: str):
    events, outcomes = TABLE[name]
    assert " ".join(await planned(bench, events)) == outcomes


@pytest.mark.parametrize(
    ("late", "outcome"),
    [
        (said("B", 1), "HISTORICAL"),
        (said("B", 3, supersede=False), "HISTORICAL"),
        (said("A", 1), "REINFORCED"),
        (said("B", 2), "CONFLICTED"),
        (said("B", 3, trust=LOW), "CONFLICTED"),
    ],
    ids=["before everything", "between", "the next value", "the same instant", "between, by lower trust"],
)
async def test_what_comes_late(bench: Bench, late: NewEvent, outcome: str):
    await bench.append(said("A", 2), said("A", 4), said("C", 5), said("C", 6))
    await bench.worked()
    assert await planned(bench, [late]) == [outcome]


@pytest.mark.parametrize("status", [FactStatus.RETRACTED, FactStatus.ARCHIVED])
@pytest.mark.parametrize("event", [said("A", 0), said("A", 3), said("A", 3, supersede=False, trust=LOW)])
async def test_what_was_taken_back_is_suppressed(bench: Bench, status: FactStatus, event: NewEvent):
    await bench.append(said("A", 1))
    await bench.worked()
    [fact] = await bench.facts()
    await UpdateFactStatus(bench.ledger, bench.clock, bench.ids).execute(
        bench.context, fact.fact_id, status, "a test"
    )
    assert await planned(bench, [event, said("B", 5)]) == ["SUPPRESSED", "CREATED"]


async def test_a_superseding_fact_inherits_volatility_and_takes_owner_and_links_from_its_event(bench: Bench):
    first = with_candidate(said({"a": 1, "b": 2}, 1), volatility=Volatility.VOLATILE, tags=("first",))
    await bench.append(first, with_candidate(said({"b": 3, "a": None, "c": 4}, 2), tags=("second",)))
    await bench.worked()
    old, new = await bench.facts()
    assert old.claim is not None
    assert new.claim is not None
    assert (old.claim.value, new.claim.value) == ({"a": 1, "b": 2}, {"b": 3, "c": 4})
    assert (old.volatility, new.volatility) == (Volatility.VOLATILE, Volatility.VOLATILE)
    assert new.parent_ids == (old.fact_id,)
    assert (new.partition.owner_type, new.partition.owner_id) == ("User", "u1")


async def test_a_value_ahead_of_its_time_is_scheduled_without_a_conflict(bench: Bench):
    soon = bench.clock.now() + timedelta(days=30)
    await bench.append(said("A", 1), with_candidate(said("B", 2), valid_from=soon))
    _, outcomes = await bench.worked()
    assert [one.candidates[0].outcome for one in outcomes] == [
        CandidateOutcome.CREATED,
        CandidateOutcome.SUPERSEDED,
    ]
    now, ahead = await bench.facts()
    assert (now.status, now.valid_to) == (FactStatus.ACTIVE, ahead.valid_from)
    assert (ahead.status, ahead.conflict_id) == (FactStatus.PENDING, None)


def test_every_outcome_is_in_a_table():
    told = {word for _, outcomes in TABLE.values() for word in outcomes.split()}
    assert told | {"HISTORICAL", "SUPPRESSED"} == {outcome.name for outcome in CandidateOutcome}
