"""Statements without a claim: what they meet, and what becomes of them."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest
from concord_server.domain.commands import ReconcileCommand
from concord_server.domain.enums import (
    ConflictState,
    ContradictionPolicy,
    DecisionBasis,
    EvolutionType,
    FactStatus,
    FactType,
    ReconcileAction,
    SubjectRole,
    Trust,
)
from concord_server.domain.errors import InvalidFieldsError, RequestIdReusedError
from concord_server.domain.model import EntityRef, EvidenceInput, SourceInput
from concord_server.domain.queries import ConflictFilter, FactFilter, FactOrder
from concord_server.services.batch import ReconcileItem
from concord_server.services.context import Idempotency, Replay
from concord_server.services.results import ReconcileResult

from tests.integration.usecases.conftest import Desk

JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
FEBRUARY = datetime(2026, 2, 1, tzinfo=UTC)
MARCH = datetime(2026, 3, 1, tzinfo=UTC)
OPEN = ConflictFilter(state=ConflictState.OPEN)
PORT = "The orders database listens on port {}"


async def test_an_equal_wording_needs_neither_embedder_nor_judge(desk: Desk):
    first = await desk.say("Backups run nightly")
    asked = len(desk.embedder.asked)
    again = await desk.say("backups run  nightly!")
    assert (again.action, again.decision.basis) == (ReconcileAction.MERGED, DecisionBasis.EXACT_TEXT)
    assert again.fact.fact_id == first.fact.fact_id
    assert again.fact.text_raw == "backups run  nightly!"
    assert len(desk.embedder.asked) == asked


async def test_a_wording_that_merged_by_meaning_is_found_by_its_words_again(desk: Desk):
    known = await desk.say("Alice lives in Paris")
    await desk.say("Alice resides in Paris")
    again = await desk.say("alice resides in paris.")
    assert (again.fact.fact_id, again.decision.basis) == (known.fact.fact_id, DecisionBasis.EXACT_TEXT)
    assert again.fact.text == "Alice lives in Paris"


async def test_a_question_is_not_the_statement(desk: Desk):
    await desk.say("Backups run nightly.")
    asked = await desk.say("Backups run nightly?")
    assert asked.decision.basis is not DecisionBasis.EXACT_TEXT


async def test_corroboration_adds_and_never_rewords(desk: Desk):
    await desk.say("Alice lives in Paris", tags=("home",), subjects=(EntityRef("Person", "alice"),))
    merged = await desk.say(
        "Alice resides in Paris",
        source=SourceInput(url="https://a.example"),
        evidence=(EvidenceInput(quote="resides in Paris"),),
        tags=("city",),
        subjects=(EntityRef("City", "paris", SubjectRole.LOCATION),),
    )
    assert merged.action is ReconcileAction.MERGED
    assert merged.fact.text == "Alice lives in Paris"
    assert merged.fact.tags == ("home", "city")
    assert {s.entity_id for s in merged.fact.subjects} == {"alice", "paris"}
    details = await desk.gets.execute(desk.context, merged.fact.fact_id)
    assert [e.quote for e in details.evidence] == ["resides in Paris"]
    assert [s.url for s in details.sources] == ["https://a.example"]
    assert details.evidence[0].source_id == details.sources[0].source_id


async def test_source_count_never_rises_without_a_new_source(desk: Desk):
    source = SourceInput(url="https://a.example", credibility=0.9)
    counts = [
        (await desk.say("Council approved the plan", source=given)).fact.source_count
        for given in (source, None, source, SourceInput(external_id="doc-1"), None)
    ]
    assert counts == [1, 1, 1, 2, 2]


async def test_a_contradiction_supersedes_by_event_time(desk: Desk):
    old = await desk.say(PORT.format(5432), observe_time=JANUARY)
    new = await desk.say(PORT.format(6543), observe_time=FEBRUARY)
    assert (new.action, new.evolution_type) == (ReconcileAction.BRANCHED, EvolutionType.CONTRADICTION)
    assert new.fact.parent_ids == (old.fact.fact_id,)
    before = await desk.read(old.fact)
    assert (before.status, before.valid_to) == (FactStatus.SUPERSEDED, FEBRUARY)


@pytest.mark.parametrize("policy", list(ContradictionPolicy))
async def test_a_late_contradiction_is_history_under_either_policy(desk: Desk, policy: ContradictionPolicy):
    current = await desk.say(PORT.format(6543), observe_time=FEBRUARY)
    late = await desk.say(PORT.format(5432), observe_time=JANUARY, contradiction_policy=policy)
    assert (late.action, late.fact.status) == (ReconcileAction.BRANCHED, FactStatus.SUPERSEDED)
    assert (late.fact.valid_from, late.fact.valid_to) == (JANUARY, FEBRUARY)
    after = await desk.read(current.fact)
    assert after.status is FactStatus.ACTIVE
    assert late.fact.fact_id in after.parent_ids


async def test_the_conflict_policy_keeps_both_for_review(desk: Desk):
    incumbent = await desk.say(PORT.format(5432), observe_time=JANUARY)
    rival = await desk.say(
        PORT.format(6543), observe_time=FEBRUARY, contradiction_policy=ContradictionPolicy.CONFLICT
    )
    assert (rival.action, rival.fact.status) == (ReconcileAction.CONFLICTED, FactStatus.PENDING)
    assert rival.conflict is not None
    assert [f.fact_id for f in rival.conflict.facts] == [incumbent.fact.fact_id, rival.fact.fact_id]
    assert (await desk.read(incumbent.fact)).conflict_id == rival.conflict.conflict_id


async def test_the_same_instant_is_a_conflict_whatever_the_policy(desk: Desk):
    await desk.say(PORT.format(5432), observe_time=JANUARY)
    rival = await desk.say(PORT.format(6543), observe_time=JANUARY)
    assert rival.action is ReconcileAction.CONFLICTED


async def test_lower_trust_does_not_end_what_higher_trust_said(desk: Desk):
    await desk.say(PORT.format(5432), observe_time=JANUARY)
    doubtful = SourceInput(url="https://gossip.example", trust=Trust.UNTRUSTED)
    rival = await desk.say(PORT.format(6543), observe_time=FEBRUARY, source=doubtful)
    assert rival.action is ReconcileAction.CONFLICTED
    trusted = await desk.say(PORT.format(6543), observe_time=MARCH)
    assert trusted.action is ReconcileAction.MERGED
    assert (trusted.fact.status, trusted.fact.valid_from) == (FactStatus.ACTIVE, MARCH)
    page, summary = await desk.lists_conflicts.execute(desk.context, OPEN, FactOrder(), None, 50)
    assert (page.total, summary.open_count) == (0, 0)


async def test_what_held_at_the_time_of_the_statement_is_corroborated(desk: Desk):
    old = await desk.say(PORT.format(5432), observe_time=JANUARY)
    await desk.say(PORT.format(6543), observe_time=MARCH)
    again = await desk.say(PORT.format(5432), observe_time=FEBRUARY)
    assert (again.action, again.fact.fact_id) == (ReconcileAction.MERGED, old.fact.fact_id)
    assert again.fact.status is FactStatus.SUPERSEDED


async def test_an_earlier_corroboration_moves_the_beginning_back(desk: Desk):
    first = await desk.say(PORT.format(5432), observe_time=MARCH)
    earlier = await desk.say(PORT.format(5432), observe_time=JANUARY)
    assert earlier.fact.fact_id == first.fact.fact_id
    assert earlier.fact.valid_from == JANUARY


async def test_a_suppressed_statement_is_recorded_and_stays_away(desk: Desk):
    for status in (FactStatus.RETRACTED, FactStatus.ARCHIVED):
        text = f"The moon is made of {status.value.lower()} cheese"
        said = await desk.say(text)
        await desk.move(said.fact, status)
        again = await desk.say(text, source=SourceInput(url="https://c.example"))
        assert again.action is ReconcileAction.SUPPRESSED
        assert (again.fact.fact_id, again.fact.status) == (said.fact.fact_id, status)
        assert again.fact.source_count == 1


async def test_occurrences_are_told_apart_by_their_time(desk: Desk):
    said = [
        await desk.say("Priya visited the clinic", type=FactType.EVENT, observe_time=moment)
        for moment in (JANUARY, FEBRUARY, JANUARY)
    ]
    assert [s.action.value for s in said] == ["CREATED", "CREATED", "MERGED"]
    assert said[2].fact.fact_id == said[0].fact.fact_id
    assert {f.status for f in await desk.facts()} == {FactStatus.ACTIVE}


async def test_what_happened_at_one_instant_happened_once(desk: Desk):
    lightning = {"type": FactType.EVENT, "valid_from": JANUARY, "valid_to": JANUARY}
    said = [await desk.say("Lightning struck the tower", **lightning) for _ in range(2)]
    open_ended = await desk.say("Lightning struck the tower", type=FactType.EVENT, valid_from=JANUARY)
    assert [s.action.value for s in (*said, open_ended)] == ["CREATED", "MERGED", "MERGED"]
    [fact] = await desk.facts()
    assert (fact.status, fact.valid_from, fact.valid_to) == (FactStatus.ACTIVE, JANUARY, JANUARY)


async def test_without_the_embedder_nothing_is_lost(desk: Desk):
    desk.embedder.down = True
    stored = await desk.say("Alice lives in Paris")
    assert (stored.action, stored.decision.basis) == (
        ReconcileAction.CREATED,
        DecisionBasis.EMBEDDER_UNAVAILABLE,
    )
    assert stored.warnings
    again = await desk.say("Alice lives in Paris")
    assert again.action is ReconcileAction.MERGED


async def test_a_dry_run_answers_and_writes_nothing(desk: Desk):
    known = await desk.say(PORT.format(5432), observe_time=JANUARY, source=SourceInput(url="https://a.example"))
    dry = await desk.say(
        PORT.format(6543),
        observe_time=FEBRUARY,
        source=SourceInput(url="https://b.example"),
        validate_only=True,
    )
    assert dry.action is ReconcileAction.BRANCHED
    assert await desk.facts() == [await desk.read(known.fact)]
    assert (await desk.read(known.fact)).version == 1
    merged = await desk.say(PORT.format(5432), source=SourceInput(url="https://b.example"), validate_only=True)
    assert merged.fact.source_count == 2
    assert (await desk.read(known.fact)).source_count == 1


async def test_a_repeated_request_is_answered_from_store(desk: Desk):
    def encode(result: ReconcileResult) -> bytes:
        return str(result.fact.fact_id).encode()

    def request(fingerprint: str) -> Idempotency[ReconcileResult]:
        return Idempotency(key, "Reconcile", fingerprint, encode)

    key = uuid.uuid4()
    command = ReconcileCommand(text="Backups run nightly", source=SourceInput(url="https://s.example"))
    first = await desk.reconciles.execute(desk.context, command, request("a"))
    assert isinstance(first, ReconcileResult)
    again = await desk.reconciles.execute(desk.context, command, request("a"))
    assert again == Replay(encode(first))
    with pytest.raises(RequestIdReusedError):
        await desk.reconciles.execute(desk.context, command, request("b"))
    assert (await desk.read(first.fact)).version == 1


async def test_a_batch_is_the_same_as_one_by_one(desk: Desk, ledger, real_embedder, judge):
    texts = [PORT.format(n) for n in (1, 2, 1, 3)] + ["", "Ice floats on water", "ice floats on water"]
    times = [datetime(2026, 1, 1 + n, tzinfo=UTC) for n in range(len(texts))]
    commands = [ReconcileCommand(text=t, observe_time=m) for t, m in zip(texts, times, strict=True)]
    batched = [o async for o in desk.batches.execute(desk.context, [ReconcileItem(c) for c in commands])]
    single = Desk(ledger, real_embedder, judge, f"{desk.context.project}-single")
    for outcome, command in zip(batched, commands, strict=True):
        try:
            alone = await single.reconciles.execute(single.context, command)
        except InvalidFieldsError:
            assert isinstance(outcome, InvalidFieldsError)
            continue
        assert isinstance(outcome, ReconcileResult)
        assert isinstance(alone, ReconcileResult)
        assert outcome.action is alone.action
    batch_facts = [(f.text, f.status, f.valid_from, f.valid_to) for f in await desk.facts()]
    assert batch_facts == [(f.text, f.status, f.valid_from, f.valid_to) for f in await single.facts()]


async def test_owner_type_scope_and_domain_keep_statements_apart(desk: Desk):
    variants: list[dict[str, object]] = [
        {},
        {"domain": "a"},
        {"access_scope": "private"},
        {"type": FactType.OPINION},
        {"owner": EntityRef("Company", "a")},
        {"owner": EntityRef("Company", "b")},
    ]
    said = [await desk.say("Team of 8", **variant) for variant in variants]
    assert {s.action for s in said} == {ReconcileAction.CREATED}
    owned = said[4].fact
    assert EntityRef("Company", "a", SubjectRole.SUBJECT) in owned.subjects
    assert [f.fact_id for f in await desk.facts(FactFilter(owner=EntityRef("Company", "a")))] == [owned.fact_id]
