"""Parsers of JSON values into the inputs of the client; each names the field that it refuses.

A parser takes the path of a field and its value, and raises :class:`LineError`.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from concord import (
    Cardinality,
    Claim,
    ContentLink,
    ContentRelationship,
    EntityRef,
    EvidenceInput,
    EvidenceStance,
    SourceInput,
    SubjectRole,
    Trust,
)

from concord_server.cli.statements.reader import LineError
from concord_server.cli.statements.times import parse_time

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

Parser: TypeAlias = Callable[[str, object], Any]

_TYPED_ENTITY = re.compile(r"(?P<type>[^\W\d]\w*):(?P<id>\S.*)", re.DOTALL)


def string(path: str, value: object) -> str:
    """Takes text."""
    if not isinstance(value, str):
        raise LineError(f"{path} must be a string, not {describe(value)}")
    return value


def name(path: str, value: object) -> str:
    """Takes text or a whole number, as ids and session numbers come either way."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise LineError(f"{path} must be a string or a whole number, not {describe(value)}")
    return value.strip()


def number(path: str, value: object) -> float:
    """Takes a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise LineError(f"{path} must be a number, not {describe(value)}")
    return float(value)


def time(path: str, value: object) -> datetime:
    """Takes a time as text, in the forms of :func:`parse_time`."""
    try:
        return parse_time(string(path, value))
    except LineError:
        raise
    except ValueError as error:
        raise LineError(f"{path}: {error}") from error


def mapping(path: str, value: object) -> Mapping[str, Any]:
    """Takes a JSON object as it is."""
    if not isinstance(value, dict):
        raise LineError(f"{path} must be an object, not {describe(value)}")
    return value


def anything(path: str, value: object) -> object:
    """Takes any JSON."""
    del path
    return value


def member(kind: type[E]) -> Parser:
    """Makes a parser of an enum's names, in any case, with or without the contract's prefix."""
    prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).upper() + "_"
    known = [item.value for item in kind if item.value != "UNSPECIFIED"]

    def parse(path: str, value: object) -> E:
        given = string(path, value).strip().upper().removeprefix(prefix)
        if given not in known:
            raise LineError(f"{path} must be one of {', '.join(known)}, not {describe(value)}")
        return kind(given)

    return parse


def list_of(parse_item: Callable[[str, object], T]) -> Callable[[str, Any], list[T]]:
    """Makes a parser of lists."""

    def parse(path: str, value: object) -> list[T]:
        if not isinstance(value, list):
            raise LineError(f"{path} must be a list, not {describe(value)}")
        return [parse_item(f"{path}[{index}]", item) for index, item in enumerate(value)]

    return parse


def record(
    build: Callable[..., T], fields: Mapping[str, Parser], required: Iterable[str] = ()
) -> Callable[[str, object], T]:
    """Makes a parser of objects whose keys are the arguments of ``build``. A null counts as absent."""
    needed = tuple(required)

    def parse(path: str, value: object) -> T:
        given = mapping(path, value)
        check_keys(given, fields, f"{path}.")
        missing = [key for key in needed if given.get(key) is None]
        if missing:
            raise LineError(f"{path}.{missing[0]} is missing")
        return build(
            **{key: fields[key](f"{path}.{key}", item) for key, item in given.items() if item is not None}
        )

    return parse


def check_keys(given: Mapping[str, Any], known: Iterable[str], prefix: str = "") -> None:
    """Refuses keys that nothing reads, because a misspelt key would lose what it says.

    Raises:
        LineError: there is one; the message names the closest known key.
    """
    names = list(known)
    for key in given:
        if key not in names:
            close = difflib.get_close_matches(key, names, n=1)
            advice = f"did you mean {close[0]}?" if close else "what else is to be kept goes into metadata"
            raise LineError(f"unknown key {prefix}{key}; {advice}")


def entity_from_text(text: str, default_type: str = "") -> EntityRef | None:
    """Reads ``TYPE:ID``, or a bare id where a default type is given; None if it is neither."""
    match = _TYPED_ENTITY.fullmatch(text.strip())
    if match:
        return EntityRef(match["type"], match["id"])
    return EntityRef(default_type, text.strip()) if default_type and text.strip() else None


def entity(path: str, value: object) -> EntityRef:
    """Takes ``{"entity_type", "entity_id", "role"}`` or ``"TYPE:ID"``."""
    if not isinstance(value, str):
        return _entity_record(path, value)
    ref = entity_from_text(value)
    if ref is None:
        raise LineError(f'{path} must be TYPE:ID, such as "Person:alice", not {describe(value)}')
    return ref


def person(path: str, value: object) -> EntityRef:
    """Takes an entity, or a bare name, which is a person's."""
    if isinstance(value, str):
        ref = entity_from_text(value, "Person")
        if ref is not None:
            return ref
    return entity(path, value)


def source(path: str, value: object) -> SourceInput:
    """Takes an object with the fields of SourceInput, a URL, or a title."""
    if not isinstance(value, str):
        return _source_record(path, value)
    if not value.strip():
        raise LineError(f"{path} must not be empty")
    if value.startswith(("http://", "https://")):
        return SourceInput(url=value)
    return SourceInput(title=value)


def evidence(path: str, value: object) -> EvidenceInput:
    """Takes an object with the fields of EvidenceInput, or a quote."""
    if isinstance(value, str):
        return EvidenceInput(quote=value)
    return _evidence_record(path, value)


def content(path: str, value: object) -> ContentLink:
    """Takes ``{"content_id", "relationship"}``, or an id."""
    if isinstance(value, str):
        return ContentLink(value)
    return _content_record(path, value)


def describe(value: object) -> str:
    """Returns a value short enough for a message."""
    shown = "null" if value is None else repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


_entity_record = record(
    EntityRef,
    {"entity_type": string, "entity_id": name, "role": member(SubjectRole)},
    required=("entity_type", "entity_id"),
)
_source_record = record(
    SourceInput,
    {
        "source_type": string,
        "url": string,
        "title": string,
        "external_id": name,
        "credibility": number,
        "extract_time": time,
        "trust": member(Trust),
        "metadata": mapping,
    },
)
_evidence_record = record(
    EvidenceInput,
    {
        "quote": string,
        "stance": member(EvidenceStance),
        "locator": string,
        "source_kind": string,
        "source_ref": string,
        "confidence": number,
        "extraction_method": string,
    },
)
_content_record = record(
    ContentLink,
    {"content_id": name, "relationship": member(ContentRelationship)},
    required=("content_id",),
)
claim = record(
    Claim,
    {
        "subject": string,
        "predicate": string,
        "value": anything,
        "qualifiers": mapping,
        "cardinality": member(Cardinality),
    },
    required=("subject", "predicate", "value"),
)
