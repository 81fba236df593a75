"""What a judge says about a statement and a known fact.

A judge answers, for one pair, how the statement relates to the known fact, as probabilities over
:class:`Relation`, and names the :class:`Discrepancy` kinds it found: differences that change the meaning
while the sentence vectors stay close.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

PROBABILITY_TOLERANCE = 1e-3
"""How far the probabilities of one judgement may be from a sum of 1 and still count as consistent."""


class Relation(StrEnum):
    """How a statement relates to a known fact."""

    SAME = "same"
    """The known fact entails the statement: the statement corroborates it."""
    REFINEMENT = "refinement"
    """The statement entails the known fact and is more precise."""
    CONTRADICTION = "contradiction"
    """Both cannot hold at once."""
    CORRECTION = "correction"
    """A contradiction that declares the known fact an error."""
    EXTENSION = "extension"
    """Same matter, compatible, adds information."""
    DISTINCT = "distinct"
    """About something else."""


class Discrepancy(StrEnum):
    """A named difference that changes the meaning of a pair of statements."""

    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    UNIT = "unit"
    CURRENCY = "currency"
    VERSION = "version"
    NEGATION = "negation"
    ANTONYM = "antonym"
    ENTITY = "entity"
    ROLE = "role"
    MODAL = "modal"
    COMPARISON = "comparison"
    QUANTIFIER = "quantifier"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Finding:
    """One discrepancy, with what differs, for the rationale.

    ``statement`` and ``known`` are the spans that differ, as written (either may be empty).
    """

    kind: Discrepancy
    statement: str = ""
    known: str = ""

    def describe(self) -> str:
        """Returns a few words such as ``number: '60 seconds' against '30 seconds'``."""
        return f"{self.kind.value}: {self.statement!r} against {self.known!r}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer of a judge for one (statement, known fact) pair.

    Attributes:
        probabilities: one value in [0, 1] per relation, summing to 1. Missing relations count as 0.
        discrepancies: kinds found, in the order of :class:`Discrepancy`, without repeats.
        rationale: one line for people.
        judge: name and version of the judge.
    """

    probabilities: Mapping[Relation, float]
    discrepancies: tuple[Discrepancy, ...] = ()
    rationale: str = ""
    judge: str = ""
    _consistent: bool = field(init=False, repr=False, compare=False, default=False)

    def __post_init__(self) -> None:
        frozen = MappingProxyType(dict(self.probabilities))
        object.__setattr__(self, "probabilities", frozen)
        values = list(frozen.values())
        sane = bool(values) and all(math.isfinite(v) and 0.0 <= v <= 1.0 for v in values)
        object.__setattr__(self, "_consistent", sane and abs(sum(values) - 1.0) <= PROBABILITY_TOLERANCE)

    @property
    def consistent(self) -> bool:
        """Whether the probabilities are finite, in range and sum to 1: otherwise nothing may merge on them."""
        return self._consistent

    def probability(self, relation: Relation) -> float:
        """Returns the probability of ``relation``, 0 when it is not named."""
        return self.probabilities.get(relation, 0.0)

    def largest(self) -> Relation | None:
        """Returns the most probable relation, the more cautious one on a tie; ``None`` when inconsistent."""
        if not self.consistent:
            return None
        return max(_CAUTIOUS_FIRST, key=self.probability)


_CAUTIOUS_FIRST = (
    Relation.EXTENSION,
    Relation.DISTINCT,
    Relation.REFINEMENT,
    Relation.SAME,
    Relation.CONTRADICTION,
    Relation.CORRECTION,
)
"""Order in which ties are broken: what destroys or merges nothing comes first."""
