"""One item of a model's answer, read field by field; what cannot be read is left out or refused."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from concord_server.domain.commands import MAX_PREDICATE, MAX_QUOTE
from concord_server.domain.enums import CandidateAction, Cardinality, FactType, Volatility
from concord_server.domain.values import Json

E = TypeVar("E", bound=StrEnum)

_NOTHING = frozenset({"", "null", "none", "n/a", "na", "nil", "unknown", "undefined", "not specified"})
_ACTIONS = {
    **dict.fromkeys(("supersede", "superseded", "supersedes", "update", "replace"), CandidateAction.SUPERSEDE),
    **dict.fromkeys(("reject", "rejected", "ignore", "skip", "discard", "none", "noop"), CandidateAction.REJECT),
}
_YEAR = re.compile(r"(\d{4})(?:-(\d{1,2}))?")
_MAX_QUOTES = 16


def _blank_as_none(value: object) -> object:
    return None if isinstance(value, str) and value.strip().casefold() in _NOTHING else value


def _words(value: object) -> object:
    """Numbers where words belong are words."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return _blank_as_none(value)


def _optional_words(value: object) -> object:
    words = _words(value)
    return words if isinstance(words, str) else ""


def _confidence(value: object) -> float:
    """Returns a number in [0, 1], also of "0.9" and "90%"; 0 for what is none, and what is missing."""
    if isinstance(value, str):
        words = value.strip()
        try:
            value = float(words.removesuffix("%")) / (100 if words.endswith("%") else 1)
        except ValueError:
            return 0.0
    if isinstance(value, int | float) and not isinstance(value, bool):
        return min(max(float(value), 0.0), 1.0) if _is_finite(value) else 0.0
    return 0.0


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every double
        return False


def _moment(value: object) -> object:
    """Returns a time of day, a day, a month or a year in UTC; other values as they are, to be refused."""
    value = _blank_as_none(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return value
    words = value.strip()
    partly = _YEAR.fullmatch(words)
    if partly is not None:
        words = f"{partly[1]}-{int(partly[2] or 1):02}-01"
    moment = datetime.fromisoformat(words)
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("out of range") from error


def _lenient_moment(value: object) -> object:
    try:
        moment = _moment(value)
    except ValueError:
        return None
    return moment if isinstance(moment, datetime) else None


def _quotes(value: object) -> tuple[str, ...]:
    """Returns the quotes in a text, an object with one, or a list of those."""
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("quote", "text", "span") if key in value), None)
    if isinstance(value, list):
        return tuple(quote for item in value[:_MAX_QUOTES] for quote in _quotes(item))[:_MAX_QUOTES]
    value = _blank_as_none(value)
    return (value.strip()[:MAX_QUOTE],) if isinstance(value, str) else ()


def _member(kind: type[E], value: object) -> E | None:
    """Returns a member by its name in any case, with the contract's prefix or without; ``None`` for other names."""
    name = f"_{value}".upper() if isinstance(value, str) else ""
    return next((member for member in kind if name.endswith(f"_{member.value}")), None)


def _action(value: object) -> CandidateAction:
    if not isinstance(value, str):
        return CandidateAction.CREATE
    known = _ACTIONS.get(value.strip().casefold())
    return known or _member(CandidateAction, value.strip()) or CandidateAction.CREATE


def _qualifiers(value: object) -> object:
    return {} if value is None else value


Words = Annotated[str, BeforeValidator(_optional_words)]
Moment = Annotated[datetime | None, BeforeValidator(_moment)]


class FactItem(BaseModel):
    """A fact as a model states it.

    Only ``predicate`` and ``value`` are indispensable. What only describes the fact falls back to its default where
    it cannot be read; what decides about it (value, qualifiers, an end) makes the item invalid.
    """

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True, frozen=True)

    subject: Words = ""
    predicate: Annotated[str, BeforeValidator(_words), Field(min_length=1, max_length=MAX_PREDICATE)]
    value: Any = None
    qualifiers: Annotated[dict[str, Any], BeforeValidator(_qualifiers)] = Field(default_factory=dict)
    cardinality: Annotated[Cardinality | None, BeforeValidator(lambda v: _member(Cardinality, v))] = None
    text: Words = ""
    type: Annotated[FactType, BeforeValidator(lambda v: _member(FactType, v) or FactType.ASSERTION)] = (
        FactType.ASSERTION
    )
    action: Annotated[CandidateAction, BeforeValidator(_action)] = CandidateAction.CREATE
    reason: Words = ""
    confidence: Annotated[float, BeforeValidator(_confidence)] = 0.0
    valid_from: Annotated[datetime | None, BeforeValidator(_lenient_moment)] = None
    valid_to: Moment = None
    volatility: Annotated[Volatility | None, BeforeValidator(lambda v: _member(Volatility, v))] = None
    evidence: Annotated[tuple[str, ...], BeforeValidator(_quotes)] = ()

    @property
    def others(self) -> Mapping[str, Json]:
        """Members that were not asked for and are not empty."""
        extra = self.__pydantic_extra__ or {}
        return {name: value for name, value in extra.items() if value not in (None, "", [], {})}
