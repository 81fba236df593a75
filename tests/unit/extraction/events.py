"""Events as they are read for facts, and what is taken from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from concord_server.domain.answers import Answer, read_answer
from concord_server.domain.enums import Trust
from concord_server.domain.events import Event, EventMessage, NewEvent, recorded
from concord_server.domain.model import EntityRef
from concord_server.services.extraction.candidates import Taken

TIME = datetime(2024, 5, 1, 9, tzinfo=UTC)
ID = UUID("0190d3c8-0000-7000-8000-000000000001")


def event(text: str = "", *turns: tuple[str, str], **fields: Any) -> Event:
    """An event about the user u1; ``turns`` are pairs of role and text."""
    said = tuple(EventMessage(role, words) for role, words in turns)
    given = {"subject": EntityRef("User", "u1"), "occur_time": TIME, "messages": said, **fields}
    return recorded(NewEvent(text=text, **given), ID, Trust.TRUSTED, TIME)


def taken(from_event: Event, facts: Sequence[Any] | str, limit: int = 20) -> Taken:
    """What is taken from an event by an answer of these facts."""
    said = facts if isinstance(facts, str) else json.dumps({"reasoning": "", "facts": facts})
    answer = read_answer(said, ("facts", "predicate"))
    assert isinstance(answer, Answer)
    result = Taken(from_event, limit)
    assert result.take(answer) is None
    return result


def reasons(result: Taken) -> list[str]:
    """Why things were refused, in order."""
    return [one.reason for one in result.rejected]


def values(result: Taken) -> list[Any]:
    """Predicates and values of what was taken."""
    return [(c.claim.predicate, c.claim.value) for c in result.candidates if c.claim]
