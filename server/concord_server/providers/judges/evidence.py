"""What the judge weighs for one pair: findings, the pair model's answer, and the cosine, as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from concord_server.domain.discrepancies.alignment import Alignment, Statement, align, read
from concord_server.domain.discrepancies.company import stands_beside
from concord_server.domain.discrepancies.detect import find_all
from concord_server.domain.discrepancies.lexicon import related, synonyms
from concord_server.domain.discrepancies.mentions import Mention
from concord_server.domain.discrepancies.quantities import leftovers, twins
from concord_server.domain.discrepancies.words import Word
from concord_server.domain.judgement import Discrepancy, Finding
from concord_server.domain.text import text_key

Vector = npt.NDArray[np.float64]

QUANTITIES = frozenset(
    (
        Discrepancy.NUMBER,
        Discrepancy.DATE,
        Discrepancy.TIME,
        Discrepancy.UNIT,
        Discrepancy.CURRENCY,
        Discrepancy.VERSION,
    )
)
POLARITY = frozenset((Discrepancy.NEGATION, Discrepancy.ANTONYM))
SOMEONE_ELSE = frozenset((Discrepancy.ENTITY, Discrepancy.ROLE))
VALUES = frozenset((Discrepancy.VALUE,))
SHADES = frozenset((Discrepancy.MODAL, Discrepancy.QUANTIFIER, Discrepancy.COMPARISON))

FEATURES = (
    "bias",
    "known entails",
    "known contradicts",
    "statement entails",
    "statement contradicts",
    "both entail",
    "another subject",
    "cosine",
    "cosine above 0.85",
    "quantity",
    "polarity",
    "someone else",
    "shade",
    "value",
    "statement adds",
    "known adds",
    "quantity added",
    "quantity missing",
    "overlap",
    "nothing differs",
    "only synonyms differ",
    "only kinds differ",
    "only a quantity differs",
    "same sentence, another quantity",
    "only polarity differs",
    "only a value differs",
    "only the subject differs",
)
"""Names of the features, in the order of :func:`features`."""

SHARED = 0.4
"""Share of the shorter content from which two texts that differ elsewhere too are about the same thing."""

_LIMIT = 6.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything known about one pair before it is judged.

    Attributes:
        same_text: whether both have the same text key.
        readable: whether the detectors could read both.
        findings: what the detectors found.
        added: content words that only the statement has.
        missing: content words that only the known fact has.
        added_quantities: quantities that only the statement has and that stand for no other.
        missing_quantities: the same of the known fact.
        overlap: share of the shorter content that is shared.
        similarity: cosine of the embeddings.
        wording: the statement with equal quantities, and synonyms if nothing else differs, spelled as in the fact.
        reworded: whether either has a content word that the other lacks.
        synonymous: whether every such word has a synonym on the other side, and nothing was found.
        same_frame: whether the statement is the known fact with other quantities in the same places.
        beside: whether what it names instead may hold besides what the known fact names.
    """

    same_text: bool
    readable: bool
    findings: tuple[Finding, ...]
    added: tuple[str, ...]
    missing: tuple[str, ...]
    added_quantities: tuple[str, ...]
    missing_quantities: tuple[str, ...]
    overlap: float
    similarity: float
    wording: str
    reworded: bool
    synonymous: bool
    same_frame: bool
    beside: bool

    @property
    def only(self) -> bool:
        """Whether nothing differs but what the findings name, and words for their relatives."""
        named = " ".join(f"{finding.statement} {finding.known}" for finding in self.findings)
        rest = [word for word in (*self.added, *self.missing) if word not in named]
        return not (rest or self.added_quantities or self.missing_quantities)

    @property
    def backs_contradiction(self) -> bool:
        """Whether the findings name what two statements about the same thing disagree on.

        The model alone takes a nurse who also runs a bookshop for a contradiction now and then. Where little is
        shared, a finding says no more: "can't have dairy" does not deny "is lactose intolerant".
        """
        return bool(self.findings) and (self.only or self.overlap >= SHARED)

    def has(self, kinds: frozenset[Discrepancy]) -> bool:
        """Whether a finding is of one of ``kinds``."""
        return any(finding.kind in kinds for finding in self.findings)


def gather(statement: str, known: str, similarity: float) -> Evidence:
    """Reads both texts and returns what there is to weigh."""
    alignment = align(read(statement), read(known))
    ours, theirs = leftovers(alignment)
    same_text = text_key(statement) == text_key(known)
    findings = () if same_text else find_all(alignment)
    swaps = {} if findings else _synonyms(alignment)
    return Evidence(
        same_text=same_text,
        readable=alignment.statement.statement.readable and alignment.known.statement.readable,
        findings=findings,
        added=_unmatched(alignment, of_statement=True),
        missing=_unmatched(alignment, of_statement=False),
        added_quantities=tuple(m.text for m in ours if not m.weak) if not theirs else (),
        missing_quantities=tuple(m.text for m in theirs if not m.weak) if not ours else (),
        overlap=alignment.overlap,
        similarity=similarity,
        wording=_respelled(alignment, swaps),
        reworded=bool(alignment.statement.extra or alignment.known.extra),
        synonymous=bool(swaps),
        same_frame=_same_frame(statement, known, ours, theirs),
        beside=stands_beside(alignment, findings),
    )


def _same_frame(statement: str, known: str, ours: Sequence[Mention], theirs: Sequence[Mention]) -> bool:
    if not ours or len(ours) != len(theirs):
        return False
    spans = [(mine.start, mine.end, other.text) for mine, other in zip(ours, theirs, strict=True)]
    return text_key(_replaced(statement, spans)) == text_key(known)


def _replaced(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    for start, end, instead in sorted(spans, reverse=True):
        text = text[:start] + instead + text[end:]
    return text


def _synonymous(alignment: Alignment) -> bool:
    ours, theirs = alignment.statement.extra, alignment.known.extra
    pairs = [(word, other) for word in ours for other in theirs if synonyms(word.stem, other.stem)]
    return {word for word, _ in pairs} == set(ours) and {other for _, other in pairs} == set(theirs)


def _respelled(alignment: Alignment, swaps: Mapping[Word, Word]) -> str:
    """Returns the statement with 18:00 for 6 pm, and lives for resides, where the known fact says so.

    The model cannot count and does not know every synonym; the rules do.
    """
    spans = [(ours.start, ours.end, theirs.text) for ours, theirs in twins(alignment)]
    spans += [(word.start, word.end, other.text) for word, other in swaps.items()]
    return _replaced(alignment.statement.statement.text, spans)


def _begins(statement: Statement, word: Word) -> bool:
    before = [w.lower for w in statement.words if w.start < word.start]
    return before == ["the"]


def _synonyms(alignment: Alignment) -> dict[Word, Word]:
    """Returns the statement's extra words with their synonyms, if that is all that the two do not share.

    Not for what a sentence begins with after "the": a squad is no team when both are names of one thing each.
    """
    ours, theirs = alignment.statement.extra, alignment.known.extra
    swaps: dict[Word, Word] = {}
    if ours and _begins(alignment.statement.statement, ours[0]):
        return swaps
    for word in ours:
        other = next((o for o in theirs if o not in swaps.values() and synonyms(word.stem, o.stem)), None)
        if other is not None:
            swaps[word] = other
    return swaps if len(swaps) == len(ours) == len(theirs) else {}


def _unmatched(alignment: Alignment, *, of_statement: bool) -> tuple[str, ...]:
    """Returns the extra words of one side that have no relative among those of the other."""
    side, other = alignment.statement, alignment.known
    if not of_statement:
        side, other = other, side
    return tuple(w.text for w in side.extra if not any(related(w.stem, o.stem) for o in other.extra))


def features(evidence: Evidence, logits: npt.NDArray[np.float32]) -> Vector:
    """Returns the features of one pair, of shape ``(len(FEATURES),)``; ``logits`` as of ``PairModel.logits``."""
    only = evidence.only
    kin = only and not evidence.findings
    forward, backward = _odds(logits[:3]), _odds(logits[3:6])
    subject = float(np.clip(logits[6], -_LIMIT, _LIMIT))
    cosine = float(np.clip(evidence.similarity, 0.0, 1.0)) if np.isfinite(evidence.similarity) else 0.0
    return np.array(
        [
            1.0,
            forward[0],
            forward[2],
            backward[0],
            backward[2],
            min(forward[0], backward[0]),
            subject,
            cosine * 4,
            max(0.0, cosine - 0.85) * 20,
            float(evidence.has(QUANTITIES)),
            float(evidence.has(POLARITY)),
            float(evidence.has(SOMEONE_ELSE)),
            float(evidence.has(SHADES)),
            float(evidence.has(VALUES)),
            min(len(evidence.added), 4) / 2,
            min(len(evidence.missing), 4) / 2,
            float(bool(evidence.added_quantities)),
            float(bool(evidence.missing_quantities)),
            evidence.overlap,
            float(kin and not evidence.reworded),
            float(kin and evidence.reworded and evidence.synonymous),
            float(kin and evidence.reworded and not evidence.synonymous),
            float(only and evidence.has(QUANTITIES)),
            float(evidence.same_frame and evidence.has(QUANTITIES)),
            float(only and evidence.has(POLARITY)),
            float(only and evidence.has(VALUES)),
            float(only and evidence.has(SOMEONE_ELSE)),
        ]
    )


def _odds(logits: npt.NDArray[np.float32]) -> Vector:
    """Returns the log-odds of each of three classes, within ±6."""
    shifted = np.exp(logits.astype(np.float64) - float(np.max(logits)))
    p = np.clip(shifted / shifted.sum(), 1e-9, 1 - 1e-9)
    odds: Vector = np.clip(np.log(p / (1 - p)), -_LIMIT, _LIMIT)
    return odds
