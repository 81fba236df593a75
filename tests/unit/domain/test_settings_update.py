"""Which settings can be set, and what a change makes of those that are set already."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from concord_server.domain.commands import Violations
from concord_server.domain.enums import ContradictionPolicy
from concord_server.domain.errors import InvalidFieldsError
from concord_server.domain.project_settings import MAX_PROMPT_BYTES, NOTHING_SET, OwnSettings
from concord_server.domain.projects import validate_new_project
from concord_server.domain.settings_update import MAX_HORIZON, PATHS, SettingsUpdate

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def update(**values: Any) -> SettingsUpdate:
    return SettingsUpdate(frozenset(values), OwnSettings(**values))


def bad_fields(given: SettingsUpdate) -> list[str]:
    found = Violations()
    given.validate(found)
    try:
        found.raise_if_any()
    except InvalidFieldsError as error:
        return [violation.field for violation in error.violations]
    return []


@pytest.mark.parametrize(
    "values",
    [
        {"similarity_threshold": 1.0, "conflict_threshold": 5e-324},
        {"max_facts_per_event": 1, "max_model_calls_per_run": 0, "daily_token_budget": 2**63 - 1},
        {"extraction_prompt": "x" * MAX_PROMPT_BYTES, "judge_prompt": "é" * (MAX_PROMPT_BYTES // 2)},
        {"observation_prompt": "two\nlines\tand a tab"},
        {"slow_horizon": MAX_HORIZON, "volatile_horizon": timedelta(microseconds=1)},
        {"contradiction_policy": ContradictionPolicy.CONFLICT},
        {"similarity_threshold": None, "judge_prompt": None},
    ],
)
def test_what_can_be_set(values: dict[str, Any]) -> None:
    assert bad_fields(update(**values)) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("similarity_threshold", 1.0000001),
        ("conflict_threshold", -0.1),
        ("merge_probability_threshold", float("nan")),
        ("supersede_probability_threshold", float("inf")),
        ("extraction_prompt", "x" * (MAX_PROMPT_BYTES + 1)),
        ("judge_prompt", "é" * (MAX_PROMPT_BYTES // 2) + "x"),
        ("observation_prompt", "a\x00b"),
        ("extraction_prompt", "a\ud800b"),
        ("max_facts_per_event", -1),
        ("max_model_calls_per_run", -1),
        ("daily_token_budget", -(2**63)),
        ("slow_horizon", timedelta()),
        ("volatile_horizon", timedelta(seconds=-1)),
        ("ephemeral_horizon", MAX_HORIZON + timedelta(microseconds=1)),
    ],
)
def test_what_cannot_be_set_is_named(name: str, value: Any) -> None:
    assert bad_fields(update(**{name: value})) == [PATHS[name]]


def test_every_bad_field_is_named_and_what_is_not_to_be_changed_is_not_looked_at() -> None:
    values = OwnSettings(similarity_threshold=2.0, daily_token_budget=-1, max_facts_per_event=-1)
    names = frozenset({"similarity_threshold", "daily_token_budget"})
    assert bad_fields(SettingsUpdate(names, values)) == [
        "settings.daily_token_budget",
        "settings.similarity_threshold",
    ]


def test_paths_are_those_of_the_request() -> None:
    assert PATHS["judge"] == "settings.judge"
    assert PATHS["slow_horizon"] == "settings.volatility_horizons.slow"


def test_a_change_keeps_the_rest_and_counts() -> None:
    first = update(max_facts_per_event=3).applied_to(NOTHING_SET, NOW)
    second = update(judge_prompt="judge").applied_to(first, NOW + timedelta(hours=1))
    assert second == OwnSettings(
        max_facts_per_event=3, judge_prompt="judge", update_time=NOW + timedelta(hours=1), revision=2
    )
    assert second.in_force().etag != first.in_force().etag
    assert (
        update(judge_prompt=None, max_facts_per_event=None).applied_to(second, NOW).in_force().update_time is None
    )


def test_the_same_again_changes_nothing() -> None:
    own = update(max_facts_per_event=3).applied_to(NOTHING_SET, NOW)
    assert update(max_facts_per_event=3).applied_to(own, NOW + timedelta(hours=1)) is own


@pytest.mark.parametrize(
    ("own", "values", "field"),
    [
        ({}, {"conflict_threshold": 0.86}, "settings.conflict_threshold"),
        ({}, {"similarity_threshold": 0.59}, "settings.similarity_threshold"),
        ({"conflict_threshold": 0.2}, {"similarity_threshold": 0.1}, "settings.similarity_threshold"),
        ({"similarity_threshold": 0.7}, {"conflict_threshold": 0.8}, "settings.conflict_threshold"),
        ({}, {"similarity_threshold": 0.5, "conflict_threshold": 0.6}, "settings.conflict_threshold"),
        (
            {"similarity_threshold": 0.95, "conflict_threshold": 0.9},
            {"similarity_threshold": None},
            "settings.similarity_threshold",
        ),
    ],
)
def test_thresholds_in_force_stay_in_order(own: dict[str, Any], values: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidFieldsError) as caught:
        update(**values).applied_to(OwnSettings(**own), NOW)
    assert [violation.field for violation in caught.value.violations] == [field]


def test_equal_thresholds_are_in_order() -> None:
    own = replace(NOTHING_SET, similarity_threshold=0.7)
    assert update(conflict_threshold=0.7).applied_to(own, NOW).conflict_threshold == 0.7


@pytest.mark.parametrize(
    ("project_id", "display_name", "fields"),
    [
        ("a", "", []),
        ("team-7_b", "Team 7", []),
        ("x" * 64, "x" * 256, []),
        ("", "", ["project_id"]),
        ("x" * 65, "", ["project_id"]),
        ("Team", "", ["project_id"]),
        ("é", "", ["project_id"]),
        ("a b", "", ["project_id"]),
        ("a\n", "", ["project_id"]),
        ("a", "x" * 257, ["display_name"]),
        ("a", "x\x00", ["display_name"]),
    ],
)
def test_names_of_new_projects(project_id: str, display_name: str, fields: list[str]) -> None:
    found = Violations()
    validate_new_project(project_id, display_name, found)
    named: list[str] = []
    try:
        found.raise_if_any()
    except InvalidFieldsError as error:
        named = [violation.field for violation in error.violations]
    assert named == fields
