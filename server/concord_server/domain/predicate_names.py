"""Whether two names of predicates may mean the same, word by word.

Two short statements with an equal value say little, and a judge that was made for whole sentences finds a home city
the same as a birth city. So a proposal is put to the judge only where every word of either name has a counterpart
in the other: the same word, a synonym, or the parts of a compound. The lists of synonyms are English; names in
other languages are explained by equal words alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from concord_server.domain.discrepancies.lexicon import opposite, synonymous
from concord_server.domain.discrepancies.words import FUNCTION_WORDS, stem

_UNSTRESSED = frozenset({"of", "the", "a", "an"})
"""Words without which a name says the same. Other small words tell names apart: introduced_by, introduced_to."""

_KEPT_APART = frozenset(
    frozenset(map(stem, pair.split()))
    for pair in (
        "price cost",
        "number total",
        "amount total",
        "day year",
        "country state",
        "partner spouse",
        "position status",
        "position place",
        "place rank",
        "place grade",
        "place home",
        "level degree",
        "rate rank",
        "first start",
        "first begin",
        "last finish",
    )
)
"""Words that a dictionary calls synonyms for a sense that attributes of things do not have."""

_SHORTEST_ROOT = 4
"""Letters that a root has at least."""

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
    ones, others = _in_order(one), _in_order(other)
    ones, others = _parted(ones, others), _parted(others, ones)
    if not _alike(ones[-1], others[-1]):
        return False
    if any(opposite(stem(a), stem(b)) for a in ones for b in others):
        return False
    if _differ_by_endings(ones, others):
        return False
    return _covered(ones, others) and _covered(others, ones)


def _in_order(name: str) -> tuple[str, ...]:
    """Returns the words of a name as a compound has them, what it is last: date_of_birth is birth_date.

    So what names a thing is told from what it belongs to: manager_of_team, team_of_manager.
    """
    thing, of, whole = name.partition("_of_")
    if of:
        return (*_in_order(whole), *_in_order(thing))
    words = tuple(word for word in name.split("_") if word)
    return tuple(word for word in words if word not in _UNSTRESSED) or words


def _parted(words: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Returns the words with compounds of the other name's words taken apart: birthplace, place_of_birth."""
    return tuple(part for word in words for part in _parts(word, others))


def _parts(word: str, others: Sequence[str]) -> tuple[str, ...]:
    for cut in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1):
        if word[:cut] in others and word[cut:] in others:
            return (word[:cut], word[cut:])
    return (word,)


def _differ_by_endings(ones: Sequence[str], others: Sequence[str]) -> bool:
    """Whether the words that name the thing differ in their ending alone, which then means something.

    floor and floors, invited and inviting; bike_count and bikes_count count the same.
    """
    one, other = _naming(ones), _naming(others)
    if one == other:
        return False
    return stem(one) == stem(other) and one.startswith(stem(other)) and other.startswith(stem(one))


def _naming(words: Sequence[str]) -> str:
    return next((word for word in reversed(words) if word not in FUNCTION_WORDS), words[-1])


def _covered(words: Sequence[str], others: Sequence[str]) -> bool:
    return all(any(_alike(word, other) for other in others) for word in words)


def _alike(one: str, other: str) -> bool:
    """Whether two words mean the same; words of one root that are not the same word play different parts.

    follower and followed, employer and employee: dictionaries have them near each other all the same.
    """
    first, second = sorted((stem(one), stem(other)), key=len)
    if first == second:
        return True
    of_one_root = len(first) >= _SHORTEST_ROOT and second.startswith(first)
    return synonymous(first, second) and not of_one_root and frozenset((first, second)) not in _KEPT_APART
