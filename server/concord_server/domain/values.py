"""Values of claims: canonical form, equality, carry-forward, and the keys of slots."""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping
from typing import TypeAlias

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
"""A JSON value."""

MAX_EXACT_INTEGER = 2**53
"""Largest magnitude up to which every integer is a double."""

MAX_DEPTH = 32
"""Deepest nesting of a claim's value."""


def canonical(value: Json) -> Json:
    """Returns ``value`` with key order, number form and string form made equal for equal values.

    Keys are sorted, 3.0 becomes 3, strings are NFC, trimmed and case folded.
    """
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return int(value) if float(value).is_integer() else value
    if isinstance(value, str):
        return unicodedata.normalize("NFC", unicodedata.normalize("NFC", value).strip().casefold())
    if isinstance(value, list):
        return [canonical(item) for item in value]
    return {key: canonical(value[key]) for key in sorted(value)}


def value_key(value: Json) -> str:
    """Returns a digest that is equal exactly for equal values."""
    return _digest(_dump(canonical(value)))


def text_value_key(key: str) -> str:
    """Returns the digest under which a statement without a claim is a value of its line.

    Args:
        key: the statement's text key.
    """
    return "t" + _digest(key)


def value_problem(value: Json, depth: int = 0) -> str | None:
    """Returns what is wrong with a claim's value, or ``None`` when it can be stored."""
    if depth > MAX_DEPTH:
        return f"must not be nested deeper than {MAX_DEPTH}"
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        if isinstance(value, float) and not math.isfinite(value):
            return "must be a finite number; send it as text"
        if abs(value) > MAX_EXACT_INTEGER:
            return "must not be beyond 2^53; send it as text"
        return None
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= c <= "\udfff" for c in value):
            return "must not contain NUL or lone surrogates"
        return None
    if isinstance(value, list):
        problems = (value_problem(item, depth + 1) for item in value)
    else:
        problems = (value_problem(item, depth + 1) for pair in value.items() for item in pair)
    return next((problem for problem in problems if problem), None)


def carry_forward(previous: Json, patch: Json) -> Json:
    """Returns the value that holds after a superseding ``patch`` to ``previous``.

    Where both are objects, keys that the patch does not restate stay and an explicit null removes a key;
    anything else replaces the previous value whole.
    """
    if not isinstance(patch, dict):
        return patch
    base = dict(previous) if isinstance(previous, dict) else {}
    base.update(patch)
    return {key: value for key, value in base.items() if value is not None}


def normalise_predicate(predicate: str) -> str:
    """Returns the predicate in lower snake case (``Favorite Color``, ``favoriteColor`` → ``favorite_color``)."""
    spaced: list[str] = []
    previous = ""
    for character in unicodedata.normalize("NFC", predicate):
        # Cherokee folds to upper case: what folding leaves alone begins no word.
        begins = character.isupper() and character.casefold() != character
        if begins and (previous.islower() or previous.isdigit()):
            spaced.append("_")
        spaced.append(character if _in_word(character) else "_")
        previous = character
    folded = unicodedata.normalize("NFC", "".join(spaced).casefold())
    return "_".join(word for word in folded.split("_") if word)


def normalise_subject(subject: str) -> str:
    """Returns the form under which claim subjects are compared: NFC, white space collapsed, case folded."""
    folded = " ".join(unicodedata.normalize("NFC", subject).split()).casefold()
    return unicodedata.normalize("NFC", folded)


def subject_key(subject: str) -> str:
    """Returns a digest that is equal for subjects of claims that are the same."""
    return _digest(normalise_subject(subject))


def slot_key(subject: str, predicate: str, qualifiers: Mapping[str, Json], *, discriminator: str = "") -> str:
    """Returns the digest that names a slot within its partition.

    Args:
        subject: the claim's subject as given.
        predicate: the normalised predicate.
        qualifiers: compared like values.
        discriminator: what else tells slots apart: the value's key where several values may hold at
            once, value and time of an occurrence; empty otherwise.
    """
    parts: list[Json] = [
        normalise_subject(subject),
        predicate,
        canonical(dict(qualifiers)),
        discriminator,
    ]
    return _digest(_dump(parts))


def _in_word(character: str) -> bool:
    """Whether it is part of a word: a letter, a digit, or a mark, which is how many scripts write vowels."""
    return character.isalnum() or unicodedata.category(character).startswith("M")


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
