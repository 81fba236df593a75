"""What the use cases answer."""

from __future__ import annotations

from dataclasses import dataclass

from concord_server.domain.enums import EvolutionType, ReconcileAction
from concord_server.domain.model import Conflict, Decision, Evidence, Fact, Source


@dataclass(frozen=True, slots=True)
class ReconcileResult:
    """What became of a statement.

    Attributes:
        fact: the fact that it supports now.
        source: as stored with that fact, if one came along.
        similarity: cosine with the matched fact, in [-1, 1]; 1 for an equal wording.
        matched_fact: the fact that it met, as it is afterwards.
        conflict: the open conflict that it led to or joined.
        warnings: for people; nothing was refused.
    """

    action: ReconcileAction
    fact: Fact
    decision: Decision
    source: Source | None = None
    similarity: float | None = None
    matched_fact: Fact | None = None
    evolution_type: EvolutionType | None = None
    conflict: Conflict | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FactDetails:
    """A fact with everything that it rests on, oldest first."""

    fact: Fact
    sources: tuple[Source, ...]
    evidence: tuple[Evidence, ...]
