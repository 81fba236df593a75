"""What a project has set is kept exactly, and what it has not set stays open."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from concord_server.domain.enums import ContradictionPolicy
from concord_server.domain.project_settings import MAX_PROMPT_BYTES, NOTHING_SET, JudgeMode, OwnSettings
from concord_server.services.settings_cache import CachedSettings
from concord_server.storage.errors import ConstraintViolatedError
from concord_server.storage.sessions import PostgresLedger

from tests.support.facts import NOON

EVERYTHING = OwnSettings(
    similarity_threshold=0.9,
    conflict_threshold=0.1,
    merge_probability_threshold=1.0,
    supersede_probability_threshold=0.7000000000000001,
    contradiction_policy=ContradictionPolicy.CONFLICT,
    candidate_policy=ContradictionPolicy.SUPERSEDE,
    judge=JudgeMode.LOCAL_THEN_MODEL,
    extraction_prompt="é" * (MAX_PROMPT_BYTES // 2),
    judge_prompt="judge",
    observation_prompt="observe",
    max_facts_per_event=3,
    max_model_calls_per_run=2**31 - 1,
    daily_token_budget=2**63 - 1,
    slow_horizon=timedelta(days=3650, microseconds=1),
    volatile_horizon=timedelta(hours=25),
    ephemeral_horizon=timedelta(microseconds=1),
    update_time=NOON,
    revision=3,
)


async def save(ledger: PostgresLedger, project: str, settings: OwnSettings) -> None:
    async with ledger.write(project) as session:
        await session.settings.lock()
        await session.settings.save(settings)


async def stored(ledger: PostgresLedger, project: str) -> OwnSettings:
    async with ledger.read(project) as session:
        return await session.settings.get()


async def test_a_project_that_never_set_anything_has_nothing_set(ledger: PostgresLedger, project: str) -> None:
    assert await stored(ledger, project) == NOTHING_SET
    async with ledger.write(project) as session:
        assert await session.settings.lock() == NOTHING_SET
    assert await stored(ledger, project) == NOTHING_SET


async def test_settings_come_back_exactly_and_can_be_taken_back(ledger: PostgresLedger, project: str) -> None:
    await save(ledger, project, EVERYTHING)
    assert await stored(ledger, project) == EVERYTHING
    assert await stored(ledger, f"{project}-other") == NOTHING_SET
    await save(ledger, project, replace(NOTHING_SET, revision=4))
    assert await stored(ledger, project) == replace(NOTHING_SET, revision=4)


async def test_changes_at_the_same_time_follow_each_other(ledger: PostgresLedger, project: str) -> None:
    async def count_up() -> None:
        async with ledger.write(project) as session:
            own = await session.settings.lock()
            await session.settings.save(replace(own, revision=own.revision + 1))

    await asyncio.gather(*(count_up() for _ in range(10)))
    assert (await stored(ledger, project)).revision == 10


@pytest.mark.parametrize(
    ("changes", "constraint"),
    [
        ({"similarity_threshold": 1.5}, "ck_project_settings_similarity_threshold"),
        ({"conflict_threshold": float("nan")}, "ck_project_settings_conflict_threshold"),
        ({"similarity_threshold": 0.4, "conflict_threshold": 0.5}, "ck_project_settings_thresholds_ordered"),
        ({"extraction_prompt": "é" * (MAX_PROMPT_BYTES // 2) + "x"}, "ck_project_settings_extraction_prompt"),
        ({"max_facts_per_event": 0}, "ck_project_settings_max_facts_per_event"),
        ({"daily_token_budget": -1}, "ck_project_settings_daily_token_budget"),
        ({"slow_horizon": timedelta()}, "ck_project_settings_slow_horizon"),
    ],
)
async def test_the_database_guards_what_settings_may_be(
    ledger: PostgresLedger, project: str, changes: dict[str, Any], constraint: str
) -> None:
    with pytest.raises(ConstraintViolatedError) as caught:
        await save(ledger, project, OwnSettings(**changes))
    assert caught.value.constraint == constraint


async def test_the_reader_gives_what_is_stored(ledger: PostgresLedger, project: str) -> None:
    await save(ledger, project, EVERYTHING)
    assert await CachedSettings(ledger).of(project) == EVERYTHING.in_force()
