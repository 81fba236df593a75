"""Observations without a model: facts that bear out the wording of one of them, by embedder and judge.

Plain, and honest about it: nothing is said that a fact does not say already. What an observation adds is that several
facts from distinct sources agree, how many, and over what period. That two facts are about the same matter is not
enough: each must bear out the wording itself, or a chain of neighbours ends up far from where it began.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from concord_server.domain.judgement import Judgement, Relation
from concord_server.domain.model import Fact
from concord_server.domain.observations import Observation
from concord_server.domain.observing import Answer, Create, Pool, Retire, Update
from concord_server.domain.wordings import is_lasting

MIN_SIMILARITY = 0.80
"""Cosine from which two facts are compared at all; below, the judge takes what is kindred for what is borne out."""

MIN_SUPPORT = 0.45
"""Least probability that a fact bears out a wording: the mean of both orders in which the judge sees them."""

MAX_OPPOSITION = 0.20
"""Most probability, in either order, that the two cannot hold at once."""

MIN_ORIGINS = 2
"""Distinct sources that the facts of an observation must rest on."""

_OPPOSED = (Relation.CONTRADICTION, Relation.CORRECTION)


def supports(wording_stated: Judgement, fact_stated: Judgement) -> bool:
    """Tells whether a fact bears out a wording; where a judgement is invalid it does not.

    Args:
        wording_stated: of the wording as the statement, beside the fact as what is known.
        fact_stated: of the fact as the statement, beside the wording as what is known.
    """
    both = (wording_stated, fact_stated)
    if any(judgement.largest() is None or judgement.discrepancies for judgement in both):
        return False
    if any(sum(map(judgement.probability, _OPPOSED)) > MAX_OPPOSITION for judgement in both):
        return False
    entailed = wording_stated.probability(Relation.SAME)
    refined = fact_stated.probability(Relation.SAME) + fact_stated.probability(Relation.REFINEMENT)
    return (entailed + refined) / 2 >= MIN_SUPPORT


@dataclass(frozen=True, slots=True)
class Related:
    """What the judge found.

    Attributes:
        pairs: of a fact, and another one whose wording it bears out.
        worded: of a fact, and an observation whose wording it bears out.
        origins: digests of the sources of each fact.
    """

    pairs: frozenset[tuple[UUID, UUID]]
    worded: frozenset[tuple[UUID, UUID]]
    origins: Mapping[UUID, frozenset[bytes]]

    def support(self, facts: Iterable[Fact], wording: Fact) -> list[Fact]:
        """Returns those of the facts that bear out the wording of one; it does so itself."""
        hub = wording.fact_id
        return [fact for fact in facts if fact.fact_id == hub or (fact.fact_id, hub) in self.pairs]

    def origins_of(self, fact_ids: Iterable[UUID]) -> frozenset[bytes]:
        """Returns the distinct sources that facts rest on together."""
        return frozenset().union(*(self.origins.get(fact_id, frozenset()) for fact_id in fact_ids))


def local_answer(pool: Pool, related: Related) -> Answer:
    """Returns what embedder and judge alone say about a batch.

    A fact joins the observation whose wording it bears out. Others form a new one where a fact and all that bear it
    out rest on at least two sources. An observation that lost its wording is worded anew where one of its facts is
    borne out by all others; else it is retired, and its facts may form others.
    """
    updates, retires, taken = _existing(pool, related)
    free = [f for f in (*pool.batch, *pool.earlier) if f.fact_id not in taken]
    in_batch = {fact.fact_id for fact in pool.batch}
    creates = []
    while True:
        best = _best_star(free, related, in_batch)
        if best is None:
            break
        hub, star = best
        ids = tuple(fact.fact_id for fact in sorted(star, key=lambda fact: (fact.valid_from, fact.fact_id)))
        creates.append(Create(hub.text, ids, f"{len(star)} facts of distinct sources agree"))
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
        best = _best_star(own, related, {fact.fact_id for fact in own})
        if best is None or len(best[1]) < observation.proof_count:
            retires.append(Retire(observation.observation_id, "what is left of it bears out no wording together"))
            taken -= {fact.fact_id for fact in own}
            continue
        own_ids = tuple(fact.fact_id for fact in own)
        reason = "the fact that worded it no longer supports it"
        updates.append(Update(observation.observation_id, best[0].text, own_ids, reason))
    return updates, retires, taken


def _is_own(pool: Pool, observation: Observation) -> bool:
    """Tells whether an observation rests on facts of the batch: then it is being judged again."""
    batch = {fact.fact_id for fact in pool.batch}
    return any(each.fact_id in batch for each in observation.support)


def _best_star(free: Sequence[Fact], related: Related, in_batch: set[UUID]) -> tuple[Fact, list[Fact]] | None:
    """Returns the fact that most others bear out, with all that do, if that is worth an observation.

    Of equals it is the one with the most sources, then the most confident, then the newest.
    """
    found = []
    for hub in free:
        star = related.support(free, hub) if is_lasting(hub.text) else []
        ids = {fact.fact_id for fact in star}
        if len(star) < 2 or not ids & in_batch or len(related.origins_of(ids)) < MIN_ORIGINS:
            continue
        found.append((hub, star))
    return max(found, key=lambda each: _rank(*each), default=None)


def _rank(hub: Fact, star: Sequence[Fact]) -> tuple[object, ...]:
    return (len(star), hub.source_count, hub.confidence, hub.valid_from, hub.fact_id)
