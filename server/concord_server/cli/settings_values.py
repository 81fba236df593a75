"""Settings of a project as text: what ``concord admin settings`` reads and shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from concord import ContradictionPolicy, JudgeMode, ProjectSettings

E = TypeVar("E", ContradictionPolicy, JudgeMode)

_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1), "s": timedelta(seconds=1)}
_SPAN = re.compile(r"(?P<count>\d{1,9}(?:\.\d{1,6})?)(?P<unit>[dhms])", re.ASCII)


class SettingError(ValueError):
    """A setting that there is not, or a value that it cannot have."""


def value_of(name: str, text: str) -> Any:  # noqa: ANN401 - each setting has a type of its own
    """Returns the value that ``text`` stands for.

    Args:
        name: of the setting.
        text: a number, a member of an enum in any case, a span as ``span_of`` takes it, or the words of a prompt;
            ``@FILE`` stands for what the file has.

    Raises:
        SettingError: there is no such setting, or the text is no value of it.
    """
    return _parser(name)(text)


def check_name(name: str) -> str:
    """Returns the name of a setting.

    Raises:
        SettingError: there is no such setting.
    """
    _parser(name)
    return name


def span_of(text: str) -> timedelta:
    """Returns a span such as ``90d``, ``12h``, ``30m`` or ``45s``.

    Raises:
        SettingError: it is none.
    """
    found = _SPAN.fullmatch(text)
    if found is None:
        raise SettingError(f"{text!r} is no span such as 90d, 12h, 30m or 45s")
    return float(found["count"]) * _UNITS[found["unit"]]


def span_text(span: timedelta) -> str:
    """Returns a span in its largest whole unit."""
    for unit, length in _UNITS.items():
        if span and not span % length:
            return f"{span // length}{unit}"
    return f"{span.total_seconds():g}s"


def shown(settings: ProjectSettings) -> list[tuple[str, object]]:
    """Returns names and values for people: an empty prompt is the default one."""
    return [(name, _text(getattr(settings, name))) for name in (*NAMES, "update_time", "etag")]


def _text(value: object) -> object:
    if isinstance(value, timedelta):
        return span_text(value)
    return f"{value:g}" if isinstance(value, float) else value


def _parser(name: str) -> Callable[[str], Any]:
    try:
        return _PARSERS[name]
    except KeyError:
        raise SettingError(f"there is no setting {name!r}; there are {', '.join(NAMES)}") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SettingError(f"{text!r} is no number") from None


def _count(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise SettingError(f"{text!r} is no whole number") from None


def _member(kind: type[E]) -> Callable[[str], E]:
    def parse(text: str) -> E:
        known = [member for member in kind if member.value != "UNSPECIFIED"]
        for member in known:
            if member.value == text.upper().replace("-", "_"):
                return member
        raise SettingError(f"{text!r} is none of {', '.join(known)}")

    return parse


def _prompt(text: str) -> str:
    if not text.startswith("@"):
        return text
    file = Path(text[1:])
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingError(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingError(f"{file} is not UTF-8") from error


_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "similarity_threshold": _number,
    "conflict_threshold": _number,
    "merge_probability_threshold": _number,
    "supersede_probability_threshold": _number,
    "contradiction_policy": _member(ContradictionPolicy),
    "candidate_policy": _member(ContradictionPolicy),
    "judge": _member(JudgeMode),
    "extraction_prompt": _prompt,
    "judge_prompt": _prompt,
    "observation_prompt": _prompt,
    "max_facts_per_event": _count,
    "max_model_calls_per_run": _count,
    "daily_token_budget": _count,
    "slow_horizon": span_of,
    "volatile_horizon": span_of,
    "ephemeral_horizon": span_of,
}

NAMES = tuple(_PARSERS)
"""Settings that can be set."""
