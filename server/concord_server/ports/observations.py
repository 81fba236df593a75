"""The ports behind which observations are kept, and groups of facts are leased to workers.

A worker takes a *group*: for as long as it keeps the lease, it alone forms observations of the group. What it writes
is fenced: :meth:`ObserveRepository.hold` fails once somebody else has the lease.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from concord_server.domain.enums import EventState, ObservationAction, ObservationState
from concord_server.domain.events import Failure
from concord_server.domain.model import EntityRef, Fact
from concord_server.domain.observations import (
    FoundObservation,
    Group,
    Observation,
    ObservationFilter,
    ObservationVersion,
)
from concord_server.domain.queries import Cursor, Page
from concord_server.domain.runs import ObserveProgress, RunScope
from concord_server.ports.embedder import Vector


@dataclass(frozen=True, slots=True)
class GroupLease:
    """A group that is taken for a run; ``lease_id`` is new with every taking."""

    run_id: UUID
    group: Group
    lease_id: UUID


@dataclass(frozen=True, slots=True)
class Recalled:
    """What is known beside a batch: observations of its group, and facts considered earlier, with their vectors.

    Attributes:
        facts: near the batch, and those that the observations rest on.
        vectors: of the batch and of these facts, where they have one.
        origins: digests that tell their sources apart, by fact.
    """

    observations: Sequence[Observation]
    facts: Sequence[Fact]
    vectors: Mapping[UUID, Vector]
    origins: Mapping[UUID, frozenset[bytes]]


@dataclass(frozen=True, slots=True)
class Near:
    """A stored observation near a wording; ``index`` says which one."""

    index: int
    observation: Observation
    similarity: float


@dataclass(frozen=True, slots=True)
class ObservationWrite:
    """A new state of an observation, to be stored as its next version.

    Attributes:
        attached: facts that it rests on from now on, with what they are like; others stay as they are.
        embedding: of the text; ``None`` keeps the stored one.
    """

    observation_id: UUID
    version: int
    text: str
    state: ObservationState
    action: ObservationAction
    reason: str
    attached: Sequence[Fact] = ()
    embedding: Vector | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What a run tells of one observation. A reason in words is read from the version, so that erasing reaches it.

    Attributes:
        code: why it was kept, as a word in lower snake case.
    """

    action: ObservationAction
    observation_id: UUID
    version: int
    code: str = ""


class ObservationRepository(Protocol):
    """Observations as they are read."""

    async def get(self, observation_id: UUID) -> Observation | None:
        """Returns the observation."""

    async def get_many(self, observation_ids: Sequence[UUID]) -> list[Observation]:
        """Returns the observations that exist, in the order asked for."""

    async def list(
        self, where: ObservationFilter, field: str, *, descending: bool, after: Cursor | None, size: int
    ) -> Page[Observation]:
        """Returns a page by ``create_time``, ``update_time`` or ``proof_count``, then id.

        Raises:
            InvalidPageTokenError: ``after`` is not a position in this list.
        """

    async def versions(self, observation_id: UUID, *, after: int, size: int) -> Page[ObservationVersion]:
        """Returns a page of the states that were on record, oldest first, after a version."""

    async def similar(
        self, where: ObservationFilter, vector: Vector, *, min_similarity: float, limit: int
    ) -> Sequence[FoundObservation]:
        """Returns the observations nearest to a vector, best first."""


class ObserveRepository(Protocol):
    """Groups and their facts as workers take them."""

    async def take(self, run_id: UUID, lease_id: UUID, lease: timedelta) -> GroupLease | None:
        """Takes the group that waits for longest, of those that are free and have facts before the run."""

    async def release(self, lease: GroupLease) -> None:
        """Lets the group go."""

    async def extend(self, lease_ids: Sequence[UUID], lease: timedelta) -> None:
        """Keeps the leases that were not lost for this long from now."""

    async def batch(self, lease: GroupLease, size: int) -> list[Fact]:
        """Returns the next facts of the group, oldest first; drops those that changed so that none can be formed."""

    async def recall(self, lease: GroupLease, batch: Sequence[Fact]) -> Recalled:
        """Returns what is known beside a batch."""

    async def near(self, lease: GroupLease, vectors: Sequence[Vector], min_similarity: float) -> list[Near]:
        """Returns the group's observations near each of some wordings."""

    async def hold(self, lease: GroupLease) -> None:
        """Makes sure that the group is this worker's until the session ends; write sessions only, first of all.

        Raises:
            LeaseLostError: somebody else has the group.
        """

    async def lock(self, observation_ids: Sequence[UUID]) -> list[Observation]:
        """Locks observations, in the order of their ids, and returns them as they are then."""

    async def save(self, lease: GroupLease, writes: Sequence[ObservationWrite], now: datetime) -> None:
        """Stores new states of observations. Version 1 is a new one."""

    async def consider(self, lease: GroupLease, facts: Sequence[Fact], now: datetime) -> None:
        """Marks facts as considered."""

    async def fail(self, lease: GroupLease, fact: Fact, failure: Failure, now: datetime) -> None:
        """Marks one fact as failed, once more; it is taken up by later runs after a rest, five times at most."""

    async def settle(
        self,
        lease: GroupLease,
        facts: Sequence[Fact],
        told: Sequence[Told],
        progress: ObserveProgress,
        now: datetime,
    ) -> None:
        """Takes facts off every run, counts them, and lets the run tell of it; last of all."""

    async def waiting(self, scope: RunScope) -> int:
        """Returns how many facts are pending within a scope."""

    async def retry(self, states: Sequence[EventState], subject: EntityRef | None) -> int:
        """Makes failed facts pending again, their attempts forgotten, and returns how many.

        Args:
            states: of FAILED (will be taken up again) and DEAD (given up); both when empty.
        """
