"""What reads ask for: filters, orders and pages, already validated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from concord_server.domain.enums import ConflictState, FactStatus, FactType, SubjectRole
from concord_server.domain.freshness import DEFAULT_HORIZONS, Horizons
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
        entity: linked to or owned by it (its ``role`` does not count).
        roles: with ``entity``, linked to it in one of these; empty means any, or owned by it.
        owner: owned by it.
        predicate: of the claim, by this name or one of ``other_predicates``, which mean the same.
        min_confidence: in [0, 1].
        as_of: valid time: only what held then.
        known_at: recorded time: every row as it was recorded then.
        unconflicted: leaves out members of open conflicts.
    """

    domain: str | None = None
    access_scope: str | None = None
    types: tuple[FactType, ...] = ()
    statuses: tuple[FactStatus, ...] = ()
    entity: EntityRef | None = None
    roles: tuple[SubjectRole, ...] = ()
    owner: EntityRef | None = None
    content_id: str = ""
    tag: str = ""
    predicate: str = ""
    other_predicates: tuple[str, ...] = ()
    min_confidence: float = 0.0
    as_of: datetime | None = None
    known_at: datetime | None = None
    unconflicted: bool = False


EVERY_FACT = FactFilter()
"""The filter that leaves out nothing but what is erased."""


@dataclass(frozen=True, slots=True)
class CurrentRead:
    """What a read of what holds leaves out: facts that do not hold at a moment, that are stale, or in dispute.

    Attributes:
        moment: when they must hold; also the time that their freshness is seen from.
        include_superseded: superseded facts too, whenever they held.
        include_conflicted: members of open conflicts too, challengers among them.
        horizons: how long facts stay fresh.
    """

    moment: datetime
    include_superseded: bool = False
    include_conflicted: bool = False
    horizons: Horizons = DEFAULT_HORIZONS


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
    """Which conflicts a list is about; empty fields do not restrict.

    Attributes:
        entity: with a member linked to or owned by it.
        access_scope: ``None`` for every scope, "" for unscoped facts alone.
    """

    state: ConflictState | None = None
    entity: EntityRef | None = None
    domain: str | None = None
    access_scope: str | None = None


@dataclass(frozen=True, slots=True)
class ConflictSummary:
    """How many conflicts are open under a filter, and since when the oldest is."""

    open_count: int
    oldest_open_time: datetime | None
