"""What is in force is what a project has set, and the defaults beside it."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta

import pytest
from concord_server.domain.enums import ContradictionPolicy, Freshness, Volatility
from concord_server.domain.freshness import Horizons, freshness
from concord_server.domain.model import Thresholds
from concord_server.domain.project_settings import (
    NOTHING_SET,
    SETTABLE,
    JudgeMode,
    OwnSettings,
    ProjectSettings,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
EVERYTHING = OwnSettings(
    similarity_threshold=0.9,
    conflict_threshold=0.5,
    merge_probability_threshold=0.8,
    supersede_probability_threshold=0.7,
    contradiction_policy=ContradictionPolicy.CONFLICT,
    candidate_policy=ContradictionPolicy.SUPERSEDE,
    judge=JudgeMode.MODEL,
    extraction_prompt="extract",
    judge_prompt="judge",
    observation_prompt="observe",
    max_facts_per_event=3,
    max_model_calls_per_run=4,
    daily_token_budget=5,
    slow_horizon=timedelta(days=3),
    volatile_horizon=timedelta(days=2),
    ephemeral_horizon=timedelta(days=1),
    update_time=NOON,
    revision=7,
)


def test_nothing_set_is_every_default() -> None:
    assert NOTHING_SET.in_force() == ProjectSettings()


def test_everything_set_is_in_force() -> None:
    assert EVERYTHING.in_force() == ProjectSettings(
        thresholds=Thresholds(0.9, 0.5, 0.8, 0.7),
        contradiction_policy=ContradictionPolicy.CONFLICT,
        candidate_policy=ContradictionPolicy.SUPERSEDE,
        judge=JudgeMode.MODEL,
        extraction_prompt="extract",
        judge_prompt="judge",
        observation_prompt="observe",
        max_facts_per_event=3,
        max_model_calls_per_run=4,
        daily_token_budget=5,
        horizons=Horizons(timedelta(days=3), timedelta(days=2), timedelta(days=1)),
        update_time=NOON,
        revision=7,
    )


@pytest.mark.parametrize("name", sorted(SETTABLE))
def test_one_setting_leaves_the_others_at_their_defaults(name: str) -> None:
    one = NOTHING_SET.with_values(EVERYTHING, frozenset({name}))
    assert [each.name for each in fields(one) if getattr(one, each.name) != getattr(NOTHING_SET, each.name)] == [
        name
    ]
    assert one.in_force() != ProjectSettings()
    assert one.with_values(NOTHING_SET, frozenset({name})).in_force() == ProjectSettings()


def test_once_everything_is_a_default_again_there_is_no_time_of_change_but_another_etag() -> None:
    settings = OwnSettings(update_time=NOON, revision=2).in_force()
    assert settings.update_time is None
    assert settings.etag != ProjectSettings().etag


@pytest.mark.parametrize(
    ("volatility", "beyond"),
    [
        (Volatility.SLOW, Freshness.UNCONFIRMED),
        (Volatility.VOLATILE, Freshness.STALE),
        (Volatility.EPHEMERAL, Freshness.STALE),
        (Volatility.STABLE, Freshness.FRESH),
    ],
)
def test_horizons_say_when_facts_are_no_longer_fresh(volatility: Volatility, beyond: Freshness) -> None:
    horizons = Horizons(slow=timedelta(hours=1), volatile=timedelta(hours=1), ephemeral=timedelta(hours=1))
    assert freshness(volatility, NOON, NOON + timedelta(hours=1), horizons) is Freshness.FRESH
    assert freshness(volatility, NOON, NOON + timedelta(hours=1, seconds=1), horizons) is beyond


def test_the_oldest_fresh_reinforcement_never_lies_before_all_time() -> None:
    early = datetime(1, 1, 5, tzinfo=UTC)
    assert Horizons().oldest_fresh(Volatility.SLOW, early) == datetime.min.replace(tzinfo=UTC)
    assert Horizons().oldest_fresh(Volatility.EPHEMERAL, NOON) == NOON - timedelta(days=7)
    assert Horizons().oldest_fresh(Volatility.STABLE, NOON) is None
