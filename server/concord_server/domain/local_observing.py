"""Observations without a model: facts that the judge relates, worded as the best supported of them.

Plain, and honest about it: nothing is said that a fact does not say already. What an observation adds is that several
facts from distinct sources agree, how many, and over what period.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from concord_server.domain.judgement import Discrepancy, Judgement, Relation
from concord_server.domain.model import Fact
from concord_server.domain.observations import Observation
from concord_server.domain.observing import Answer, Create, Pool, Retire, Update

MIN_SIMILARITY = 0.60
"""Cosine from which two facts are compared at all."""

MIN_PROBABILITY = 0.50
"""Least probability of the relations that count, together."""

MIN_ORIGINS = 2
"""Distinct sources that the facts of an observation must rest on."""

_COUNTED = (Relation.SAME, Relation.REFINEMENT, Relation.EXTENSION)


def relates(judgement: Judgement) -> bool:
    """Tells whether a judgement says that two facts belong together; an invalid one never does."""
    largest = judgement.largest()
    if largest not in _COUNTED or Discrepancy.ENTITY in judgement.discrepancies:
        return False
    return sum(judgement.probability(relation) for relation in _COUNTED) >= MIN_PROBABILITY


@dataclass(frozen=True, slots=True)
class Related:
    """What the judge related.

    Attributes:
        pairs: of facts, each pair in both orders.
        worded: facts by observation whose wording they relate to.
        origins: digests of the sources of each fact.
    """

    pairs: frozenset[tuple[UUID, UUID]]
    worded: frozenset[tuple[UUID, UUID]]
    origins: Mapping[UUID, frozenset[bytes]]

    def are(self, one: UUID, other: UUID) -> bool:
        """Tells whether two facts are related; a fact is to itself."""
        return one == other or (one, other) in self.pairs

    def origins_of(self, fact_ids: Iterable[UUID]) -> frozenset[bytes]:
        """Returns the distinct sources that facts rest on together."""
        return frozenset().union(*(self.origins.get(fact_id, frozenset()) for fact_id in fact_ids))


def local_answer(pool: Pool, related: Related) -> Answer:
    """Returns what embedder and judge alone say about a batch.

    A fact joins the observation whose wording it relates to. Others form a new one where a fact and all that relate
    to it rest on at least two sources. An observation whose facts changed is worded anew, or retired when what is
    left of it does not rest on two sources.
    """
    updates, retires, taken = _existing(pool, related)
    free = [f for f in (*pool.batch, *pool.earlier) if f.fact_id not in taken]
    in_batch = {fact.fact_id for fact in pool.batch}
    creates = []
    while True:
        star = _best_star(free, related, in_batch)
        if not star:
            break
        ids = tuple(fact.fact_id for fact in sorted(star, key=lambda fact: (fact.valid_from, fact.fact_id)))
        creates.append(Create(_wording(star, related).text, ids, f"{len(star)} facts of distinct sources agree"))
        free = [fact for fact in free if fact.fact_id not in ids]
    return Answer(creates=tuple(creates), updates=tuple(updates), retires=tuple(retires))


def _existing(pool: Pool, related: Related) -> tuple[list[Update], list[Retire], set[UUID]]:
    """Returns what becomes of the known observations, and the facts that need no other."""
    updates, retires = [], []
    facts = pool.facts
    taken = {each.fact_id for observation in pool.observations for each in observation.support}
    joining: dict[UUID, list[Fact]] = {}
    for fact in pool.batch:
        if fact.fact_id in taken:
            continue
        home = next((o for o in pool.observations if (fact.fact_id, o.observation_id) in related.worded), None)
        if home is not None:
            joining.setdefault(home.observation_id, []).append(fact)
    for observation in pool.observations:
        own = [facts[each.fact_id] for each in observation.support if each.fact_id in facts]
        new = joining.get(observation.observation_id, [])
        ids = tuple(fact.fact_id for fact in new)
        if any(fact.text == observation.text for fact in own) or not _is_own(pool, observation):
            if new:
                reason = f"{len(new)} more facts agree" if len(new) > 1 else "one more fact agrees"
                updates.append(Update(observation.observation_id, observation.text, ids, reason))
            taken |= set(ids)
            continue
        if not own or len(related.origins_of(fact.fact_id for fact in own)) < MIN_ORIGINS:
            retires.append(Retire(observation.observation_id, "what is left of it does not rest on two sources"))
            taken -= {fact.fact_id for fact in own}
            continue
        reworded = _wording(own, related)
        own_ids = tuple(fact.fact_id for fact in own)
        updates.append(
            Update(
                observation.observation_id, reworded.text, own_ids, "the fact that worded it no longer supports it"
            )
        )
    return updates, retires, taken


def _is_own(pool: Pool, observation: Observation) -> bool:
    """Tells whether an observation rests on facts of the batch: then it is being judged again."""
    batch = {fact.fact_id for fact in pool.batch}
    return any(each.fact_id in batch for each in observation.support)


def _best_star(free: Sequence[Fact], related: Related, in_batch: set[UUID]) -> list[Fact]:
    """Returns the largest set of a fact and all that relate to it which is worth an observation, or nothing."""
    best: list[Fact] = []
    for hub in free:
        star = [fact for fact in free if related.are(hub.fact_id, fact.fact_id)]
        ids = {fact.fact_id for fact in star}
        if len(star) < 2 or not ids & in_batch or len(related.origins_of(ids)) < MIN_ORIGINS:
            continue
        if len(star) > len(best):
            best = star
    return best


def _wording(facts: Sequence[Fact], related: Related) -> Fact:
    """Returns the best supported fact of those that most others relate to; the newest of equals."""

    def rank(fact: Fact) -> tuple[object, ...]:
        relations = sum(related.are(fact.fact_id, other.fact_id) for other in facts)
        return (relations, fact.source_count, fact.confidence, fact.valid_from, fact.fact_id)

    return max(facts, key=rank)
