"""What EvolutionService and withdrawing a source need of the services, changing a status aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from concord_server.domain.lineage import FamilyPage
from concord_server.domain.model import Fact, FactVersion
from concord_server.domain.queries import Cursor, Page
from concord_server.ports.sources import SourceName
from concord_server.services.batch_get_facts import FoundFacts
from concord_server.services.branch import BranchCommand, Branched
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.update_fact import FactUpdate
from concord_server.services.withdraw_source import Withdrawal


class Branch(Protocol):
    """Adds a fact below others."""

    async def execute(
        self, context: CallContext, command: BranchCommand, idempotency: Idempotency[Branched] | None, /
    ) -> Branched | Replay:
        """Returns the new fact, or the stored answer of a repeated request."""


class GetEvolutionChain(Protocol):
    """Reads a line."""

    async def execute(self, context: CallContext, fact_id: UUID, /) -> Sequence[Fact]:
        """Returns the facts from the root to this one."""


class GetLatestInChain(Protocol):
    """Reads what a fact has become."""

    async def execute(self, context: CallContext, fact_id: UUID, /) -> Fact:
        """Returns the latest fact."""


class GetEvolutionTree(Protocol):
    """Reads a family."""

    async def execute(self, context: CallContext, fact_id: UUID, after: UUID | None, size: int, /) -> FamilyPage:
        """Returns a page, breadth-first."""


class ListFactVersions(Protocol):
    """Lists recorded states."""

    async def execute(
        self, context: CallContext, fact_id: UUID, after: Cursor | None, size: int, /
    ) -> Page[FactVersion]:
        """Returns a page, oldest first."""


class UpdateFact(Protocol):
    """Changes what is not a statement."""

    async def execute(
        self,
        context: CallContext,
        fact_id: UUID,
        update: FactUpdate,
        reason: str,
        etag: str,
        idempotency: Idempotency[Fact] | None,
        /,
    ) -> Fact | Replay:
        """Returns the changed fact, or the stored answer of a repeated request."""


class WithdrawSource(Protocol):
    """Takes a source away from every fact."""

    async def execute(
        self, context: CallContext, source: SourceName, reason: str, idempotency: Idempotency[Withdrawal] | None, /
    ) -> Withdrawal | Replay:
        """Returns what it did, or the stored answer of a repeated request."""


class BatchGetFacts(Protocol):
    """Reads facts by id."""

    async def execute(self, context: CallContext, fact_ids: Sequence[UUID], /, *, recompute: bool) -> FoundFacts:
        """Returns those that exist."""


@dataclass(frozen=True, slots=True)
class EvolutionUseCases:
    """The use cases of this module, built once by whoever puts the service together."""

    branch: Branch
    get_evolution_chain: GetEvolutionChain
    get_latest_in_chain: GetLatestInChain
    get_evolution_tree: GetEvolutionTree
    list_fact_versions: ListFactVersions
    update_fact: UpdateFact
    withdraw_source: WithdrawSource
    batch_get_facts: BatchGetFacts
