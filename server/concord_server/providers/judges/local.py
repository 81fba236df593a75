"""The default judge: offline, without a language model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Self

from concord_server.domain.discrepancies import detect, readable
from concord_server.domain.discrepancies.alignment import Alignment, align, read
from concord_server.domain.discrepancies.lexicon import related
from concord_server.domain.discrepancies.quantities import leftovers
from concord_server.domain.judgement import Discrepancy, Finding, Judgement, Relation
from concord_server.ports.judge import JudgePair

_SOMEONE_ELSE = (Discrepancy.ENTITY, Discrepancy.ROLE)


class LocalJudge:
    """Compares statements by rules and a small trained model.

    Safe to share between tasks: it holds no state that changes.
    """

    def __init__(self) -> None:
        self._name = "local-1"

    @classmethod
    def load(cls) -> Self:
        """Returns a judge ready to use."""
        detect("warm up the lexicon", "warm down the word list")
        return cls()

    @property
    def name(self) -> str:
        """Name and version, as stored with decisions."""
        return self._name

    async def judge(self, pairs: Sequence[JudgePair]) -> list[Judgement]:
        """Returns one judgement per pair, in order; computed in a thread, so that the event loop stays free."""
        if not pairs:
            return []
        return await asyncio.to_thread(self.judge_now, pairs)

    def judge_now(self, pairs: Sequence[JudgePair]) -> list[Judgement]:
        """Same as :meth:`judge`, in the calling thread."""
        return [self._one(pair) for pair in pairs]

    def _one(self, pair: JudgePair) -> Judgement:
        findings = detect(pair.statement, pair.known)
        alignment = align(read(pair.statement), read(pair.known))
        relation, probability, why = _rule(pair, findings, alignment)
        rest = (1.0 - probability) / (len(Relation) - 1)
        probabilities = {name: probability if name is relation else rest for name in Relation}
        kinds = tuple(dict.fromkeys(finding.kind for finding in findings))
        return Judgement(probabilities, kinds, why, self._name)


def _rule(pair: JudgePair, findings: tuple[Finding, ...], alignment: Alignment) -> tuple[Relation, float, str]:
    if findings:
        why = "; ".join(finding.describe() for finding in findings)
        if any(finding.kind in _SOMEONE_ELSE for finding in findings):
            return Relation.DISTINCT, 0.8, why
        sure = alignment.overlap >= 0.5
        return (Relation.CONTRADICTION, 0.85, why) if sure else (Relation.EXTENSION, 0.5, why)
    if not readable(pair.statement, pair.known):
        return Relation.EXTENSION, 0.6, "cannot be compared in this language"
    ours, theirs = leftovers(alignment)
    if ours and not theirs:
        return Relation.REFINEMENT, 0.6, "the statement gives a quantity that the known fact lacks"
    strange = [
        w.text
        for w in alignment.statement.extra
        if not any(related(w.stem, o.stem) for o in alignment.known.extra)
    ]
    missing = [
        w.text
        for w in alignment.known.extra
        if not any(related(w.stem, o.stem) for o in alignment.statement.extra)
    ]
    if strange and missing:
        return (
            Relation.EXTENSION,
            0.6,
            f"says {' '.join(strange)!r} where the known fact says {' '.join(missing)!r}",
        )
    if strange:
        return Relation.REFINEMENT, 0.6, f"adds {' '.join(strange)!r}"
    return Relation.SAME, 0.8, "the same content in other words"
