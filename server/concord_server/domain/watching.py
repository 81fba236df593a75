"""What watchers are told: changes of facts in the order of their commits, and signs of life."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from concord_server.domain.enums import FactChange
from concord_server.domain.errors import SequenceNotKeptError
from concord_server.domain.model import EntityRef, Fact

EntityName = tuple[str, str]
"""Type and id of an entity."""


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """One entry of a project's change log, with the state that it recorded.

    Attributes:
        sequence: its number, positive; strictly increasing in the order of the commits.
        fact: as it was after the change; without words once it is erased.
        time: when the change was recorded.
        entities: what the fact is linked to or owned by, under every id that those entities go by.
    """

    sequence: int
    change: FactChange
    fact: Fact
    time: datetime
    entities: frozenset[EntityName] = frozenset()


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A sign of life.

    Attributes:
        sequence: up to where the log was read: whoever goes on from here misses nothing, however many changes
            the filter has left out.
    """

    sequence: int


@dataclass(frozen=True, slots=True)
class WatchFilter:
    """Which changes a watch is about; empty fields do not restrict.

    Attributes:
        entity: of facts linked to or owned by it (its ``role`` does not count).
        access_scope: ``None`` for every scope, "" for unscoped facts alone.
    """

    domain: str = ""
    entity: EntityRef | None = None
    changes: frozenset[FactChange] = frozenset()
    access_scope: str | None = None

    def admits(self, change: RecordedChange) -> bool:
        """Whether the watch is about a change."""
        partition = change.fact.partition
        if self.changes and change.change not in self.changes:
            return False
        if self.domain and partition.domain != self.domain:
            return False
        if self.access_scope is not None and partition.access_scope != self.access_scope:
            return False
        return self.entity is None or (self.entity.entity_type, self.entity.entity_id) in change.entities


@dataclass(frozen=True, slots=True)
class LogBounds:
    """What is left of a project's change log.

    Attributes:
        pruned: the changes up to this sequence are no longer kept; 0 while all are.
        last: sequence of the last change; 0 before the first one.
    """

    pruned: int
    last: int

    def require(self, after: int) -> None:
        """Makes sure that every change after a sequence can be told.

        Raises:
            SequenceNotKeptError: some are no longer kept, or the log has never come that far, so that ``after``
                is from another log (one of another project, or from before a backup was restored).
        """
        if after < self.pruned:
            raise SequenceNotKeptError(
                f"the change log is kept from {self.pruned + 1} on; changes after {after} were lost:"
                " read the facts anew and watch from now"
            )
        if after > self.last:
            raise SequenceNotKeptError(
                f"the change log ends at {self.last}, so {after} is from another log:"
                " read the facts anew and watch from now"
            )


@dataclass(frozen=True, slots=True)
class ChangePage:
    """A stretch of the change log.

    Attributes:
        changes: in order.
        through: up to where the log was read.
        complete: whether the log ended there when it was read.
    """

    changes: Sequence[RecordedChange]
    through: int
    complete: bool
