"""The port behind which predicates, their aliases and their suggestions are kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from concord_server.domain.enums import Cardinality
from concord_server.domain.model import Partition
from concord_server.domain.predicates import Near, Predicate, Vocabulary
from concord_server.domain.queries import Cursor, Page
from concord_server.domain.values import Json


@dataclass(frozen=True, slots=True)
class PredicateSlot:
    """A slot as it is named.

    Attributes:
        slot_key: of :func:`~concord_server.domain.values.slot_key`.
    """

    slot_id: UUID
    partition_id: UUID
    slot_key: str
    subject: str
    predicate: str
    qualifiers: Mapping[str, Json]


class PredicateRepository(Protocol):
    """Predicates of one project."""

    async def vocabulary(
        self,
        partition_id: UUID,
        subject: str,
        stated: str,
        qualifiers: Mapping[str, Json],
        *,
        comparable: bool = True,
    ) -> Vocabulary:
        """Returns what decides which predicate a claim means.

        Args:
            partition_id: where the claim is.
            subject: the claim's subject as given.
            stated: its normalised predicate.
            qualifiers: those of the claim.
            comparable: whether predicates by other names are of interest too; occurrences replace nothing.
        """

    async def uses(self, partition_id: UUID, subject: str, predicate: str) -> bool:
        """Tells whether a subject uses a predicate, in a slot of the partition."""

    async def family(self, name: str) -> tuple[str, ...]:
        """Returns the names that mean the same as ``name``, itself among them."""

    async def aliases_of(self, names: Collection[str]) -> Mapping[str, str]:
        """Returns alias → predicate, of everything that is in one family with one of the names."""

    async def get(self, predicate: str) -> Predicate | None:
        """Returns a predicate, ``None`` before its first use."""

    async def list(self, *, only_suggested: bool, after: Cursor | None, size: int) -> Page[Predicate]:
        """Returns a page of the predicates by name."""

    async def add_alias(self, alias: str, predicate: str, now: datetime, *, learned: bool) -> None:
        """Makes a name mean a predicate; a suggestion of the two is settled by that.

        A name that means another predicate goes over to this one, unless it is only ``learned``.
        """

    async def remove_alias(self, alias: str) -> None:
        """Lets a name mean itself again."""

    async def suggest(self, stated: str, near: Sequence[Near], now: datetime) -> None:
        """Counts proposals that were not confirmed, under what was proposed; what was dropped stays dropped."""

    async def drop(self, one: str, other: str, now: datetime) -> None:
        """Notes that two names do not mean the same: neither is proposed for the other again."""

    async def set_cardinality(self, names: Collection[str], cardinality: Cardinality, now: datetime) -> None:
        """Stores how many values of these predicates hold at once."""

    async def touch(self, predicate: str, now: datetime) -> None:
        """Stores that a predicate was changed."""

    async def hold(self, names: Collection[str]) -> None:
        """Keeps everyone else from using these predicates until the session ends.

        Waits for those who use them now. Lock the partitions of :meth:`partitions_of` before.
        """

    async def partitions_of(self, names: Collection[str]) -> Sequence[Partition]:
        """Returns the partitions with a slot of one of these predicates; those of occurrences left out."""

    async def slots_of(self, names: Collection[str]) -> Sequence[PredicateSlot]:
        """Returns the slots of these predicates, oldest first; those of occurrences left out."""
