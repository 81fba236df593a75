"""From evidence and fitted probabilities to the judgement: where findings overrule, and what is said about it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from concord_server.domain.judgement import Judgement, Relation
from concord_server.providers.judges.evidence import POLARITY, QUANTITIES, SOMEONE_ELSE, VALUES, Evidence

VETOED = 0.05
"""Probability of ``same`` that a pair with a discrepancy keeps at most."""

UNBACKED = 0.7
"""Probability of a contradiction that only the model sees, at most: not enough to replace a fact."""

BESIDE = 0.3
"""Probability of a contradiction between values that may hold side by side, at most: there it is the exception."""

_CORRECTS = re.compile(
    r"\b(?:actually|correction|corrected|in fact|contrary to|"
    r"(?:was|were|is|are) (?:wrong|mistaken|incorrect|an error)|"
    r"mistakenly|erroneously|turns out|misstated|misreported|not as (?:previously|earlier))\b",
    re.IGNORECASE,
)
_UNREADABLE = {
    Relation.SAME: 0.1,
    Relation.REFINEMENT: 0.05,
    Relation.CONTRADICTION: 0.1,
    Relation.EXTENSION: 0.5,
    Relation.DISTINCT: 0.25,
}
"""What is said about texts that the judge cannot read: nothing that merges or replaces."""


def decide(evidence: Evidence, fitted: Mapping[Relation, float], statement: str, judge: str) -> Judgement:
    """Returns the judgement of one pair; ``fitted`` are the calibrated probabilities before any veto."""
    kinds = tuple(dict.fromkeys(finding.kind for finding in evidence.findings))
    if evidence.same_text:
        certain = {relation: 0.998 if relation is Relation.SAME else 0.0004 for relation in Relation}
        return Judgement(certain, (), "the same text", judge)
    if not evidence.readable:
        return Judgement(
            _UNREADABLE, kinds, "not in a language that this judge reads: nothing is concluded", judge
        )
    p = {relation: fitted.get(relation, 0.0) for relation in Relation}
    if evidence.findings:
        _move(p, Relation.SAME, _instead(evidence), keep=VETOED)
    if evidence.has(SOMEONE_ELSE):
        _move(p, Relation.CONTRADICTION, Relation.DISTINCT, keep=0.0)
    if _CORRECTS.search(statement):
        _move(p, Relation.CONTRADICTION, Relation.CORRECTION, keep=0.0)
    elif evidence.beside:
        _move(p, Relation.CONTRADICTION, Relation.EXTENSION, keep=BESIDE)
    elif not evidence.backs_contradiction:
        _move(p, Relation.CONTRADICTION, Relation.EXTENSION, keep=UNBACKED)
    return Judgement(p, kinds, _rationale(p, evidence), judge)


def _instead(evidence: Evidence) -> Relation:
    """Where the probability of a vetoed ``same`` goes.

    The model saw the same statement where a rule saw another value in it: that is a contradiction if the rule is as
    good as certain. Elsewhere it goes to what destroys nothing.
    """
    if evidence.has(SOMEONE_ELSE):
        return Relation.DISTINCT
    if evidence.has(QUANTITIES) or (evidence.only and evidence.has(POLARITY | VALUES)):
        return Relation.CONTRADICTION
    return Relation.EXTENSION


def _move(p: dict[Relation, float], source: Relation, target: Relation, *, keep: float) -> None:
    total = p[source] + p[target]
    p[source] = min(p[source], keep)
    p[target] = total - p[source]


_SAYS = {
    Relation.SAME: "the known fact says as much",
    Relation.REFINEMENT: "says the same and more",
    Relation.CONTRADICTION: "both cannot hold",
    Relation.CORRECTION: "declares the known fact wrong",
    Relation.EXTENSION: "compatible, about the same matter",
    Relation.DISTINCT: "about something else",
}


def _rationale(p: Mapping[Relation, float], evidence: Evidence) -> str:
    best = max(p, key=lambda relation: p[relation])
    parts = [f"{best.value} {p[best]:.2f}: {_SAYS[best]}"]
    if evidence.findings:
        parts.append("; ".join(finding.describe() for finding in evidence.findings[:3]))
    elif best is not Relation.SAME and evidence.added:
        parts.append(f"adds {', '.join(repr(word) for word in evidence.added[:3])}")
    return "; ".join([*parts, f"cosine {evidence.similarity:.3f}"])
