"""What a project has set decides where a call says nothing; what a call says wins."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from concord_server.domain.commands import ClaimInput, ReconcileCommand, ThresholdOverrides
from concord_server.domain.enums import ClaimSupport, ContradictionPolicy, FactStatus, ReconcileAction, Volatility
from concord_server.domain.errors import InvalidFieldsError
from concord_server.domain.model import Thresholds
from concord_server.domain.project_settings import OwnSettings
from concord_server.services.batch import ReconcileItem
from concord_server.services.context import Idempotency, Replay
from concord_server.services.results import ReconcileResult
from concord_server.services.settings_cache import CachedSettings
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.integration.usecases.conftest import Desk
from tests.support.reading import Reader, ref

SUPERSEDES, CONFLICTS = ContradictionPolicy.SUPERSEDE, ContradictionPolicy.CONFLICT
WORDING, PARAPHRASE = "Alice lives in Paris", "Alice resides in Paris"
STRICT = OwnSettings(similarity_threshold=1.0, merge_probability_threshold=1.0)


@pytest.fixture
def reader(desk: Desk, judge: object) -> Reader:
    return Reader(desk.ledger, desk.embedder, judge, desk.clock, desk.context, desk.settings)  # type: ignore[arg-type]


async def moves(desk: Desk, city: str, **fields: object) -> ReconcileResult:
    return await desk.say(f"Ada lives in {city}", claim=ClaimInput("Ada", "city", city), **fields)


async def test_thresholds_of_the_project_decide_and_are_recorded_with_the_decision(desk: Desk) -> None:
    await desk.say(WORDING)
    await desk.settle(STRICT)
    apart = await desk.say(PARAPHRASE)
    assert apart.action is not ReconcileAction.MERGED
    assert apart.decision.thresholds == Thresholds(similarity=1.0, merge_probability=1.0)


async def test_thresholds_of_the_call_win_and_are_recorded(desk: Desk) -> None:
    await desk.say(WORDING)
    await desk.settle(STRICT)
    lenient = ThresholdOverrides(similarity=0.8, merge_probability=0.7)
    merged = await desk.say(PARAPHRASE, thresholds=lenient)
    assert merged.action is ReconcileAction.MERGED
    assert merged.decision.thresholds == Thresholds(similarity=0.8, merge_probability=0.7)


async def test_a_batch_goes_by_the_settings_too(desk: Desk) -> None:
    await desk.settle(STRICT)
    items = [ReconcileItem(ReconcileCommand(text)) for text in (WORDING, PARAPHRASE)]
    outcomes = [outcome async for outcome in desk.batches.execute(desk.context, items)]
    second = outcomes[1]
    assert isinstance(second, ReconcileResult)
    assert second.action is not ReconcileAction.MERGED


async def test_decisions_that_follow_each_other_read_the_settings_once(desk: Desk, engine: AsyncEngine) -> None:
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        if "project_settings" in statement:
            statements.append(statement)

    desk.reconciles._settings = CachedSettings(desk.ledger, monotonic=lambda: 0.0)
    event.listen(engine.sync_engine, "before_cursor_execute", note)
    try:
        for number in range(10):
            await desk.say(f"Shelf {number} has {number} books")
    finally:
        event.remove(engine.sync_engine, "before_cursor_execute", note)
    assert len(statements) == 1


async def test_a_threshold_of_the_call_is_checked_against_the_projects(desk: Desk) -> None:
    await desk.settle(OwnSettings(conflict_threshold=0.8))
    with pytest.raises(InvalidFieldsError) as caught:
        await desk.say(WORDING, thresholds=ThresholdOverrides(similarity=0.7))
    assert [violation.field for violation in caught.value.violations] == ["similarity_threshold"]


async def test_an_answer_is_given_again_although_the_settings_would_refuse_it_now(desk: Desk) -> None:
    idempotency: Idempotency[ReconcileResult] = Idempotency(
        uuid.uuid4(), "method", "print", lambda _result: b"answer"
    )
    command = ReconcileCommand(WORDING, thresholds=ThresholdOverrides(similarity=0.7))
    assert isinstance(await desk.reconciles.execute(desk.context, command, idempotency), ReconcileResult)
    await desk.settle(OwnSettings(conflict_threshold=0.8))
    assert await desk.reconciles.execute(desk.context, command, idempotency) == Replay(b"answer")


async def test_the_policy_of_the_project_decides_what_a_contradiction_does_unless_the_call_says(
    desk: Desk,
) -> None:
    await moves(desk, "Madrid")
    await desk.settle(OwnSettings(contradiction_policy=CONFLICTS))
    assert (await moves(desk, "Oslo")).action is ReconcileAction.CONFLICTED
    superseding = await moves(desk, "Lisbon", contradiction_policy=SUPERSEDES)
    assert (superseding.action, superseding.fact.status) == (ReconcileAction.BRANCHED, FactStatus.ACTIVE)


async def test_without_any_setting_a_contradiction_supersedes(desk: Desk) -> None:
    await moves(desk, "Madrid")
    assert (await moves(desk, "Oslo")).action is ReconcileAction.BRANCHED
    assert (await moves(desk, "Rome", contradiction_policy=CONFLICTS)).action is ReconcileAction.CONFLICTED


async def test_a_check_goes_by_the_thresholds_of_the_project(desk: Desk, reader: Reader) -> None:
    await desk.say(WORDING)
    assert (await reader.check(PARAPHRASE)).support is ClaimSupport.SUPPORTED
    await desk.settle(STRICT)
    assert (await reader.check(PARAPHRASE)).support is not ClaimSupport.SUPPORTED


@pytest.mark.parametrize("volatility", [Volatility.VOLATILE, Volatility.EPHEMERAL])
async def test_horizons_of_the_project_say_what_current_reads_leave_out(
    desk: Desk, reader: Reader, volatility: Volatility
) -> None:
    await desk.say(
        "Ada works from the kitchen", volatility=volatility, claim=ClaimInput("Ada", "place", "kitchen")
    )
    claim = ClaimInput("Ada", "place", "kitchen")

    async def seen() -> tuple[int, int, bool]:
        found = await reader.found("where does Ada work")
        ranked = await reader.noteworthy()
        return len(found), ranked.total, (await reader.check(claim=claim)).support is ClaimSupport.SUPPORTED

    desk.clock.time += timedelta(hours=2)
    assert await seen() == (1, 1, True)
    hour = timedelta(hours=1)
    await desk.settle(OwnSettings(volatile_horizon=hour, ephemeral_horizon=hour))
    assert await seen() == (0, 0, False)


async def test_a_briefing_tells_what_is_unconfirmed_by_the_horizons_of_the_project(
    desk: Desk, reader: Reader
) -> None:
    await desk.say("Ada prefers tea", volatility=Volatility.SLOW, owner=ref("Person:ada"))
    desk.clock.time += timedelta(days=2)
    assert "unconfirmed" not in (await reader.brief("Person:ada")).markdown
    await desk.settle(OwnSettings(slow_horizon=timedelta(days=1)))
    assert "unconfirmed since" in (await reader.brief("Person:ada")).markdown
