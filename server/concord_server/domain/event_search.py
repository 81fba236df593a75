"""Searching events: what an event is found by, and what is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from concord_server.domain.commands import Violations
from concord_server.domain.consolidation import rendered
from concord_server.domain.events import Event, EventFilter, EventMessage
from concord_server.domain.search import DEFAULT_TOP_K
from concord_server.domain.text import text_problem
from concord_server.domain.values import Json

MAX_SEARCHED_BYTES = 128 << 10
"""An event is found by this much of its text. The words of more might not fit into what the database keeps of them."""


@dataclass(frozen=True, slots=True)
class EventQuery:
    """What to search for among events.

    Attributes:
        text: the query in words, with at least one letter or digit.
        where: which events; names their subject.
        top_k: how many to return, 1 to 100.
    """

    text: str
    where: EventFilter = field(default_factory=EventFilter)
    top_k: int = DEFAULT_TOP_K

    def validate(self, found: Violations) -> None:
        """Adds what is wrong with the query."""
        found.add("query", text_problem(self.text))
        if self.where.subject is None:
            found.add("subject", "must be given")


@dataclass(frozen=True, slots=True)
class EventMatch:
    """An event that was found, with what the order goes by.

    Attributes:
        similarity: cosine with the query, in [-1, 1]; 0 where there is none.
        text_rank: how well its words match, 0 when none does.
        score: the fusion of both rankings.
    """

    event: Event
    similarity: float
    text_rank: float
    score: float


def searchable_text(event: Event) -> str:
    """Returns what an event is found by, a line for each part; empty where there is no letter or digit in it.

    Its text, then its messages with the names of their speakers, then the texts and numbers of its payload, each
    behind its key, since "plan: pro" means more than "pro". An event that came with candidates alone is found by
    those. It ends at :data:`MAX_SEARCHED_BYTES`.
    """
    told = _joined(_parts(event))
    return told or _joined(
        candidate.text.strip() or (rendered(candidate.claim) if candidate.claim else "")
        for candidate in event.candidates
    )


def _parts(event: Event) -> Iterator[str]:
    yield event.text
    for message in event.messages:
        yield _said(message)
    yield from _leaves(event.payload, "")


def _said(message: EventMessage) -> str:
    return f"{message.name}: {message.text}" if message.name.strip() else message.text


def _leaves(value: Json | Mapping[str, Json], name: str) -> Iterator[str]:
    """Yields the texts and numbers in a value. Truth values and nulls say nothing that anybody would look for."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, name)
    elif value is not None and not isinstance(value, bool):
        yield f"{name}: {value}" if name else str(value)


def _joined(parts: Iterable[str]) -> str:
    """Returns the parts that hold a letter or digit as lines, no more of them than are searched."""
    lines, left = [], MAX_SEARCHED_BYTES
    for part in parts:
        if not any(character.isalnum() for character in part):
            continue
        encoded = part.encode()
        lines.append(encoded[:left].decode(errors="ignore"))
        left -= len(encoded) + 1
        if left <= 0:
            break
    return "\n".join(lines)
