"""Detects swapped roles: A manages B against B manages A."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from concord_server.domain.discrepancies.alignment import Alignment, Statement
from concord_server.domain.discrepancies.words import COPULAS, DETERMINERS, Word, listed
from concord_server.domain.judgement import Discrepancy, Finding

_PASSIVE = re.compile(
    r"\b(?:is|are|was|were|been|being|be|gets?|got)\s+(?:\w+ly\s+|being\s+|not\s+)?\w+\s+(?:\w+\s+)?by\b"
)
_SYMMETRIC = re.compile(
    r"\b(?:and|or|married|friends?|colleagues?|cousins?|siblings?|partners?|twins?|neighbou?rs?|equals?|"
    r"same|identical|similar|between|"
    r"near|close to|next to|beside|adjacent|together|along with|meets?|met|resembles?|differs?|unlike|"
    r"versus|vs|roommates?|teammates?|"
    r"related|linked|connected|compatible|alongside|shares?|as well as)\b"
)
_PREPOSITIONS = frozenset(
    listed("""in at on near during by for with inside outside under over north south east west last next every""")
)


def find_roles(alignment: Alignment) -> Iterator[Finding]:
    """Yields a finding when both statements hold the same words but two of them have changed places."""
    ours, theirs = alignment.statement.statement, alignment.known.statement
    pairs = alignment.opposites
    one, two = _renamed(alignment), [(w.stem, w) for w in theirs.content]
    if len(one) < 2 or len(pairs) % 2 == 1 or sorted(s for s, _ in one) != sorted(s for s, _ in two):
        return
    if _SYMMETRIC.search(ours.lowered) or _SYMMETRIC.search(theirs.lowered):
        return
    if _same_holder(ours, theirs) or _turned_round(ours, theirs):
        return
    turned = (_PASSIVE.search(ours.lowered) is None) != (_PASSIVE.search(theirs.lowered) is None)
    stems, known_stems = [s for s, _ in one], [s for s, _ in two]
    if stems == known_stems:
        swapped = turned and len(one) >= 3
        blocks = (one[0][1].text, one[-1][1].text)
    else:
        found = _swapped_blocks(stems, known_stems)
        if found is None or _fronted(ours, one[0][1]) or _fronted(theirs, two[0][1]):
            return
        swapped = not turned
        blocks = (_text(one, found[0]), _text(one, found[1]))
    if swapped:
        yield Finding(Discrepancy.ROLE, " … ".join(blocks), " … ".join(reversed(blocks)))


def _holders(statement: Statement) -> set[str]:
    """Returns the stems of those to whom something belongs: with an apostrophe, or after "of"."""
    words = [w for w in statement.words if w.lower[:1].isalnum() and w.lower not in DETERMINERS]
    return {
        w.stem
        for before, w in zip([None, *words], words, strict=False)
        if w.possessive or (before and before.lower == "of")
    }


def _same_holder(one: Statement, two: Statement) -> bool:
    """Whether the same one owns in both: the capital of Peru is Lima, Peru's capital is Lima."""
    holders = _holders(one)
    return bool(holders) and holders == _holders(two)


def _turned_round(one: Statement, two: Statement) -> bool:
    """Whether one statement is the other around its copula: red is what Ana likes, what Ana likes is red."""
    if _holders(one) and _holders(two):
        return False
    for first, second in ((one, two), (two, one)):
        words, others = ([w.lower for w in s.words if w.lower[:1].isalnum()] for s in (first, second))
        if (
            len(words) > 2
            and len(others) > 2
            and words[1] in COPULAS
            and others[-2] in COPULAS
            and words[0] == others[-1]
        ):
            return True
    return False


def swapped_by_inverse(alignment: Alignment) -> bool:
    """Whether two words changed places and an inverse word makes up for it: older than, younger than."""
    if len(alignment.opposites) % 2 == 0:
        return False
    one, two = _renamed(alignment), [(w.stem, w) for w in alignment.known.statement.content]
    stems, known_stems = [s for s, _ in one], [s for s, _ in two]
    if stems == known_stems or sorted(stems) != sorted(known_stems):
        return False
    if _fronted(alignment.statement.statement, one[0][1]) or _fronted(alignment.known.statement, two[0][1]):
        return False
    return _swapped_blocks(stems, known_stems) is not None


def _renamed(alignment: Alignment) -> list[tuple[str, Word]]:
    """Returns the statement's content with its opposites written as the known fact writes them."""
    names = {word.start: other.stem for word, other in alignment.opposites}
    return [(names.get(w.start, w.stem), w) for w in alignment.statement.statement.content]


def _text(words: Sequence[tuple[str, Word]], bounds: tuple[int, int]) -> str:
    return " ".join(word.text for _, word in words[bounds[0] : bounds[1]])


def _swapped_blocks(one: list[str], two: list[str]) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Returns the bounds of two blocks of ``one`` that exchanged places in ``two`` around an unchanged middle.

    P A M B S against P B M A S, with A, M and B not empty.
    """
    first = next(i for i, (a, b) in enumerate(zip(one, two, strict=True)) if a != b)
    last = next(i for i in range(len(one), 0, -1) if one[i - 1] != two[i - 1])
    x, y = one[first:last], two[first:last]
    for size_a in range(1, len(x) - 1):
        for size_b in range(1, len(x) - size_a):
            middle = x[size_a : len(x) - size_b]
            if middle and y == x[len(x) - size_b :] + middle + x[:size_a]:
                return (first, first + size_a), (last - size_b, last)
    return None


def _fronted(statement: Statement, first: Word) -> bool:
    """Whether the sentence begins with an adverbial ("In Paris lives Ana", "north of the mill runs a road")."""
    lead = next((w for w in statement.words if w.lower[:1].isalnum()), first)
    return lead.lower in _PREPOSITIONS
