"""Words that exclude or include each other: WordNet's antonyms, relatives, and groups of exclusive values."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import resources

from concord_server.domain.discrepancies.words import stem

_DATA = "concord_server.domain.discrepancies.data"


def _lines(name: str) -> list[str]:
    return resources.files(_DATA).joinpath(name).read_text(encoding="utf-8").splitlines()


_CONVERSES = frozenset(frozenset(stem(word) for word in pair.split()) for pair in _lines("converses.txt"))
"""Two ends of one relation, not opposites: who is a parent of two has two children."""


@cache
def antonyms() -> dict[str, frozenset[str]]:
    """Returns stem → stems of its opposites."""
    table: dict[str, set[str]] = {}
    lines = _lines("antonyms.txt") + _lines("more_antonyms.txt")
    pairs = [tuple(line.split("\t")) for line in lines if "\t" in line]
    for one, other in pairs:
        first, second = stem(one), stem(other)
        if first != second and frozenset((first, second)) not in _CONVERSES:
            table.setdefault(first, set()).add(second)
            table.setdefault(second, set()).add(first)
    return {word: frozenset(others) for word, others in table.items()}


@cache
def relatives() -> dict[str, str]:
    """Returns stem → its synonyms, and broader words with ">" before them, in one string of stems.

    The keys are the ordinary words of English.
    """
    return dict(line.split("\t", 1) for line in _lines("relatives.txt"))


@cache
def _everyday() -> dict[str, frozenset[str]]:
    """Returns stem → stems that mean the same in statements of facts, where WordNet sees a finer difference."""
    table: dict[str, set[str]] = {}
    for line in _lines("more_synonyms.txt"):
        group = {stem(word) for word in line.split()}
        for word in group:
            table.setdefault(word, set()).update(group - {word})
    return {word: frozenset(others) for word, others in table.items()}


@lru_cache(maxsize=8192)
def _kin(word: str) -> frozenset[str]:
    return _everyday().get(word, frozenset()) | {name.lstrip(">") for name in relatives().get(word, "").split()}


@cache
def groups() -> dict[str, str]:
    """Returns stem → the group of exclusive values that it belongs to."""
    rows = (line.split("\t") for line in _lines("groups.txt"))
    return {stem(word): name for name, members in rows for word in members.split()}


def opposite(one: str, other: str) -> bool:
    """Whether two stems are opposites, comparatives and superlatives of opposites included."""
    table = antonyms()
    if other in table.get(one, ()):
        return True
    ones, others = _graded(one), _graded(other)
    return bool(ones or others) and any(
        second in table.get(first, ()) for first in ones | {one} for second in others | {other}
    )


def _graded(word: str) -> set[str]:
    """Returns the stems that a comparative or superlative may come from, none for other words."""
    ending = next((e for e in ("er", "est") if word.endswith(e) and len(word) > len(e) + 2), None)
    if ending is None:
        return set()
    base = word[: -len(ending)]
    forms = {base, stem(base + "e"), base[:-1] if base[-1:] == base[-2:-1] else base}
    return forms | ({base[:-1] + "y"} if base.endswith("i") else set())


def loosely_opposite(one: str, other: str) -> bool:
    """Whether a stem is an opposite of a relative of the other: stupid and clever, by way of smart."""
    table = antonyms()
    return (
        opposite(one, other)
        or any(other in table.get(word, ()) for word in _kin(one))
        or any(one in table.get(word, ()) for word in _kin(other))
    )


@lru_cache(maxsize=8192)
def _synonyms(word: str) -> frozenset[str]:
    named = relatives().get(word, "").split()
    return _everyday().get(word, frozenset()) | {name for name in named if not name.startswith(">")}


def synonymous(one: str, other: str) -> bool:
    """Whether two stems mean the same; one that names a kind of the other does not."""
    return one == other or other in _synonyms(one) or one in _synonyms(other)


def related(one: str, other: str) -> bool:
    """Whether two stems may mean the same: synonyms, or one names a kind of the other."""
    if one == other or other in _kin(one) or one in _kin(other):
        return True
    return any(b in _kin(a) or a in _kin(b) for a in _graded(one) for b in _graded(other))


def synonyms(one: str, other: str) -> bool:
    """Whether two stems are synonyms in a frequent sense."""
    table = relatives()
    if other in _everyday().get(one, ()):
        return True
    return other in table.get(one, "").split() or one in table.get(other, "").split()


def same_kind(one: str, other: str) -> bool:
    """Whether one stem names a kind of the other, or both are everyday words for the same."""
    if other in _everyday().get(one, ()):
        return True
    return f">{other}" in relatives().get(one, "").split() or f">{one}" in relatives().get(other, "").split()


def exclusive(one: str, other: str) -> bool:
    """Whether two different stems are values of one kind that exclude each other, such as blue and green."""
    table = groups()
    return (
        one != other and one in table and table[one] == table.get(other) and not {one, other} <= {"gray", "grey"}
    )


def common(one: str) -> bool:
    """Whether a stem is an ordinary English word rather than a name."""
    return one in relatives() or one in antonyms()
