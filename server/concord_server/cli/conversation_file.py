"""Files that are read for facts: events in the contract's form, or the turns of one conversation, a line each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from concord import EntityRef, EventInput, EventMessage

from concord_server.cli.events_file import EventFileError, read_events

if TYPE_CHECKING:
    from concord_server.domain.events import NewEvent

_TEXT_KEYS = ("text", "content")
_NAME_KEYS = ("name", "speaker")


def read_conversation(lines: Iterable[str], subject: EntityRef | None) -> list[EventInput]:
    """Returns the events of a file.

    Lines with a ``subject`` are events. Lines with a ``text`` or ``content``, and a ``role``, ``name`` or ``time``, are
    turns; together they are one event about ``subject``, at the time of the last turn that has one. The key of that
    event follows from its content: handed over again, it is the same event.

    Raises:
        EventFileError: a line is neither; the message names it.
    """
    given = [line for line in lines if line.strip()]
    documents = [_document(number, line) for number, line in enumerate(given, start=1)]
    if any("subject" in document for document in documents):
        return list(read_events(given))
    if not documents:
        return []
    if subject is None:
        raise EventFileError("these are turns of a conversation: say whom it is about with --subject TYPE:ID")
    messages = [_message(number, document) for number, document in enumerate(documents, start=1)]
    times = [message.time for message in messages if message.time is not None]
    return [
        EventInput(
            subject,
            kind="conversation",
            messages=messages,
            occur_time=max(times, default=None),
            idempotency_key=_key(subject, messages),
        )
    ]


def new_events(events: Sequence[EventInput]) -> list[NewEvent]:
    """Returns events as the service reads them, without candidates: those are to be found."""
    from concord_server.domain.events import EventMessage as Message
    from concord_server.domain.events import NewEvent
    from concord_server.domain.model import EntityRef as Entity

    return [
        NewEvent(
            subject=Entity(event.subject.entity_type, event.subject.entity_id),
            kind=event.kind,
            text=event.text,
            payload=json.loads(json.dumps(dict(event.payload))),
            messages=tuple(Message(m.role, m.text, m.name, m.time) for m in event.messages),
            occur_time=event.occur_time,
            access_scope=event.access_scope,
            domain=event.domain,
            tags=tuple(event.tags),
        )
        for event in events
    ]


def _key(subject: EntityRef, messages: Sequence[EventMessage]) -> str:
    turns = [[m.role, m.name, m.text, m.time and m.time.astimezone(UTC).isoformat()] for m in messages]
    content = json.dumps([subject.entity_type, subject.entity_id, turns])
    return f"conversation-{hashlib.sha256(content.encode()).hexdigest()}"


def _document(number: int, line: str) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except ValueError as error:
        raise EventFileError(f"line {number} is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise EventFileError(f"line {number} is no JSON object")
    return document


def _message(number: int, document: dict[str, Any]) -> EventMessage:
    text = next((document[key] for key in _TEXT_KEYS if key in document), None)
    name = next((document[key] for key in _NAME_KEYS if key in document), "")
    role, stamp = document.get("role", "user"), document.get("time")
    if not isinstance(text, str) or not isinstance(name, str) or not isinstance(role, str):
        raise EventFileError(f"line {number} is no turn: it needs a text, and role and name in words")
    try:
        time = None if stamp is None else datetime.fromisoformat(stamp).astimezone()
    except (TypeError, ValueError) as error:
        raise EventFileError(
            f"line {number} is no turn: its time is not of the form 2024-05-31T09:00:00Z"
        ) from error
    return EventMessage(role, text, name, time)
