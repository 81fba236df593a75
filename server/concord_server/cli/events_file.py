"""Files of events: one per line, as JSON with the contract's field names (``subject``, ``occur_time``, …)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from concord import (
    CandidateAction,
    Cardinality,
    Claim,
    EntityRef,
    EventCandidate,
    EventInput,
    EventMessage,
    FactType,
    Trust,
    Volatility,
)

E = TypeVar("E", bound=StrEnum)
Document = Mapping[str, Any]

_EVENT_TEXTS = ("kind", "text", "access_scope", "domain", "idempotency_key")
_EVENT_FIELDS = frozenset(
    {*_EVENT_TEXTS, "subject", "payload", "messages", "occur_time", "trust", "tags", "candidates"}
)
_CANDIDATE_FIELDS = frozenset(
    {
        *("claim", "text", "type", "action", "reject_reason", "confidence"),
        *("valid_from", "valid_to", "volatility", "tags"),
    }
)


class EventFileError(Exception):
    """A line is no event."""


def read_events(lines: Iterable[str]) -> Iterator[EventInput]:
    """Yields the event of each line that is not blank.

    Raises:
        EventFileError: a line is no event; the message names it.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield _event(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise EventFileError(f"line {number} is no event: {error}") from error


def _event(given: Document) -> EventInput:
    _require_known(given, _EVENT_FIELDS)
    subject = given["subject"]
    return EventInput(
        EntityRef(subject["entity_type"], subject["entity_id"]),
        payload=given.get("payload", {}),
        messages=[
            EventMessage(m.get("role", ""), m.get("text", ""), m.get("name", ""), _time(m.get("time")))
            for m in given.get("messages", ())
        ],
        occur_time=_time(given.get("occur_time")),
        trust=_member(Trust, given.get("trust")),
        tags=given.get("tags", ()),
        candidates=[_candidate(candidate) for candidate in given.get("candidates", ())],
        **{name: given.get(name, "") for name in _EVENT_TEXTS},
    )


def _candidate(given: Document) -> EventCandidate:
    _require_known(given, _CANDIDATE_FIELDS)
    claim = given.get("claim")
    return EventCandidate(
        None if claim is None else _claim(claim),
        text=given.get("text", ""),
        type=_member(FactType, given.get("type")),
        action=_member(CandidateAction, given.get("action")),
        reject_reason=given.get("reject_reason", ""),
        confidence=given.get("confidence", 0.0),
        valid_from=_time(given.get("valid_from")),
        valid_to=_time(given.get("valid_to")),
        volatility=_member(Volatility, given.get("volatility")),
        tags=given.get("tags", ()),
    )


def _claim(given: Document) -> Claim:
    return Claim(
        given.get("subject", ""),
        given.get("predicate", ""),
        given.get("value"),
        qualifiers=given.get("qualifiers", {}),
        cardinality=_member(Cardinality, given.get("cardinality")),
    )


def _require_known(given: Document, known: frozenset[str]) -> None:
    unknown = sorted(given.keys() - known)
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r}")


def _member(kind: type[E], name: str | None) -> E:
    """Returns a member by its name, with the contract's prefix or without."""
    return kind("UNSPECIFIED" if not name else next((m for m in kind if f"_{name}".endswith(f"_{m}")), name))


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
