"""The ports behind which the ledger is kept.

A :class:`ReadSession` sees committed state, one statement at a time. A :class:`WriteSession` is one transaction: it
commits when its block ends without an error and leaves no trace otherwise.

Concurrency rule: a write first locks the partitions that it touches (in order of their ids), then reads what its
plan depends on, then writes. Everything that a plan about a partition depends on changes only under that
partition's lock, so a plan made under it cannot be overtaken; one made before it is checked with
:meth:`FactRepository.changed_since`. No model or embedder is called while a write session is open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from concord_server.domain.confidence import SourceStatistics
from concord_server.domain.enums import Cardinality, EvolutionType, FactChange, FactStatus
from concord_server.domain.model import (
    Conflict,
    ContentLink,
    Decision,
    EntityRef,
    Evidence,
    Fact,
    Partition,
    Source,
)
from concord_server.domain.queries import (
    ConflictFilter,
    ConflictSummary,
    Cursor,
    FactFilter,
    FactOrder,
    Page,
)
from concord_server.domain.settlement import Timeline
from concord_server.domain.timeline import Assertion
from concord_server.domain.values import Json
from concord_server.ports.agenda import WorkRepository
from concord_server.ports.briefing import BriefingRepository
from concord_server.ports.embedder import Vector
from concord_server.ports.entities import EntityRepository
from concord_server.ports.event_search import EventSearchRepository
from concord_server.ports.events import EventRepository, LeaseRepository, RunRepository
from concord_server.ports.lineage import HistoryRepository, LineageRepository
from concord_server.ports.model_spend import ModelSpendRepository
from concord_server.ports.observations import ObservationRepository, ObserveRepository
from concord_server.ports.predicates import PredicateRepository
from concord_server.ports.project_settings import SettingsRepository
from concord_server.ports.projects import ProjectRepository
from concord_server.ports.search import SearchRepository
from concord_server.ports.sources import SourceRepository
from concord_server.ports.watch import ChangeLogRepository


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A partition as it stands: ``revision`` grows by one with every write session that locks it."""

    partition_id: UUID
    revision: int


@dataclass(frozen=True, slots=True)
class LockedPartition:
    """A partition that this session holds until it ends.

    Attributes:
        revision: the revision that this session's writes get; one more than before.
        recorded_time: time to record changes with: now, but later than every one recorded before.
    """

    partition_id: UUID
    partition: Partition
    revision: int
    recorded_time: datetime


@dataclass(frozen=True, slots=True)
class SimilarFact:
    """A fact near a vector; ``similarity`` is the cosine, in [-1, 1]."""

    fact: Fact
    similarity: float


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request that was answered before.

    Attributes:
        fingerprint: digest of the method and the request as received.
        response: the answer, as the API edge encoded it.
    """

    fingerprint: str
    response: bytes


@dataclass(frozen=True, slots=True)
class ChangeProbe:
    """What a plan made without a lock depends on.

    Attributes:
        text_digest: another fact of this text key would be met.
        vector: another fact at least ``min_similarity`` near would be met; ``None`` where nothing was searched.
        slot_ids: slots that the plan met.
    """

    text_digest: bytes
    vector: Vector | None
    min_similarity: float
    slot_ids: frozenset[UUID]


class PartitionRepository(Protocol):
    """Partitions and their locks."""

    async def find(self, partition: Partition) -> PartitionState | None:
        """Returns the partition's state, ``None`` when nothing was ever written to it."""

    async def of_fact(self, fact_id: UUID) -> tuple[UUID, Partition] | None:
        """Returns the partition of a fact, whatever its status; ``None`` for an unknown one."""

    async def lock(self, partition: Partition, now: datetime) -> LockedPartition:
        """Locks the partition until the session ends, making its row (and its project's) at first use.

        Write sessions only. Waits for other sessions that hold it.
        """


class FactRepository(Protocol):
    """Facts, their versions, sources, evidence and links."""

    async def get(self, fact_id: UUID) -> Fact | None:
        """Returns the fact with its links, also when it is DELETED."""

    async def get_many(self, fact_ids: Sequence[UUID]) -> list[Fact]:
        """Returns the facts that exist, in the order asked for."""

    async def by_text(self, partition_id: UUID, text_digest: bytes) -> list[Fact]:
        """Returns the facts that are known under that text key in the partition, erased ones left out.

        A fact is known under its own wording and under those that merged into it (:meth:`add_wording`). Facts
        whose own wording it is come first, then newest first.
        """

    async def add_wording(self, fact_id: UUID, text_digest: bytes) -> None:
        """Stores a wording under which the fact is to be found from now on."""

    async def similar(
        self, partition_id: UUID, vector: Vector, *, min_similarity: float, limit: int
    ) -> list[SimilarFact]:
        """Returns the nearest facts of the partition, erased ones left out, by similarity, newest, id."""

    async def similarities(self, fact_ids: Sequence[UUID], vector: Vector) -> dict[UUID, float]:
        """Returns the cosine of each fact that has an embedding with ``vector``."""

    async def holding(self, slot_ids: Sequence[UUID], moment: datetime) -> dict[UUID, Fact]:
        """Returns, by slot, the fact that holds at the moment, else the last before it, else the first after it.

        Slots whose facts are all off their timelines are absent.
        """

    async def changed_since(self, partition_id: UUID, revision: int, probe: ChangeProbe) -> bool:
        """Tells whether a fact that the probe would meet changed after ``revision``."""

    async def save(
        self,
        fact: Fact,
        change: FactChange,
        *,
        actor: str,
        reason: str,
        partition_id: UUID,
        text_digest: bytes,
        embedding: Vector | None = None,
    ) -> None:
        """Stores a state of a fact as its newest version, and puts the change on the log.

        ``fact.version`` 1 inserts the fact; a later one updates it and closes the version before it.
        ``fact.update_time`` is the recorded time of the version. The fact's links (subjects, contents, tags,
        parents) are stored with the version as they are in ``fact``; new ones are added to the link tables and
        ones that it lacks are removed. ``embedding`` is stored when given, and kept as it is otherwise.
        """

    async def set_embedding(self, fact_id: UUID, embedding: Vector, revision: int) -> None:
        """Stores the embedding of a known fact; no version, since what the fact says does not change.

        ``revision`` is that of the session, so that plans made before learn of the fact that they could not see.
        """

    async def add_edges(
        self, child_id: UUID, parents: Sequence[UUID], evolution_type: EvolutionType, now: datetime
    ) -> None:
        """Adds edges from ``parents`` (in this order, after existing ones) to the child; existing edges stay."""

    async def is_ancestor(self, ancestor_id: UUID, fact_id: UUID) -> bool:
        """Tells whether ``ancestor_id`` is ``fact_id`` or above it in the graph."""

    async def upsert_source(self, source: Source) -> Source:
        """Stores a source under its identity, keeping id and create time of one that is there already."""

    async def add_evidence(self, evidence: Sequence[Evidence]) -> None:
        """Stores pieces of evidence; an identical piece of the same fact is stored once."""

    async def sources(self, fact_id: UUID) -> list[Source]:
        """Returns the fact's sources, oldest first."""

    async def evidence(self, fact_id: UUID) -> list[Evidence]:
        """Returns the fact's evidence, oldest first."""

    async def source_statistics(self, fact_id: UUID) -> SourceStatistics:
        """Returns what confidence needs of the fact's sources."""

    async def absorbed(self, fact_id: UUID) -> list[Fact]:
        """Returns the facts whose statements all went over to this one, which says the same; oldest first."""

    async def erase(self, fact_id: UUID) -> None:
        """Removes every word of the fact; ids and times remain.

        That is its text, claim, embedding, metadata, the texts of sources, quotes and versions, decisions about it
        and stored responses that carried it.
        """

    async def list(self, where: FactFilter, order: FactOrder, *, after: Cursor | None, size: int) -> Page[Fact]:
        """Returns a page of facts in a total order, with the count of all that match."""


class SlotRepository(Protocol):
    """Slots of claims, lines of statements without a claim, their assertions and the predicates."""

    async def find(self, partition_id: UUID, slot_key: str) -> UUID | None:
        """Returns the slot of that key, ``None`` when nothing was said about it yet."""

    async def create(
        self,
        partition_id: UUID,
        slot_key: str,
        slot_id: UUID,
        *,
        subject: str,
        predicate: str,
        qualifiers: Mapping[str, Json],
    ) -> None:
        """Stores a new slot."""

    async def timeline(self, slot_id: UUID) -> Timeline:
        """Returns the slot (or line) with its facts (erased ones left out), assertions and open conflict."""

    async def save_assertions(
        self, slot_id: UUID, partition_id: UUID, assertions: Sequence[Assertion], now: datetime
    ) -> None:
        """Stores assertions: new ones are inserted, known ones updated, also when they move to another slot."""

    async def cardinality(self, predicate: str) -> Cardinality | None:
        """Returns the predicate's cardinality, ``None`` before its first use."""

    async def hold_cardinality(self, predicate: str) -> Cardinality | None:
        """Does as :meth:`cardinality`, and keeps it as it is until the session ends. Write sessions only."""

    async def register_predicate(self, predicate: str, cardinality: Cardinality, now: datetime) -> Cardinality:
        """Stores the predicate at its first use, and returns the cardinality that is stored, held as it is."""


class ConflictRepository(Protocol):
    """Conflicts and their members."""

    async def get(self, conflict_id: UUID) -> Conflict | None:
        """Returns the conflict with its facts, the incumbent first."""

    async def of_conflict(self, conflict_id: UUID) -> Partition | None:
        """Returns the partition that the conflict is in."""

    async def open(self, conflict_id: UUID, slot_id: UUID, partition_id: UUID, reason: str, now: datetime) -> None:
        """Stores an open conflict without members."""

    async def set_members(
        self, conflict_id: UUID, fact_ids: Sequence[UUID], incumbent_id: UUID | None, now: datetime
    ) -> None:
        """Makes exactly these facts current members; ones that leave keep their row with the time they left."""

    async def resolve(self, conflict_id: UUID, *, kept: UUID | None, note: str, now: datetime) -> None:
        """Marks the conflict resolved; its facts stay readable as its members."""

    async def list(
        self, where: ConflictFilter, *, after: Cursor | None, size: int, oldest_first: bool = False
    ) -> tuple[Page[Conflict], ConflictSummary]:
        """Returns a page of conflicts, newest first unless asked otherwise, with the summary over the filter."""


class DecisionRepository(Protocol):
    """Why statements ended as they did."""

    async def save(self, decision: Decision) -> None:
        """Stores a decision with its candidates."""

    async def get(self, decision_id: UUID) -> Decision | None:
        """Returns a decision."""


class RequestRepository(Protocol):
    """Answers kept for repeated requests."""

    async def find(self, request_id: UUID) -> StoredRequest | None:
        """Returns the stored answer, ``None`` when the request was not answered yet."""

    async def claim(self, request_id: UUID, method: str, fingerprint: str, now: datetime) -> StoredRequest | None:
        """Takes the request id for this session; waits for another session that has it.

        Write sessions only, before any other lock. Returns the stored answer when there is one already.
        """

    async def complete(self, request_id: UUID, response: bytes, fact_ids: Sequence[UUID]) -> None:
        """Stores the answer, and which facts' words it carries."""

    async def purge(self, before: datetime, *, limit: int) -> int:
        """Forgets requests from before a time, the oldest first, at most ``limit``; returns how many."""


class ReadSession(Protocol):
    """Committed state of one project."""

    partitions: PartitionRepository
    facts: FactRepository
    slots: SlotRepository
    predicates: PredicateRepository
    conflicts: ConflictRepository
    decisions: DecisionRepository
    requests: RequestRepository
    lineage: LineageRepository
    history: HistoryRepository
    sources: SourceRepository
    work: WorkRepository
    change_log: ChangeLogRepository
    search: SearchRepository
    briefings: BriefingRepository
    entities: EntityRepository
    events: EventRepository
    event_search: EventSearchRepository
    runs: RunRepository
    leases: LeaseRepository
    model_spend: ModelSpendRepository
    settings: SettingsRepository
    projects: ProjectRepository
    observations: ObservationRepository
    observing: ObserveRepository


class WriteSession(ReadSession, Protocol):
    """One transaction in one project."""


class Ledger(Protocol):
    """Opens sessions. Lost connections and deadlocks surface as errors of the domain.

    Raises (from any method of a session):
        UnavailableError: the database cannot be reached.
        ConcurrentUpdateError: the transaction lost to another; nothing was written.
    """

    def read(self, project: str) -> AbstractAsyncContextManager[ReadSession]:
        """Opens a session that reads."""

    def write(self, project: str) -> AbstractAsyncContextManager[WriteSession]:
        """Opens a transaction."""


__all__ = [
    "ChangeProbe",
    "ConflictRepository",
    "ContentLink",
    "DecisionRepository",
    "EntityRef",
    "FactRepository",
    "FactStatus",
    "Ledger",
    "LockedPartition",
    "PartitionRepository",
    "PartitionState",
    "ReadSession",
    "RequestRepository",
    "SimilarFact",
    "SlotRepository",
    "SourceStatistics",
    "StoredRequest",
    "WriteSession",
]
