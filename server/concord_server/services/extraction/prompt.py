"""What a model is asked, in full: instructions that never change, then the event as data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files

from concord_server.domain.events import Event
from concord_server.domain.model import Fact
from concord_server.domain.values import Json

PROMPT_VERSION = "extraction.v1"
"""Which instructions are given where a project has none of its own; kept with what they led to."""

ANSWER_VERSION = "answer.v1"

_CODE_LENGTH = 16
_LINE_ENDS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085", "\x7f": "\\u007f"})

SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "facts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "subject": {"type": ["string", "null"]},
                    "predicate": {"type": "string"},
                    "value": {"type": ["string", "number", "boolean", "object", "array", "null"]},
                    "qualifiers": {"type": ["object", "null"]},
                    "cardinality": {"type": ["string", "null"], "enum": ["SINGLE", "MULTI", None]},
                    "text": {"type": ["string", "null"]},
                    "type": {"type": ["string", "null"]},
                    "action": {"type": ["string", "null"], "enum": ["create", "supersede", "reject", None]},
                    "reason": {"type": ["string", "null"]},
                    "confidence": {"type": ["number", "null"]},
                    "valid_from": {"type": ["string", "null"]},
                    "valid_to": {"type": ["string", "null"]},
                    "volatility": {"type": ["string", "null"]},
                    "evidence": {"type": ["string", "null"]},
                },
                "required": ["predicate", "value"],
            },
        },
    },
    "required": ["reasoning", "facts"],
}
"""JSON schema of an answer."""


@cache
def instructions(own: str = "") -> str:
    """Returns the instructions: the default ones or a project's own, and then how data and answer look."""
    return f"{own.strip() or _read(PROMPT_VERSION)}\n\n{_read(ANSWER_VERSION)}"


def data_of(event: Event, known: Sequence[Fact], listed: Sequence[str] = ()) -> str:
    """Returns an event as the data of a question.

    Every line but the first and the last is JSON, so nothing that was said can begin a line; and the code that the two
    share is a digest of what is between them, so nothing between them can hold it.

    Args:
        known: facts about the subject, the most relevant first.
        listed: what an answer that was cut off had listed already.
    """
    lines = [_line(document) for document in _documents(event, known, listed)]
    code = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:_CODE_LENGTH]
    return "\n".join((f"DATA {code}", *lines, f"END {code}"))


def _documents(event: Event, known: Sequence[Fact], listed: Sequence[str]) -> Iterator[dict[str, Json]]:
    yield {
        "event": event.kind or "event",
        "subject": event.subject.entity_id,
        "subject_type": event.subject.entity_type,
        "time": _stamp(event.occur_time),
    }
    for fact in known:
        yield _known(fact)
    if event.text.strip():
        yield {"said": event.text}
    for message in event.messages:
        said: dict[str, Json] = {"role": message.role, "name": message.name or None, "time": _stamp(message.time)}
        yield {**{name: value for name, value in said.items() if value}, "said": message.text}
    if event.payload:
        yield {"payload": dict(event.payload)}
    if listed:
        yield {"already_listed": list(listed), "note": "list only the facts that are missing here"}


def _known(fact: Fact) -> dict[str, Json]:
    document: dict[str, Json] = {"known": fact.text, "since": _stamp(fact.valid_from)}
    if fact.claim is not None:
        document |= {"predicate": fact.claim.predicate, "value": fact.claim.value}
    return document


def _line(document: dict[str, Json]) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(", ", ": ")).translate(_LINE_ENDS)


def _stamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds")


@cache
def _read(version: str) -> str:
    prompts = files("concord_server.services.extraction.prompts")
    return (prompts / f"{version}.txt").read_text(encoding="utf-8").strip()
