"""What calls return: frozen, with tuples for lists and read-only mappings.

Times are aware and in UTC; None stands for an absent time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from concord.enums import (
    ClaimSupport,
    EvolutionType,
    FactChange,
    FactStatus,
    FactType,
    ObservationAction,
    ReconcileAction,
)
from concord.errors import ConcordError
from concord.inputs import Statement
from concord.resources import Conflict, Decision, Evidence, EvolutionEdge, Fact, Observation, Source

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileResult:
    """What became of a statement.

    Attributes:
        fact: the fact that now carries it.
        source: the source as recorded, None when none was given.
        similarity: to the matched fact, None when none was compared.
        matched_fact: the known fact that the decision was about, None when there was none.
        conflict: the conflict that the statement opened or joined.
        warnings: what the caller should know, for a person.
    """

    action: ReconcileAction
    fact: Fact
    source: Source | None
    similarity: float | None
    matched_fact: Fact | None
    evolution_type: EvolutionType
    conflict: Conflict | None
    decision: Decision
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileOutcome:
    """One item of a batch or a stream: exactly one of ``result`` and ``error`` is set.

    Attributes:
        index: place of the item in the input, from 0.
        statement: the item, with the request id that was sent.
        result: what became of it.
        error: why it failed.
    """

    index: int
    statement: Statement
    result: ReconcileResult | None = None
    error: ConcordError | None = None

    def unwrap(self) -> ReconcileResult:
        """Returns the result, or raises the error."""
        if self.result is None:
            raise self.error or ValueError("the outcome is empty")
        return self.result


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkProgress:
    """How far ``reconcile_many`` has come.

    Attributes:
        total: number of items, None where the input does not tell its length.
        sent: items sent; ``sent - done`` are in flight.
        done: items answered, the failed ones included.
        failed: items answered with an error.
        by_action: number of items per action.
    """

    total: int | None
    sent: int
    done: int
    failed: int
    by_action: Mapping[ReconcileAction, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T_co]):
    """One page of a list.

    Attributes:
        items: the items of the page.
        next_page_token: for the next page, empty at the end.
        total_size: number of items over all pages.
    """

    items: tuple[T_co, ...]
    next_page_token: str
    total_size: int

    def __iter__(self) -> Iterator[T_co]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictPage(Page[Conflict]):
    """A page of conflicts, with the number of open ones that match and the age of the oldest."""

    open_count: int
    oldest_open_age: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolutionTreePage(Page[Fact]):
    """Facts of a family breadth-first, with the edges that lead to them."""

    edges: tuple[EvolutionEdge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolutionTree:
    """The family of a fact: its facts breadth-first, roots first, and the edges between them."""

    facts: tuple[Fact, ...]
    edges: tuple[EvolutionEdge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactEvent:
    """A change of a fact, as ``watch_facts`` yields it. Keep ``sequence`` to go on from there."""

    sequence: int
    change: FactChange
    fact: Fact
    time: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchResult:
    """The fact that ``branch`` wrote."""

    fact: Fact
    source: Source | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawalResult:
    """What ``withdraw_source`` did: how many facts lost the source, and which were left without support."""

    affected_count: int
    disputed_fact_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDetails:
    """A fact with its sources and evidence, oldest first."""

    fact: Fact
    sources: tuple[Source, ...]
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactBatch:
    """Facts by id, in the order asked for, and the ids that are unknown."""

    facts: tuple[Fact, ...]
    missing_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A fact that was found; ``score`` is what the order goes by."""

    fact: Fact
    similarity: float
    text_rank: float
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationMatch:
    """An observation that was found; ``similarity`` is its cosine with the query, in [-1, 1]."""

    observation: Observation
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationDetails:
    """An observation with the facts that it rests on, oldest first."""

    observation: Observation
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationVersion:
    """A state of an observation that was on record from ``recorded_from`` until ``recorded_to``.

    Attributes:
        run_id: the run that led to it, empty when a change of its facts did.
        recorded_to: None for the current state.
    """

    observation: Observation
    action: ObservationAction
    run_id: str
    reason: str
    recorded_from: datetime | None
    recorded_to: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteworthyFact:
    """A ranked fact; ``score``, in [0, 1], is the sum of the three parts."""

    fact: Fact
    score: float
    confidence_part: float
    source_part: float
    recency_part: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCheck:
    """What the ledger says about a statement."""

    support: ClaimSupport
    supporting: tuple[Fact, ...]
    contradicting: tuple[Fact, ...]
    rationale: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitySummary:
    """An entity, seen through its facts."""

    entity_type: str
    entity_id: str
    fact_count: int
    last_time: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMerge:
    """What ``merge_entities`` did."""

    moved_count: int
    conflicts: tuple[Conflict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What is known about an entity. Counts are over all pages; ``markdown`` is the readable page."""

    entity_type: str
    entity_id: str
    facts: tuple[Fact, ...]
    total_count: int
    by_type: Mapping[FactType, int]
    by_status: Mapping[FactStatus, int]
    observations: tuple[Observation, ...]
    open_conflicts: tuple[Conflict, ...]
    markdown: str
    next_page_token: str
    generate_time: datetime | None
