"""Observations: beliefs formed over facts of one group, with what they rest on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from concord_server.domain.enums import FactStatus, ObservationAction, ObservationState, Trend
from concord_server.domain.model import EntityRef, Fact

TREND_WINDOW = timedelta(days=60)
"""The support of this last stretch of time is compared with that of the stretch before it."""

STALE_AFTER = timedelta(days=180)
"""An observation whose newest fact is older than this has a stale trend."""


@dataclass(frozen=True, slots=True)
class Group:
    """Within a project, the facts that may be seen together: they share all of this.

    Attributes:
        tags: in order, each once; a group without tags holds untagged facts alone.
    """

    access_scope: str = ""
    domain: str = ""
    owner_type: str = ""
    owner_id: str = ""
    tags: tuple[str, ...] = ()

    @property
    def owner(self) -> EntityRef | None:
        """Whom the group is about, ``None`` where its statements speak for themselves."""
        return EntityRef(self.owner_type, self.owner_id) if self.owner_type else None

    @property
    def group_id(self) -> UUID:
        """The group's id, which follows from its fields: known before the group is stored, and unique to them."""
        digest = _digest([self.access_scope, self.domain, self.owner_type, self.owner_id, *self.tags])
        number = int.from_bytes(digest[:16])
        number = number & ~(0xF << 76) | 0x8 << 76  # version 8: made from data of one's own
        return UUID(int=number & ~(0x3 << 62) | 0x2 << 62)


def group_of(fact: Fact) -> Group:
    """Returns the group that a fact is in."""
    where = fact.partition
    tags = tuple(sorted(set(fact.tags)))
    return Group(where.access_scope, where.domain, where.owner_type, where.owner_id, tags)


def basis_of(fact: Fact) -> bytes:
    """Returns a digest of what an observation relies on in a fact: wording, value, group and end.

    While it stays the same and the fact is ACTIVE, nothing that rests on the fact can have become wrong.
    Corroboration and an earlier start leave it as it is.
    """
    end = "" if fact.valid_to is None else fact.valid_to.isoformat()
    return _digest([str(group_of(fact).group_id), fact.text, fact.value_key, end])


def supports(fact: Fact, basis: bytes) -> bool:
    """Tells whether a fact still supports what was formed while it had that basis."""
    return fact.status is FactStatus.ACTIVE and basis_of(fact) == basis


def is_observable(fact: Fact) -> bool:
    """Tells whether observations may be formed from a fact: it is ACTIVE and not in dispute."""
    return fact.status is FactStatus.ACTIVE and fact.conflict_id is None


def _digest(parts: Sequence[str]) -> bytes:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True)
class Support:
    """One fact that an observation rests on, and when that was true first."""

    fact_id: UUID
    time: datetime


@dataclass(frozen=True, slots=True)
class Observation:
    """A belief over facts.

    Attributes:
        text: empty where its wording rested on what was erased.
        support: the facts that it rests on now, oldest first.
        version: 1 for the first recorded state; the etag follows from it.
    """

    observation_id: UUID
    group: Group
    text: str
    state: ObservationState
    support: tuple[Support, ...]
    create_time: datetime
    update_time: datetime
    version: int = 1

    @property
    def proof_count(self) -> int:
        """Number of distinct facts that support it."""
        return len(self.support)

    @property
    def first_time(self) -> datetime | None:
        """Earliest time of its facts, ``None`` without any."""
        return min((each.time for each in self.support), default=None)

    @property
    def last_time(self) -> datetime | None:
        """Latest time of its facts, ``None`` without any."""
        return max((each.time for each in self.support), default=None)

    @property
    def etag(self) -> str:
        """Opaque token that changes with every recorded state."""
        return f'"{self.version}"'


@dataclass(frozen=True, slots=True)
class ObservationVersion:
    """One recorded state of an observation, from ``recorded_from`` until ``recorded_to``.

    Attributes:
        run_id: the run that led to it, ``None`` when a change of its facts did.
    """

    observation: Observation
    action: ObservationAction
    run_id: UUID | None
    reason: str
    recorded_from: datetime
    recorded_to: datetime | None


@dataclass(frozen=True, slots=True)
class ObservationFilter:
    """Which observations a read is about; empty fields do not restrict.

    Attributes:
        subject: about this entity: of its group.
        access_scope: ``None`` for every scope, "" for unscoped ones alone.
        tags: with all of these.
        states: empty means ACTIVE ones.
    """

    subject: EntityRef | None = None
    domain: str | None = None
    access_scope: str | None = None
    tags: tuple[str, ...] = ()
    states: tuple[ObservationState, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundObservation:
    """An observation that a search found; ``similarity`` is the cosine to the query, in [-1, 1]."""

    observation: Observation
    similarity: float


def trend(support: Sequence[Support], now: datetime) -> Trend:
    """Returns how support develops, from the times of the facts.

    STALE when the newest is older than 180 days, or there is none. Else the last 60 days are compared with the 60
    days before: more facts is STRENGTHENING, as many (and at least one) STABLE, fewer WEAKENING.
    """
    newest = max((each.time for each in support), default=None)
    if newest is None or now - newest > STALE_AFTER:
        return Trend.STALE
    lately = sum(now - each.time <= TREND_WINDOW for each in support)
    before = sum(TREND_WINDOW < now - each.time <= 2 * TREND_WINDOW for each in support)
    if lately > before:
        return Trend.STRENGTHENING
    return Trend.STABLE if lately and lately == before else Trend.WEAKENING
