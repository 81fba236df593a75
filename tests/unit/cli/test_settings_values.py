"""Settings are read and shown as people write them."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from concord import ContradictionPolicy, JudgeMode, ProjectSettings, SettingsChange
from concord_server.cli import main
from concord_server.cli.failures import ExitCode
from concord_server.cli.settings_values import NAMES, SettingError, check_name, shown, span_of, span_text, value_of


def test_every_setting_of_the_client_can_be_set() -> None:
    assert set(NAMES) == {field.name for field in fields(SettingsChange)}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("similarity_threshold", "0.9", 0.9),
        ("max_facts_per_event", "7", 7),
        ("daily_token_budget", "0", 0),
        ("contradiction_policy", "conflict", ContradictionPolicy.CONFLICT),
        ("judge", "local-then-model", JudgeMode.LOCAL_THEN_MODEL),
        ("extraction_prompt", "Take only what lasts.", "Take only what lasts."),
        ("slow_horizon", "90d", timedelta(days=90)),
        ("volatile_horizon", "1.5h", timedelta(minutes=90)),
    ],
)
def test_values_are_read(name: str, text: str, value: Any) -> None:
    assert value_of(name, text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("similarity_threshold", "high"),
        ("max_facts_per_event", "1.5"),
        ("contradiction_policy", "unspecified"),
        ("judge", "oracle"),
        ("slow_horizon", "90"),
        ("slow_horizon", "-1d"),
        ("ephemeral_horizon", "999999999d" * 2),
        ("extraction_prompt", "@/nowhere/at/all"),
        ("colour", "blue"),
    ],
)
def test_what_is_no_value_is_refused(name: str, text: str) -> None:
    with pytest.raises(SettingError):
        value_of(name, text)


def test_the_longest_span_that_can_be_written_can_be_kept() -> None:
    assert span_of("999999999.999999d") > timedelta(days=999_999_999)


def test_a_prompt_may_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("Extract.\nNothing else.\n", encoding="utf-8")
    assert value_of("judge_prompt", f"@{file}") == "Extract.\nNothing else.\n"
    file.write_bytes(b"\xff")
    with pytest.raises(SettingError, match="UTF-8"):
        value_of("judge_prompt", f"@{file}")


def test_an_unknown_name_tells_the_known_ones() -> None:
    with pytest.raises(SettingError, match="similarity_threshold"):
        check_name("similarity")
    assert check_name("judge") == "judge"


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(days=365), "365d"),
        (timedelta(hours=36), "36h"),
        (timedelta(minutes=90), "90m"),
        (timedelta(seconds=61), "61s"),
        (timedelta(microseconds=1500), "0.0015s"),
        (timedelta(), "0s"),
    ],
)
def test_spans_are_shown_in_their_largest_whole_unit(span: timedelta, text: str) -> None:
    assert span_text(span) == text


def test_everything_is_shown_by_name() -> None:
    values = {name: value_of(name, _ANY[name]) for name in NAMES}
    table = dict(shown(ProjectSettings(**values, etag='"3"')))
    assert table["similarity_threshold"] == "0.855"
    assert table["slow_horizon"] == "2d"
    assert (table["judge"], table["etag"]) == ("MODEL", '"3"')
    assert set(table) == {*NAMES, "update_time", "etag"}


_ANY = {
    **dict.fromkeys(NAMES, "1"),
    "similarity_threshold": "0.855",
    "contradiction_policy": "CONFLICT",
    "candidate_policy": "SUPERSEDE",
    "judge": "MODEL",
    "slow_horizon": "2d",
    "volatile_horizon": "2d",
    "ephemeral_horizon": "2d",
}


@pytest.mark.parametrize("arguments", [["admin"], ["admin", "projects"], ["admin", "settings"]])
def test_the_groups_show_their_commands(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    for _ in range(2):
        assert main(arguments) == ExitCode.OK
        assert "Commands" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["set", "colour", "blue"],
        ["reset", "colour"],
        ["set", "judge", "oracle"],
        ["set", "conflict_threshold", "0"],
    ],
)
def test_what_cannot_be_set_is_told_before_the_service_is_asked(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(["admin", "settings", *arguments, "--target", "127.0.0.1:1"]) == ExitCode.USAGE
    assert capsys.readouterr().err.startswith("concord: ")
