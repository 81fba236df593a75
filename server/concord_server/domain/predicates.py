"""What a predicate is called, and which one a claim means.

A claim means the predicate that it states; where its subject does not use that one, one of the names that mean the
same (aliases); else one that the judge confirms to mean the same, of those that the subject uses. What is not
confirmed is a suggestion for the admin, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from concord_server.domain.enums import Cardinality, Trust
from concord_server.domain.judgement import Judgement, Relation
from concord_server.domain.placement import Outcome
from concord_server.domain.predicate_names import explained, numbered_alike
from concord_server.domain.values import Json

PROPOSAL_SIMILARITY = 0.5
"""Cosine of two names from which one is proposed for the other. It is no evidence: bike_count and car_count are
nearer than nationality and citizenship."""

MAX_PROPOSALS = 3
"""How many predicates are proposed for one claim, the nearest first."""

SAME_PROBABILITY = 0.8
"""Probability of ``same`` that every question about a proposal must reach."""


@dataclass(frozen=True, slots=True)
class PredicateSuggestion:
    """Another name that may mean a predicate.

    Attributes:
        similarity: cosine of the two names, in [-1, 1].
        seen_count: how often it was proposed and not confirmed.
    """

    predicate: str
    similarity: float
    seen_count: int
    last_time: datetime


@dataclass(frozen=True, slots=True)
class Predicate:
    """An attribute that claims use.

    Attributes:
        aliases: other names that mean it, by name.
        suggestions: names that may mean it, the nearest first.
        fact_count: facts that use it, erased ones aside.
    """

    predicate: str
    cardinality: Cardinality
    aliases: tuple[str, ...]
    suggestions: tuple[PredicateSuggestion, ...]
    fact_count: int
    create_time: datetime
    update_time: datetime

    @property
    def etag(self) -> str:
        """Opaque token that changes with what an update could overwrite unseen: cardinality, aliases, suggestions."""
        parts = [self.cardinality.value, sorted(self.aliases), sorted(s.predicate for s in self.suggestions)]
        digest = hashlib.sha256(json.dumps([*parts, self.update_time.isoformat()]).encode()).hexdigest()
        return f'"{digest[:16]}"'


@dataclass(frozen=True, slots=True)
class UsedPredicate:
    """A predicate in a slot of a subject.

    Attributes:
        same_qualifiers: whether the slot has the qualifiers of the claim that is asked about.
        value: what the slot's newest fact says.
    """

    predicate: str
    cardinality: Cardinality
    same_qualifiers: bool = True
    value: Json = None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What decides which predicate a claim means.

    Attributes:
        used: predicates that the claim's subject uses, in its partition.
        aliases: alias → the predicate that it means, of the family of the stated name. One step leads there.
        decided: names that are known as a suggestion, or that the admin dropped, beside the stated one. They are
            not put to the judge again: asked often enough, it would say yes once.
    """

    used: tuple[UsedPredicate, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    decided: frozenset[str] = frozenset()

    def uses(self, name: str) -> bool:
        """Whether the subject uses a predicate."""
        return any(used.predicate == name for used in self.used)

    def family(self, name: str) -> tuple[str, ...]:
        """Returns the names that mean the same: the predicate that the others are aliases of, then those by name."""
        head = self.aliases.get(name, name)
        return (head, *sorted(alias for alias, meant in self.aliases.items() if meant == head))

    def with_used(self, more: Iterable[UsedPredicate]) -> Vocabulary:
        """Returns it as it will be once more predicates are used."""
        return Vocabulary((*self.used, *more), self.aliases, self.decided)


class Ground(StrEnum):
    """Why a claim means a predicate."""

    STATED = "STATED"
    """It is the one that the claim states."""
    ALIAS = "ALIAS"
    """The one stated is an alias of it, or it of that one, or both of another."""
    MEANING = "MEANING"
    """The judge confirmed that both mean the same."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The predicate that a claim means."""

    predicate: str
    ground: Ground


@dataclass(frozen=True, slots=True)
class Near:
    """A predicate whose name is near the stated one; ``similarity`` is the cosine of the names."""

    predicate: str
    similarity: float
    value: Json = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """What was found by meaning, before the transaction, for a claim whose subject does not use its predicate.

    Attributes:
        considered: the predicates that it was compared with, near or not.
        confirmed: the one that means the same, if any.
        unconfirmed: those that are near and were not confirmed.
    """

    stated: str
    considered: frozenset[str]
    confirmed: Near | None = None
    unconfirmed: tuple[Near, ...] = ()


def known_meaning(stated: str, vocabulary: Vocabulary) -> Meaning | None:
    """Returns what a claim means by its name alone, ``None`` where that says nothing but the name itself.

    The stated predicate wherever the subject uses it; else the one of its family that the subject uses, the one
    with the aliases first; else that one.
    """
    if vocabulary.uses(stated):
        return Meaning(stated, Ground.STATED)
    family = vocabulary.family(stated)
    used = next((name for name in family if vocabulary.uses(name)), family[0])
    return None if used == stated else Meaning(used, Ground.ALIAS)


def comparable(
    stated: str, cardinality: Cardinality | None, value: Json, vocabulary: Vocabulary
) -> tuple[UsedPredicate, ...]:
    """Returns the predicates of the subject that a claim may be compared with, the stated one's family aside.

    Both must be SINGLE, since what may hold beside others replaces nothing, and the claim must have a plain value:
    half of an object cannot be held equal.

    Args:
        cardinality: what the claim, or the registry, says of the stated predicate; ``None`` where neither does.
    """
    if cardinality is Cardinality.MULTI or not is_plain(value):
        return ()
    family = vocabulary.family(stated)
    found: dict[str, UsedPredicate] = {}
    for used in vocabulary.used:
        if used.same_qualifiers and used.cardinality is Cardinality.SINGLE and used.predicate not in family:
            found[used.predicate] = used
    return tuple(found.values())


def is_plain(value: Json) -> bool:
    """Whether a value is one word, number or truth."""
    return isinstance(value, str | int | float) and value != ""


def nearest(stated: str, near: Iterable[Near]) -> tuple[Near, ...]:
    """Returns the predicates to propose for a name: near enough, the nearest first, not too many."""
    enough = [
        one for one in near if one.similarity >= PROPOSAL_SIMILARITY and numbered_alike(stated, one.predicate)
    ]
    return tuple(sorted(enough, key=lambda one: (-one.similarity, one.predicate))[:MAX_PROPOSALS])


def worth_judging(stated: str, near: Near, vocabulary: Vocabulary) -> bool:
    """Whether the judge is asked about a proposal at all."""
    return near.predicate not in vocabulary.decided and explained(stated, near.predicate)


def questions(subject: str, stated: str, value: Json, near: Near) -> tuple[tuple[str, str], ...]:
    """Returns the pairs of statements that the judge is asked about, each with the value held equal.

    Once with the claim's own value and once with the known fact's, where that is plain too; each both ways round.
    """
    values = [value]
    if is_plain(near.value) and type(near.value) is type(value) and near.value != value:
        values.append(near.value)
    pairs: list[tuple[str, str]] = []
    for held in values:
        one, other = stated_as(subject, stated, held), stated_as(subject, near.predicate, held)
        pairs += [(one, other), (other, one)]
    return tuple(pairs)


def stated_as(subject: str, predicate: str, value: Json) -> str:
    """Returns a claim in words ("Ada favorite color blue")."""
    said = ("yes" if value else "no") if isinstance(value, bool) else str(value).strip()
    return f"{subject.strip()} {predicate.replace('_', ' ')} {said}"


def confirms(judgements: Sequence[Judgement]) -> bool:
    """Whether the judge's answers say that two predicates mean the same: every one does, surely, without a but."""
    return bool(judgements) and all(
        judgement.largest() is Relation.SAME
        and judgement.probability(Relation.SAME) >= SAME_PROBABILITY
        and not judgement.discrepancies
        for judgement in judgements
    )


def meaning(
    stated: str, cardinality: Cardinality | None, value: Json, vocabulary: Vocabulary, proposal: Proposal | None
) -> Meaning | None:
    """Returns what a claim means, ``None`` when its proposal was overtaken and must be made anew.

    Args:
        vocabulary: as it is now.
        proposal: made from an earlier one; ``None`` where none could be made, and then none is missed.
    """
    known = known_meaning(stated, vocabulary)
    if known is not None:
        return known
    if proposal is not None and proposal.stated == stated:
        able = {used.predicate for used in comparable(stated, cardinality, value, vocabulary)}
        if not able <= proposal.considered:
            return None
        confirmed = proposal.confirmed
        if confirmed is not None and confirmed.predicate in able:
            if confirmed.predicate in vocabulary.decided:
                return None
            return Meaning(confirmed.predicate, Ground.MEANING)
    return Meaning(stated, Ground.STATED)


def teaches(ground: Ground, outcome: Outcome, trust: Trust) -> bool:
    """Whether a placed claim teaches that its predicate is an alias: a trusted, confirmed supersession does."""
    return ground is Ground.MEANING and outcome is Outcome.SUPERSEDED and trust is Trust.TRUSTED


def learnable(alias: str, predicate: str, aliases: Mapping[str, str]) -> bool:
    """Whether an alias can be learned for a predicate without joining names that were never compared.

    A name that is an alias, or has aliases, stands for others too; joining those is left to the admin.

    Args:
        aliases: alias → predicate, of the families of both names.
    """
    return alias not in aliases and predicate not in aliases and alias not in aliases.values()
