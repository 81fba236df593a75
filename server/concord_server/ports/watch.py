"""The ports behind which changes are read, and those who wait for them are woken."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from concord_server.domain.watching import ChangePage, LogBounds


class ChangeLogRepository(Protocol):
    """The change log of one project.

    An entry is written in the transaction of its change. Whoever sees a sequence sees every smaller one that is
    kept: none is ever committed below what was read.
    """

    async def bounds(self) -> LogBounds:
        """Returns what is left of the log."""

    async def page(self, after: int, size: int) -> ChangePage:
        """Returns the next changes after a sequence, oldest first.

        Args:
            after: not negative.
            size: how many at most, positive.

        Raises:
            SequenceNotKeptError: changes after ``after`` are no longer kept, or the log never came that far.
        """

    async def prune(self, before: datetime, *, limit: int = 10_000) -> int:
        """Deletes the oldest changes, up to the first one recorded at ``before`` or later.

        Facts and their versions stay; those who resume from before what is left are told so.

        Args:
            before: what is older may go.
            limit: how many at most, so that one call stays short; call again until it returns 0.

        Returns:
            How many were deleted.
        """


class ChangeAudience(Protocol):
    """Those who wait for changes in this process."""

    def projects(self) -> Sequence[str]:
        """Returns the projects that somebody waits for."""

    def wake(self, project: str) -> None:
        """Makes those who wait for a project read its log; nothing happens where nobody does."""
