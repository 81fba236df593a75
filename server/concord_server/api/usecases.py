"""What the edge needs of the services: one callable shape per use case."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from concord_server.api.admin_usecases import AdminUseCases
from concord_server.api.briefing_usecases import BriefingUseCases
from concord_server.api.consolidate_usecases import ConsolidateUseCases
from concord_server.api.evolution_usecases import EvolutionUseCases
from concord_server.domain.commands import ReconcileCommand, Resolution
from concord_server.domain.enums import FactStatus
from concord_server.domain.errors import ConcordError
from concord_server.domain.model import Conflict, Decision, Fact
from concord_server.domain.queries import ConflictFilter, ConflictSummary, Cursor, FactFilter, FactOrder, Page
from concord_server.domain.watching import Heartbeat, RecordedChange, WatchFilter
from concord_server.ports.clock import Clock
from concord_server.ports.project_settings import SettingsOfProjects
from concord_server.services.batch import BatchItem
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.results import FactDetails, ReconcileResult


class Reconcile(Protocol):
    """Takes one statement."""

    async def execute(
        self, context: CallContext, command: ReconcileCommand, idempotency: Idempotency[ReconcileResult] | None, /
    ) -> ReconcileResult | Replay:
        """Returns what became of it, or the stored answer of a repeated request."""


class BatchReconcile(Protocol):
    """Takes statements in order."""

    def execute(
        self, context: CallContext, items: Sequence[BatchItem], /
    ) -> AsyncIterator[ReconcileResult | Replay | ConcordError]:
        """Yields one outcome per item, in order; items that are errors pass through in place."""


class GetDecision(Protocol):
    """Reads a decision."""

    async def execute(self, context: CallContext, decision_id: UUID, /) -> Decision:
        """Returns the decision."""


class ListConflicts(Protocol):
    """Lists conflicts by the time that they opened."""

    async def execute(
        self, context: CallContext, where: ConflictFilter, order: FactOrder, after: Cursor | None, size: int, /
    ) -> tuple[Page[Conflict], ConflictSummary]:
        """Returns a page, and what is open under the whole filter."""


class GetConflict(Protocol):
    """Reads a conflict."""

    async def execute(self, context: CallContext, conflict_id: UUID, /) -> Conflict:
        """Returns the conflict."""


class ResolveConflict(Protocol):
    """Decides a conflict."""

    async def execute(
        self,
        context: CallContext,
        conflict_id: UUID,
        resolution: Resolution,
        note: str,
        etag: str,
        idempotency: Idempotency[Conflict] | None,
        /,
    ) -> Conflict | Replay:
        """Returns the decided conflict, or the stored answer of a repeated request."""


class GetFact(Protocol):
    """Reads a fact."""

    async def execute(self, context: CallContext, fact_id: UUID, /) -> FactDetails:
        """Returns the fact with its provenance."""


class ListFacts(Protocol):
    """Lists facts."""

    async def execute(
        self, context: CallContext, where: FactFilter, order: FactOrder, after: Cursor | None, size: int, /
    ) -> Page[Fact]:
        """Returns a page."""


class UpdateFactStatus(Protocol):
    """Takes a fact to another status."""

    async def execute(
        self,
        context: CallContext,
        fact_id: UUID,
        status: FactStatus,
        reason: str,
        etag: str,
        idempotency: Idempotency[Fact] | None,
        /,
    ) -> Fact | Replay:
        """Returns the fact in its new status, or the stored answer of a repeated request."""


class WatchFacts(Protocol):
    """Tells changes as they commit."""

    async def execute(
        self, context: CallContext, where: WatchFilter, after_sequence: int | None, /
    ) -> AsyncIterator[RecordedChange | Heartbeat]:
        """Starts a watch after a sequence, or from now on, and returns what it tells."""


@dataclass(frozen=True, slots=True)
class UseCases:
    """Everything that the servicers call, built once by whoever puts the service together."""

    clock: Clock
    project_settings: SettingsOfProjects
    reconcile: Reconcile
    batch_reconcile: BatchReconcile
    get_decision: GetDecision
    list_conflicts: ListConflicts
    get_conflict: GetConflict
    resolve_conflict: ResolveConflict
    get_fact: GetFact
    list_facts: ListFacts
    update_fact_status: UpdateFactStatus
    briefing: BriefingUseCases
    consolidate: ConsolidateUseCases
    evolution: EvolutionUseCases
    watch_facts: WatchFacts
    admin: AdminUseCases
