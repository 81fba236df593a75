"""Reading facts."""

from __future__ import annotations

from uuid import UUID

from concord_server.domain.errors import FactNotFoundError
from concord_server.domain.model import Fact
from concord_server.domain.queries import Cursor, FactFilter, FactOrder, Page
from concord_server.ports.ledger import Ledger
from concord_server.services.context import CallContext
from concord_server.services.predicate_names import by_any_name
from concord_server.services.results import FactDetails


class GetFact:
    """Reads one fact with what it rests on."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(self, context: CallContext, fact_id: UUID) -> FactDetails:
        """Returns the fact, also when it is erased (without words then).

        Raises:
            FactNotFoundError: no such fact in the project.
        """
        async with self._ledger.read(context.project) as session:
            fact = await session.facts.get(fact_id)
            if fact is None:
                raise FactNotFoundError(str(fact_id))
            sources = await session.facts.sources(fact_id)
            evidence = await session.facts.evidence(fact_id)
        return FactDetails(fact, tuple(sources), tuple(evidence))


class ListFacts:
    """Lists facts."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(
        self, context: CallContext, where: FactFilter, order: FactOrder, after: Cursor | None, size: int
    ) -> Page[Fact]:
        """Returns a page of the facts that match, in a total order."""
        async with self._ledger.read(context.project) as session:
            return await session.facts.list(await by_any_name(session, where), order, after=after, size=size)
