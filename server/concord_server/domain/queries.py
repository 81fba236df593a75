"""What reads ask for: filters, orders and pages, already validated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from concord_server.domain.enums import ConflictState, FactStatus, FactType
from concord_server.domain.model import EntityRef

T = TypeVar("T")

DEFAULT_PAGE_SIZE = 50
MAX_PAGE_SIZE = 500


@dataclass(frozen=True, slots=True)
class FactFilter:
    """Which facts a read is about; empty fields do not restrict.

    Attributes:
        access_scope: ``None`` for every scope, "" for unscoped facts alone.
        statuses: empty means every status but DELETED; with ``as_of``, those that can hold.
        entity: linked to or owned by it, in any role (its ``role`` does not count).
        owner: owned by it.
        min_confidence: in [0, 1].
        as_of: valid time: only what held then.
        known_at: recorded time: every row as it was recorded then.
    """

    domain: str | None = None
    access_scope: str | None = None
    types: tuple[FactType, ...] = ()
    statuses: tuple[FactStatus, ...] = ()
    entity: EntityRef | None = None
    owner: EntityRef | None = None
    content_id: str = ""
    tag: str = ""
    predicate: str = ""
    min_confidence: float = 0.0
    as_of: datetime | None = None
    known_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class FactOrder:
    """A total order of facts: one field, then the id. Newest first unless asked otherwise."""

    field: str = "create_time"
    descending: bool = True


ORDERABLE_FIELDS = ("create_time", "update_time", "valid_from", "confidence")
"""Fields that facts can be ordered by; ties go by id in the same direction."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page starts: after the row with these order values (the order field's, then the id)."""

    value: str
    last_id: UUID


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list; ``next`` is ``None`` at the end; ``total`` counts the whole list."""

    items: Sequence[T]
    next: Cursor | None
    total: int


@dataclass(frozen=True, slots=True)
class ConflictFilter:
    """Which conflicts a list is about; empty fields do not restrict."""

    state: ConflictState | None = None
    entity: EntityRef | None = None
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class ConflictSummary:
    """How many conflicts are open under a filter, and since when the oldest is."""

    open_count: int
    oldest_open_time: datetime | None
