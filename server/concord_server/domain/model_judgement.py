"""From what a language model answers about two statements to a judgement, of which nothing is trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping

from concord_server.domain.judgement import Discrepancy, Judgement, Relation
from concord_server.domain.model import Thresholds
from concord_server.domain.values import Json

ROUNDING = 0.05
"""How far stated probabilities may be from a sum of 1: models round. They are scaled to 1 then."""

MAX_REASON = 300

SURE = Thresholds().merge_probability
"""The probability of a relation from which on a judge is sure of it: what a merge or a supersession needs."""

_COARSE = {"merge": Relation.SAME, "branch": Relation.EXTENSION}
"""What a judge means that knows only these two."""

_RELATIONS = {relation.value: relation for relation in Relation} | _COARSE
_UNUSABLE = "the model's probabilities are missing or inconsistent: nothing is merged or replaced"


def unsure(judgement: Judgement) -> bool:
    """Tells whether a judge is unsure: its likeliest relation is not likely enough to act on."""
    largest = judgement.largest()
    return largest is None or judgement.probability(largest) < SURE


def read_judgement(
    value: Mapping[str, Json],
    told: Mapping[str, float] | None,
    discrepancies: tuple[Discrepancy, ...] = (),
    judge: str = "",
) -> Judgement | None:
    """Returns the judgement that an answer holds; ``None`` when it names no relation.

    Its probabilities are those of the tokens where they are told, else the stated ones. Where they are missing, not
    of known relations, out of range, far from a sum of 1, or largest for another relation than the one that is named,
    the judgement has none, and so neither merges nor replaces anything.

    Args:
        value: the answer's JSON.
        told: probabilities of the relations by the model's tokens.
        discrepancies: between the two statements, found by rules; they veto merges whatever the model says.
        judge: name and version.
    """
    relation = _relation(value.get("relation"))
    if relation is None:
        return None
    probabilities = _of_tokens(told) if told is not None else _stated(value.get("probabilities"))
    if not _agree(probabilities, relation):
        return Judgement({}, discrepancies, _UNUSABLE, judge)
    reason = value.get("reason")
    said = " ".join(reason.split())[:MAX_REASON] if isinstance(reason, str) else ""
    return Judgement(probabilities, discrepancies, said, judge)


def _relation(given: Json) -> Relation | None:
    return _RELATIONS.get(given.strip().lower()) if isinstance(given, str) else None


def _of_tokens(told: Mapping[str, float]) -> dict[Relation, float]:
    return {_RELATIONS[name]: probability for name, probability in told.items() if name in _RELATIONS}


def _stated(given: Json) -> dict[Relation, float]:
    """Returns probabilities that sum to 1, empty where they cannot be used."""
    if not isinstance(given, dict):
        return {}
    found: dict[Relation, float] = {}
    for name, number in given.items():
        relation, probability = _relation(name), _probability(number)
        if relation is None or probability is None:
            return {}
        found[relation] = found.get(relation, 0.0) + probability
    total = math.fsum(found.values())
    if abs(total - 1.0) > ROUNDING:
        return {}
    return {relation: probability / total for relation, probability in found.items()}


def _probability(given: Json) -> float | None:
    """Returns a number in [0, 1], also one that is written as a text."""
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        number = float(given)
    except ValueError:
        return None
    return number if math.isfinite(number) and 0.0 <= number <= 1.0 else None


def _agree(probabilities: Mapping[Relation, float], relation: Relation) -> bool:
    return bool(probabilities) and probabilities.get(relation, 0.0) >= max(probabilities.values())
