"""Statements from lines: plain text, or JSON objects in a documented shape (docs/tutorial.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NoReturn, cast

from concord import (
    ContradictionPolicy,
    EntityRef,
    EvidenceInput,
    FactType,
    SourceInput,
    Statement,
    Volatility,
)

from concord_server.cli.statements import fields
from concord_server.cli.statements.reader import LineError

MAX_EXACT_INTEGER = 2**53
"""Largest integer that survives on the way: the contract carries JSON numbers as doubles."""

MAX_DEPTH = 24
"""Deepest nesting: each level of JSON takes up to three of the hundred levels that a message may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What the command line says about every line that does not say it itself.

    Attributes:
        source_url: of lines without a source.
        validate_only: of all lines: decide, and write nothing.
    """

    type: FactType = FactType.UNSPECIFIED
    domain: str = ""
    access_scope: str = ""
    owner: EntityRef | None = None
    source_url: str = ""
    observe_time: datetime | None = None
    contradiction_policy: ContradictionPolicy = ContradictionPolicy.UNSPECIFIED
    validate_only: bool = False


_STATEMENT: Mapping[str, fields.Parser] = {
    "text": fields.string,
    "type": fields.member(FactType),
    "domain": fields.string,
    "access_scope": fields.string,
    "owner": fields.entity,
    "claim": fields.claim,
    "source": fields.source,
    "evidence": fields.list_of(fields.evidence),
    "subjects": fields.list_of(fields.entity),
    "contents": fields.list_of(fields.content),
    "tags": fields.list_of(fields.string),
    "observe_time": fields.time,
    "valid_from": fields.time,
    "valid_to": fields.time,
    "similarity_threshold": fields.number,
    "conflict_threshold": fields.number,
    "merge_probability_threshold": fields.number,
    "contradiction_policy": fields.member(ContradictionPolicy),
    "corroboration_score": fields.number,
    "volatility": fields.member(Volatility),
    "metadata": fields.mapping,
}
"""Keys that are fields of a statement."""

_ALIASES: Mapping[str, fields.Parser] = {
    "time": fields.time,
    "subject": fields.person,
    "conversation": fields.name,
    "session": fields.name,
    "evidence_turns": fields.list_of(fields.name),
}
"""Keys by which facts taken from conversations say when, who and where."""


def parse_line(content: str, defaults: Defaults) -> Statement:
    """Makes a statement of a line.

    Args:
        content: a JSON object (recognised by its opening brace), or the statement itself.
        defaults: what holds where the line does not say otherwise.

    Raises:
        LineError: the line is no statement that could be sent; the message says why.
    """
    if not content.startswith("{"):
        return _with_defaults({"text": content}, defaults)
    given = {key: value for key, value in _decode(content).items() if value is not None}
    fields.check_keys(given, [*_STATEMENT, *_ALIASES])
    if "text" not in given:
        raise LineError("text is missing")
    values = {key: parse(key, given[key]) for key, parse in _STATEMENT.items() if key in given}
    aliases = {key: parse(key, given[key]) for key, parse in _ALIASES.items() if key in given}
    return _with_defaults(_resolve(values, aliases), defaults)


def _with_defaults(values: dict[str, Any], defaults: Defaults) -> Statement:
    source = SourceInput(url=defaults.source_url) if defaults.source_url else None
    base = Statement(
        "",
        type=defaults.type,
        domain=defaults.domain,
        access_scope=defaults.access_scope,
        owner=defaults.owner,
        source=source,
        observe_time=defaults.observe_time,
        contradiction_policy=defaults.contradiction_policy,
        validate_only=defaults.validate_only,
    )
    return replace(base, **values)


def _resolve(values: dict[str, Any], aliases: Mapping[str, Any]) -> dict[str, Any]:
    """Turns aliases into the fields that they stand for.

    The conversation, or a session of it, is the source, and its turns are passages of that source. The same line
    therefore always names the same source, which is what lets a file be read twice without adding anything.
    """
    if "time" in aliases:
        _only_once(values, "observe_time", "time")
        values["observe_time"] = aliases["time"]
    if "subject" in aliases:
        values["subjects"] = [aliases["subject"], *values.get("subjects", ())]
    place = _place(aliases)
    if place is not None:
        _only_once(values, "source", "conversation or session")
        values["source"] = place
    if "evidence_turns" in aliases:
        turns = [
            EvidenceInput(locator=turn, source_kind="conversation", source_ref=place.external_id if place else "")
            for turn in aliases["evidence_turns"]
        ]
        values["evidence"] = [*values.get("evidence", ()), *turns]
    return values


def _place(aliases: Mapping[str, Any]) -> SourceInput | None:
    conversation, session = aliases.get("conversation"), aliases.get("session")
    if conversation is None:
        return None if session is None else SourceInput(source_type="conversation", title=f"session {session}")
    if session is None:
        return SourceInput(source_type="conversation", title=conversation, external_id=conversation)
    return SourceInput(
        source_type="conversation",
        title=f"{conversation}, session {session}",
        external_id=f"{conversation}:{session}",
    )


def _only_once(values: Mapping[str, Any], key: str, alias: str) -> None:
    if key in values:
        raise LineError(f"give {key} or {alias}, not both")


def _decode(content: str) -> dict[str, Any]:
    """Decodes a JSON object, and refuses what could not be sent or would be lost on the way."""
    try:
        decoded = json.loads(
            content,
            parse_int=_exact_int,
            parse_float=_finite_float,
            parse_constant=_refuse_number,
            object_pairs_hook=_unique_keys,
        )
        # A lone surrogate passes JSON but has no UTF-8 form.
        json.dumps(decoded, ensure_ascii=False).encode()
    except LineError:
        raise
    except json.JSONDecodeError as error:
        raise LineError(f"is not a JSON object on one line: {error.msg} at column {error.colno}") from error
    except UnicodeEncodeError as error:
        raise LineError("contains half of a surrogate pair, which is no character") from error
    except RecursionError as error:
        raise LineError(_TOO_DEEP) from error
    if _deeper_than(decoded, MAX_DEPTH):
        raise LineError(_TOO_DEEP)
    return cast("dict[str, Any]", decoded)


_TOO_DEEP = f"is nested more than {MAX_DEPTH} levels deep"


def _deeper_than(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_deeper_than(item, levels - 1) for item in inner)


def _exact_int(digits: str) -> int:
    # Guards int() too, which takes quadratic time on long digits.
    if len(digits) > 17 or abs(int(digits)) > MAX_EXACT_INTEGER:
        raise LineError(f"the number {digits[:20]} is beyond 2^53 and would lose digits; write it as a string")
    return int(digits)


def _finite_float(digits: str) -> float:
    value = float(digits)
    return value if math.isfinite(value) else _refuse_number(digits)


def _refuse_number(digits: str) -> NoReturn:
    raise LineError(f"{digits[:20]} is not a finite number")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in unique if keys.count(key) > 1)
        raise LineError(f"the key {twice} is given twice")
    return unique
