"""Whether the ledger supports a statement: by its slot, or by what a judge says of similar facts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from concord_server.domain.choice import Hit
from concord_server.domain.enums import Cardinality, ClaimSupport, FactStatus, Freshness
from concord_server.domain.freshness import DEFAULT_HORIZONS, Horizons, freshness
from concord_server.domain.judgement import Relation
from concord_server.domain.model import Claim, Fact, Thresholds
from concord_server.domain.values import Json, value_key


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """What the ledger says about a statement.

    Attributes:
        supporting: facts that say so; contradicting: facts that say otherwise.
        rationale: one line for people.
    """

    support: ClaimSupport
    supporting: tuple[Fact, ...] = ()
    contradicting: tuple[Fact, ...] = ()
    rationale: str = ""


@dataclass(frozen=True, slots=True)
class JudgedFact:
    """A similar fact, and what the judge said about the statement and it."""

    fact: Fact
    hit: Hit


class _Match(Enum):
    EQUAL = auto()
    OTHER = auto()
    UNSURE = auto()


def check_slot(
    claim: Claim, facts: Iterable[Fact], now: datetime, horizons: Horizons = DEFAULT_HORIZONS
) -> ClaimCheck | None:
    """Returns what the facts on a claim's slots say, ``None`` when none of them holds now.

    Facts of several partitions may hold at once, and say different things.

    Args:
        claim: with the cardinality that is stored for its predicate: with MULTI, other values say nothing.
        facts: on slots of the claim's key, whatever their status.
        now: when it is asked.
        horizons: how long facts stay fresh.
    """
    relevant = [fact for fact in facts if _holds(fact, now, horizons) or _waits(fact)]
    by_match: dict[_Match, list[Fact]] = {match: [] for match in _Match}
    for fact in relevant:
        by_match[_matches(fact, claim)].append(fact)
    if claim.cardinality is Cardinality.MULTI:
        by_match[_Match.OTHER].clear()
    equal, other, unsure = (tuple(by_match[match]) for match in _Match)
    if not (equal or other or unsure):
        return None
    if any(_in_question(fact) for fact in (*equal, *other)):
        return ClaimCheck(ClaimSupport.NEEDS_REVIEW, equal, other, "what is known about this is in dispute")
    if equal and other:
        return ClaimCheck(ClaimSupport.NEEDS_REVIEW, equal, other, "facts of different partitions disagree")
    if equal:
        return ClaimCheck(ClaimSupport.SUPPORTED, equal, (), "a fact with the same claim holds")
    if other:
        return ClaimCheck(ClaimSupport.CONTRADICTED, (), other, "another value holds")
    return ClaimCheck(ClaimSupport.NEEDS_REVIEW, (), (), "what holds says only a part of it")


def check_judged(judged: Sequence[JudgedFact], thresholds: Thresholds) -> ClaimCheck:
    """Returns what a judge's answers mean. Similarity alone supports nothing: the judge must say ``same``.

    Args:
        judged: current facts near the statement; members of open conflicts among them.
        thresholds: what counts as certain.
    """
    same = [j for j in judged if _entails(j.hit, thresholds)]
    against = [j for j in judged if _contradicts(j.hit, thresholds)]
    supporting, contradicting = tuple(j.fact for j in same), tuple(j.fact for j in against)
    if same and against:
        return ClaimCheck(ClaimSupport.NEEDS_REVIEW, supporting, contradicting, "known facts disagree about this")
    for found, support in ((same, ClaimSupport.SUPPORTED), (against, ClaimSupport.CONTRADICTED)):
        if not found:
            continue
        if all(_in_question(j.fact) for j in found):
            rationale = "what is known about this is in dispute"
            return ClaimCheck(ClaimSupport.NEEDS_REVIEW, supporting, contradicting, rationale)
        return ClaimCheck(support, supporting, contradicting, found[0].hit.judgement.rationale)
    unsure = next((j for j in judged if _is_unsure(j.hit)), None)
    if unsure is not None:
        rationale = f"a known fact comes near: {unsure.hit.judgement.rationale or unsure.fact.text}"
        return ClaimCheck(ClaimSupport.NEEDS_REVIEW, rationale=rationale)
    return ClaimCheck(ClaimSupport.UNSUPPORTED, rationale="no known fact says so")


def rendered(claim: Claim) -> str:
    """Returns a claim in words, as plain as its parts are."""
    value = claim.value if isinstance(claim.value, str) else json.dumps(claim.value, ensure_ascii=False)
    qualifiers = [f"{name} {_word(item)}" for name, item in sorted(claim.qualifiers.items())]
    return " ".join([claim.subject, claim.predicate.replace("_", " "), value, *qualifiers])


def _word(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _holds(fact: Fact, now: datetime, horizons: Horizons) -> bool:
    standing = fact.status is FactStatus.ACTIVE or (fact.status is FactStatus.DISPUTED and not fact.off_timeline)
    stale = freshness(fact.volatility, fact.last_reinforce_time, now, horizons) is Freshness.STALE
    return standing and fact.holds_at(now) and not stale


def _waits(fact: Fact) -> bool:
    return fact.status is FactStatus.PENDING and fact.conflict_id is not None


def _in_question(fact: Fact) -> bool:
    return fact.conflict_id is not None or fact.status is FactStatus.DISPUTED


def _matches(fact: Fact, claim: Claim) -> _Match:
    known = fact.claim.value if fact.claim else None
    if value_key(known) == value_key(claim.value):
        return _Match.EQUAL
    if not (isinstance(known, dict) and isinstance(claim.value, dict)):
        return _Match.OTHER
    shared = known.keys() & claim.value.keys()
    if any(value_key(known[key]) != value_key(claim.value[key]) for key in shared):
        return _Match.OTHER
    return _Match.EQUAL if shared == claim.value.keys() else _Match.UNSURE


def _entails(hit: Hit, thresholds: Thresholds) -> bool:
    certain = hit.judgement.probability(Relation.SAME) >= thresholds.merge_probability
    near = hit.similarity >= thresholds.similarity
    return hit.relation is Relation.SAME and not hit.judgement.discrepancies and (certain or near)


def _contradicts(hit: Hit, thresholds: Thresholds) -> bool:
    relation = hit.relation
    if relation not in (Relation.CONTRADICTION, Relation.CORRECTION):
        return False
    return hit.judgement.probability(relation) >= thresholds.supersede_probability


def _is_unsure(hit: Hit) -> bool:
    return hit.relation not in (Relation.DISTINCT, Relation.EXTENSION)
