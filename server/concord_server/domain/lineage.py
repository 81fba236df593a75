"""The family graph of facts, as it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from concord_server.domain.enums import EvolutionType, FactStatus
from concord_server.domain.model import Fact

STEPPABLE = frozenset({FactStatus.ACTIVE, FactStatus.DISPUTED, FactStatus.SUPERSEDED})
"""Statuses of the children that the way to the latest fact may lead to."""


@dataclass(frozen=True, slots=True)
class EvolutionEdge:
    """One fact descends from another."""

    parent_id: UUID
    child_id: UUID
    evolution_type: EvolutionType


@dataclass(frozen=True, slots=True)
class FamilyPage:
    """A page of a family, breadth-first.

    Attributes:
        facts: erased ones included, without their words: they hold the family together.
        edges: those that lead to the facts of the page from members of the family; of several to one fact, the
            first-listed parent's first.
        last: the fact after which the next page starts, ``None`` at the end.
        total: number of facts in the family, 0 for an unknown fact.
    """

    facts: Sequence[Fact]
    edges: Sequence[EvolutionEdge]
    last: UUID | None
    total: int
