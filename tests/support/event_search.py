"""Making the events of one project findable, whatever other tests have left."""

from __future__ import annotations

from dataclasses import dataclass

from concord_server.storage.sessions import PostgresLedger


@dataclass(frozen=True, slots=True)
class OneProject:
    """The agenda of events that cannot be found yet, of one project."""

    project: str
    ledger: PostgresLedger

    async def project_with_unsearchable_events(self, *, after: str) -> str | None:
        """Returns the project while it has such events and was not asked about yet."""
        just_before = self.project[:-1]
        found = await self.ledger.event_agenda.project_with_unsearchable_events(after=max(after, just_before))
        return found if found == self.project else None
