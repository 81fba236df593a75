"""Reading and changing what a project goes by."""

from __future__ import annotations

from collections.abc import Callable

from concord_server.domain.commands import Violations
from concord_server.domain.project_settings import ProjectSettings
from concord_server.domain.settings_update import SettingsUpdate
from concord_server.ports.clock import Clock
from concord_server.ports.ledger import Ledger
from concord_server.services import idempotency as repeats
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.statuses import check_etag

Changed = Callable[[str, ProjectSettings], None]
"""Is told which settings a project has from now on."""


class GetProjectSettings:
    """Reads settings as they are stored."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(self, context: CallContext) -> ProjectSettings:
        """Returns what is in force."""
        async with self._ledger.read(context.project) as session:
            return (await session.settings.get()).in_force()


class UpdateProjectSettings:
    """Changes settings; later decisions go by them, earlier ones stay."""

    def __init__(self, ledger: Ledger, clock: Clock, changed: Changed) -> None:
        """Builds the use case.

        Args:
            changed: is told of each change once it is committed, so that it counts in this process at once.
        """
        self._ledger = ledger
        self._clock = clock
        self._changed = changed

    async def execute(
        self,
        context: CallContext,
        update: SettingsUpdate,
        etag: str = "",
        idempotency: Idempotency[ProjectSettings] | None = None,
    ) -> ProjectSettings | Replay:
        """Returns what is in force afterwards. A change to what is set already changes nothing, the etag neither.

        Raises:
            InvalidFieldsError: a value cannot be, by itself or beside what is set already.
            EtagMismatchError: the settings changed since the caller read them.
        """
        found = Violations()
        update.validate(found)
        found.raise_if_any()
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        now = self._clock.now()
        async with self._ledger.write(context.project) as session:
            known = await repeats.claim(session, idempotency, now)
            if known is not None:
                return known
            own = await session.settings.lock()
            check_etag(etag, own.in_force().etag)
            changed = update.applied_to(own, now)
            if changed != own:
                await session.settings.save(changed)
            settings = changed.in_force()
            await repeats.complete(session, idempotency, settings, [])
        self._changed(context.project, settings)
        return settings
