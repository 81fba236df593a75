"""Reading the family graph: lines, latest facts and families."""

from __future__ import annotations

from uuid import UUID

from concord_server.domain.errors import FactNotFoundError
from concord_server.domain.lineage import FamilyPage
from concord_server.domain.model import Fact
from concord_server.ports.ledger import Ledger
from concord_server.services.context import CallContext


class GetEvolutionChain:
    """Reads the line from the root to a fact."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(self, context: CallContext, fact_id: UUID) -> list[Fact]:
        """Returns the facts from the root to this one; of several parents it follows the first-listed.

        Raises:
            FactNotFoundError: no such fact in the project.
        """
        async with self._ledger.read(context.project) as session:
            chain = await session.lineage.chain(fact_id)
        if not chain:
            raise FactNotFoundError(str(fact_id))
        return chain


class GetLatestInChain:
    """Reads what a fact has become."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(self, context: CallContext, fact_id: UUID) -> Fact:
        """Returns the end of the way downwards, at each step to the child of highest confidence.

        Raises:
            FactNotFoundError: no such fact in the project.
        """
        async with self._ledger.read(context.project) as session:
            latest = await session.lineage.latest(fact_id)
        if latest is None:
            raise FactNotFoundError(str(fact_id))
        return latest


class GetEvolutionTree:
    """Reads the family of a fact."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(self, context: CallContext, fact_id: UUID, after: UUID | None, size: int) -> FamilyPage:
        """Returns a page of the family, breadth-first, roots first.

        Raises:
            FactNotFoundError: no such fact in the project.
        """
        async with self._ledger.read(context.project) as session:
            page = await session.lineage.family(fact_id, after=after, size=size)
        if page.total == 0:
            raise FactNotFoundError(str(fact_id))
        return page
