"""Single fields of requests; each parser adds what is wrong under the field's path and goes on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from typing import TypeVar
from uuid import UUID

from concord.v1 import resources_pb2
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from concord_server.api.enums import SUBJECT_ROLE, EnumCodec
from concord_server.api.wellknown import timestamp_problem, to_datetime
from concord_server.domain.commands import MAX_LABEL, Violations, validate_entity
from concord_server.domain.enums import SubjectRole
from concord_server.domain.model import EntityRef
from concord_server.domain.queries import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from concord_server.domain.text import characters_problem, label_problem

E = TypeVar("E", bound=Enum)
V = TypeVar("V", bound=int)

MAX_NOTE = 4000
"""Longest reason or note that a caller may leave in the history, in characters."""

NIL_ID = UUID(int=0)
"""Stands for an id that could not be read, until the violation is raised."""

_CANONICAL_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)


def parse_id(name: str, text: str, found: Violations) -> UUID:
    """Returns the id in a field that must hold one: a UUID in its canonical form, in either case."""
    if not text:
        found.add(name, "must be given")
        return NIL_ID
    return parse_optional_id(name, text, found) or NIL_ID


def parse_optional_id(name: str, text: str, found: Violations) -> UUID | None:
    """Returns the id in a field that may be empty."""
    if not text:
        return None
    if not _CANONICAL_UUID.fullmatch(text):
        found.add(name, "must be a UUID such as 019a0000-0000-7000-8000-000000000000")
        return None
    return UUID(text)


def parse_time(message: Message, name: str, found: Violations, *, within: str = "") -> datetime | None:
    """Returns the time in a field that may be absent, in UTC, cut to microseconds.

    Args:
        message: the message that has the field.
        name: name of the field.
        found: gets what is wrong.
        within: path of the message in the request, with its closing dot.
    """
    if not message.HasField(name):
        return None
    stamp: Timestamp = getattr(message, name)
    problem = timestamp_problem(stamp)
    found.add(within + name, problem)
    return None if problem else to_datetime(stamp)


def parse_enum(name: str, number: int, codec: EnumCodec[E, V], found: Violations) -> E | None:
    """Returns the member that a field names, ``None`` when it is not given."""
    found.add(name, codec.problem(number))
    return codec.from_proto(number)


def parse_enums(name: str, numbers: Sequence[int], codec: EnumCodec[E, V], found: Violations) -> tuple[E, ...]:
    """Returns the members that a repeated field names, each once; UNSPECIFIED among them is a violation."""
    members: dict[E, None] = {}
    for index, number in enumerate(numbers):
        member = parse_enum(f"{name}[{index}]", number, codec, found)
        if number == codec.unspecified:
            found.add(f"{name}[{index}]", "must not be UNSPECIFIED")
        if member is not None:
            members[member] = None
    return tuple(members)


def parse_entity(name: str, entity: resources_pb2.EntityRef, found: Violations) -> EntityRef:
    """Returns a reference to an entity, unchecked but for its role."""
    role = parse_enum(f"{name}.role", entity.role, SUBJECT_ROLE, found)
    return EntityRef(entity.entity_type, entity.entity_id, role or SubjectRole.SUBJECT)


def parse_entity_filter(message: Message, name: str, found: Violations) -> EntityRef | None:
    """Returns the entity that a filter names, checked; ``None`` when it names none."""
    if not message.HasField(name):
        return None
    entity = parse_entity(name, getattr(message, name), found)
    validate_entity(name, entity, found)
    return entity


def parse_label(name: str, text: str, found: Violations, *, max_length: int = MAX_LABEL) -> str:
    """Returns a label that may be empty."""
    found.add(name, label_problem(text, max_length=max_length))
    return text


def parse_note(name: str, text: str, found: Violations) -> str:
    """Returns free text for the history, which may be empty."""
    if len(text) > MAX_NOTE:
        found.add(name, f"must have at most {MAX_NOTE} characters, has {len(text)}")
    found.add(name, characters_problem(text))
    return text


def parse_page_size(size: int, found: Violations) -> int:
    """Returns how many items a page has: 50 unless asked otherwise, at most 500."""
    if size < 0:
        found.add("page_size", "must not be negative")
    return min(size, MAX_PAGE_SIZE) if size > 0 else DEFAULT_PAGE_SIZE
