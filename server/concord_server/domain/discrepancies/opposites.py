"""Tells opposite words, by the lexicon or by their form."""

from __future__ import annotations

from collections.abc import Iterable

from concord_server.domain.discrepancies.lexicon import opposite
from concord_server.domain.discrepancies.words import Word, listed

_PREFIXES = listed("un in im ir il dis non mis de")


def opposed(word: Word, other: Word) -> bool:
    """Whether two words are opposites by the lexicon or by their form (un-, -less)."""
    return opposite(word.stem, other.stem) or prefixed(word, other)


def prefixed(word: Word, other: Word) -> bool:
    """Whether one word is the other with a negative prefix or ending."""
    short, long = sorted((word.stem, other.stem), key=len)
    if (
        len(short) >= 3
        and 2 <= len(long) - len(short) <= 3
        and any(long == prefix + short for prefix in _PREFIXES)
    ):
        return True
    first, second = sorted((word.lower, other.lower))
    return len(first) > 5 and first.endswith("ful") and second.endswith("less") and first[:-3] == second[:-4]


def pair_opposites(words: Iterable[Word], others: Iterable[Word]) -> tuple[tuple[Word, Word], ...]:
    """Returns pairs of opposites, each word used once."""
    free = list(others)
    pairs = []
    for word in words:
        other = next((candidate for candidate in free if opposed(word, candidate)), None)
        if other is not None:
            free.remove(other)
            pairs.append((word, other))
    return tuple(pairs)
