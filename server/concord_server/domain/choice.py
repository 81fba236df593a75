"""Which of the similar facts a statement meets, and how: the rule that keeps contradictions from merging."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from concord_server.domain.enums import EvolutionType
from concord_server.domain.judgement import Discrepancy, Judgement, Relation
from concord_server.domain.model import Thresholds

ABOUT_SOMEONE_ELSE = frozenset({Discrepancy.ENTITY, Discrepancy.ROLE})
"""Discrepancies that say that a statement is about another subject: it replaces nothing."""

_CONTRADICTIONS = (Relation.CONTRADICTION, Relation.CORRECTION)


class ChoiceKind(StrEnum):
    """What a statement does to the hit it was matched with."""

    MERGE = "merge"
    CONTRADICT = "contradict"
    BRANCH = "branch"
    CREATE = "create"


@dataclass(frozen=True, slots=True)
class Hit:
    """A similar fact and what the judge said about it; ``similarity`` is the cosine of the embeddings."""

    similarity: float
    judgement: Judgement

    @property
    def relation(self) -> Relation | None:
        """The judged relation: a contradiction about someone else counts as distinct."""
        largest = self.judgement.largest()
        if largest in _CONTRADICTIONS and self.about_someone_else:
            return Relation.DISTINCT
        return largest

    @property
    def about_someone_else(self) -> bool:
        """Whether a discrepancy says that the statement is about another subject."""
        return not ABOUT_SOMEONE_ELSE.isdisjoint(self.judgement.discrepancies)


@dataclass(frozen=True, slots=True)
class Choice:
    """The outcome of :func:`choose`.

    Attributes:
        kind: what to do.
        index: position of the chosen hit, ``None`` for CREATE.
        evolution_type: of the child, for CONTRADICT and BRANCH.
        by_similarity: whether a merge rests on the similarity threshold rather than on the probability alone.
    """

    kind: ChoiceKind
    index: int | None = None
    evolution_type: EvolutionType | None = None
    by_similarity: bool = False


def choose(hits: Sequence[Hit], thresholds: Thresholds) -> Choice:
    """Chooses over all hits; the first rule that applies wins.

    1. MERGE into the hit with the best ``same``, if it has no discrepancy, ``same`` is its largest, and the
       similarity or the probability reaches its threshold.
    2. CONTRADICT the hit with the best ``contradiction`` or ``correction``, if that is its largest and certain
       enough, and the statement is not about someone else.
    3. BRANCH from the hit that refines or extends, or that was too weak for the above: never destructive.
    4. CREATE.

    Inconsistent probabilities (missing, NaN, out of range) never merge and never supersede: such a hit is
    taken as an extension.
    """
    merge = _best(hits, Relation.SAME, lambda hit: _merges(hit, thresholds))
    if merge is not None:
        hit = hits[merge]
        return Choice(ChoiceKind.MERGE, merge, by_similarity=hit.similarity >= thresholds.similarity)
    for_contradiction = [
        (max(hit.judgement.probability(r) for r in _CONTRADICTIONS), -position)
        for position, hit in enumerate(hits)
        if _contradicts(hit, thresholds)
    ]
    if for_contradiction:
        index = -max(for_contradiction)[1]
        relation = hits[index].judgement.largest()
        kind = EvolutionType.CORRECTION if relation is Relation.CORRECTION else EvolutionType.CONTRADICTION
        return Choice(ChoiceKind.CONTRADICT, index, kind)
    return _branch_or_create(hits)


def _merges(hit: Hit, thresholds: Thresholds) -> bool:
    return (
        hit.relation is Relation.SAME
        and not hit.judgement.discrepancies
        and (
            hit.similarity >= thresholds.similarity
            or hit.judgement.probability(Relation.SAME) >= thresholds.merge_probability
        )
    )


def _contradicts(hit: Hit, thresholds: Thresholds) -> bool:
    relation = hit.relation
    return relation in _CONTRADICTIONS and hit.judgement.probability(relation) >= thresholds.supersede_probability


def _best(hits: Sequence[Hit], relation: Relation, applies: Callable[[Hit], bool]) -> int | None:
    ranked = [(hit.judgement.probability(relation), -i) for i, hit in enumerate(hits) if applies(hit)]
    return -max(ranked)[1] if ranked else None


def _branch_or_create(hits: Sequence[Hit]) -> Choice:
    related = [
        (_branch_weight(hit), hit.similarity, -position)
        for position, hit in enumerate(hits)
        if hit.relation is not Relation.DISTINCT
    ]
    if not related:
        return Choice(ChoiceKind.CREATE)
    index = -max(related)[2]
    refines = hits[index].relation is Relation.REFINEMENT
    return Choice(ChoiceKind.BRANCH, index, EvolutionType.REFINEMENT if refines else EvolutionType.EXTENSION)


def _branch_weight(hit: Hit) -> float:
    """Hits that refine or extend come before those that were merely too weak to merge or contradict."""
    relation = hit.relation
    if relation in (Relation.REFINEMENT, Relation.EXTENSION):
        return 1.0 + hit.judgement.probability(relation)
    return 0.0 if relation is None else hit.judgement.probability(relation)
