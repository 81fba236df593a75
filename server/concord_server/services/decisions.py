"""Reading decisions."""

from __future__ import annotations

from uuid import UUID

from concord_server.domain.errors import DecisionNotFoundError
from concord_server.domain.model import Decision
from concord_server.ports.ledger import Ledger
from concord_server.services.context import CallContext


class GetDecision:
    """Reads why a statement ended as it did."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(self, context: CallContext, decision_id: UUID) -> Decision:
        """Returns a decision.

        Raises:
            DecisionNotFoundError: no such decision in the project.
        """
        async with self._ledger.read(context.project) as session:
            decision = await session.decisions.get(decision_id)
        if decision is None:
            raise DecisionNotFoundError(str(decision_id))
        return decision
