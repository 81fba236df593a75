"""Detects negation and antonyms, which cancel each other: not bad is good."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from concord_server.domain.discrepancies.alignment import Alignment, Statement
from concord_server.domain.discrepancies.lexicon import loosely_opposite
from concord_server.domain.discrepancies.opposites import prefixed
from concord_server.domain.judgement import Discrepancy, Finding

_NEGATION = re.compile(
    r"\b(?:not any ?more|no longer|not|nobody|no one|none|nothing|nowhere|neither|never|cannot|without|"
    r"hardly|scarcely|barely|"
    r"unable to|fail(?:s|ed|ing)? to|refus(?:e|es|ed|ing) to|lack(?:s|ed|ing)?|cease[sd]? to|stop(?:s|"
    r"ped)? \w+ing|quit(?:s)? \w+ing|"
    r"gave up|gives up|given up|far from|free of|free from|den(?:y|ies|ied) \w+ing|no)\b|\b\w+n't\b|"
    r"\bcant\b|\bdont\b|\bisnt\b"
)
_NOT_A_NEGATION = re.compile(
    r"\bnot (?:only|just|merely|until|least)\b|\bno (?:later|sooner|more|less|fewer|earlier) than\b|"
    r"\bno\. ?\d|\bno matter\b|"
    r"\bwhether or not\b|\bif not\b|\bno doubt\b|\bwhy not\b|\bnothing but\b|\bcannot but\b"
)


def negations(statement: Statement) -> list[str]:
    """Returns the words of ``statement`` that deny, in order."""
    return list(_negations(statement.lowered))


@lru_cache(maxsize=4096)
def _negations(lowered: str) -> tuple[str, ...]:
    text = _NOT_A_NEGATION.sub("#", lowered)
    return tuple(match[0] for match in _NEGATION.finditer(text))


def _loosely_opposed(alignment: Alignment) -> bool:
    return any(
        loosely_opposite(word.stem, other.stem)
        for word in alignment.statement.extra
        for other in alignment.known.extra
    )


def find_polarity(alignment: Alignment) -> Iterator[Finding]:
    """Yields a finding when one statement denies what the other says, by a negation or by an opposite word."""
    ours, theirs = negations(alignment.statement.statement), negations(alignment.known.statement)
    pairs = alignment.opposites
    differs = len(ours) % 2 != len(theirs) % 2
    if differs and (len(pairs) % 2 == 1 or (not pairs and _loosely_opposed(alignment))):
        return
    if differs:
        yield Finding(Discrepancy.NEGATION, " ".join(ours), " ".join(theirs))
    for word, other in pairs:
        kind = Discrepancy.NEGATION if prefixed(word, other) else Discrepancy.ANTONYM
        yield Finding(kind, word.text, other.text)
