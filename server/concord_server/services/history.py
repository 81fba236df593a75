"""Reading recorded states of facts."""

from __future__ import annotations

from uuid import UUID

from concord_server.domain.errors import FactNotFoundError
from concord_server.domain.model import FactVersion
from concord_server.domain.queries import Cursor, Page
from concord_server.ports.ledger import Ledger
from concord_server.services.context import CallContext


class ListFactVersions:
    """Lists every recorded state of a fact."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(
        self, context: CallContext, fact_id: UUID, after: Cursor | None, size: int
    ) -> Page[FactVersion]:
        """Returns a page of the states, oldest first; without words once the fact is erased.

        Raises:
            FactNotFoundError: no such fact in the project.
            InvalidPageTokenError: ``after`` is not a position in this list.
        """
        async with self._ledger.read(context.project) as session:
            page = await session.history.versions(fact_id, after=after, size=size)
        if page.total == 0:
            raise FactNotFoundError(str(fact_id))
        return page
