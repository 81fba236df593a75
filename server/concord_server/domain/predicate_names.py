"""Whether two names of predicates may mean the same, word by word.

Two short statements with an equal value say little, and a judge that was made for whole sentences finds a home city
the same as a birth city. So a proposal is put to the judge only where every word of either name has a counterpart
in the other: the same word, a synonym, or the parts of a compound. The lists of synonyms are English; names in
other languages are explained by equal words alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from concord_server.domain.discrepancies.lexicon import opposite, related
from concord_server.domain.discrepancies.words import stem

_UNSTRESSED = frozenset({"of", "the", "a", "an"})
"""Words without which a name says the same (date_of_birth, birth_date). Other small words tell names apart:
introduced_by and introduced_to."""

_SHORTEST_PART = 2
"""Letters that a part of a compound has at least."""


def numbered_alike(one: str, other: str) -> bool:
    """Tells whether two names have the same numbers in the same order; others are counted apart on purpose."""
    return _numbers(one) == _numbers(other)


def _numbers(name: str) -> list[str]:
    return [word for word in name.split("_") if any(character.isdigit() for character in word)]


@lru_cache(maxsize=4096)
def explained(one: str, other: str) -> bool:
    """Tells whether every word of two names has a counterpart in the other name.

    Args:
        one: a name in lower snake case.
        other: another such name.
    """
    if not numbered_alike(one, other):
        return False
    ones, others = _words(one), _words(other)
    if _numbered(ones) != _numbered(others):
        return False
    ones, others = _parted(ones, others), _parted(others, ones)
    if any(opposite(stem(a), stem(b)) for a in ones for b in others):
        return False
    if _differ_by_endings(ones, others):
        return False
    return _covered(ones, others) and _covered(others, ones)


def _words(name: str) -> tuple[str, ...]:
    words = tuple(word for word in name.split("_") if word)
    return tuple(word for word in words if word not in _UNSTRESSED) or words


def _numbered(words: Sequence[str]) -> tuple[str, ...]:
    """Returns the words with a digit, in order: what they number is told apart by nothing else."""
    return tuple(word for word in words if any(character.isdigit() for character in word))


def _parted(words: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Returns the words with compounds of the other name's words taken apart: birthplace, place_of_birth."""
    return tuple(part for word in words for part in _parts(word, others))


def _parts(word: str, others: Sequence[str]) -> tuple[str, ...]:
    for cut in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1):
        if word[:cut] in others and word[cut:] in others:
            return (word[:cut], word[cut:])
    return (word,)


def _differ_by_endings(ones: Sequence[str], others: Sequence[str]) -> bool:
    """Whether the same words differ in endings alone, which then mean something: floor, floors; invited, inviting."""
    if tuple(ones) == tuple(others) or len(ones) != len(others):
        return False
    pairs = [(a, b) for a, b in zip(ones, others, strict=True) if a != b]
    return all(stem(a) == stem(b) and a.startswith(stem(b)) and b.startswith(stem(a)) for a, b in pairs)


def _covered(words: Sequence[str], others: Sequence[str]) -> bool:
    return all(any(related(stem(word), stem(other)) for other in others) for word in words)
