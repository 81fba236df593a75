"""Identity of wordings: the text key under which equal statements meet."""

from __future__ import annotations

import re
import unicodedata

MAX_TEXT_LENGTH = 8192
"""Longest statement, in characters."""

_TRAILING_MARKS = ".!…‼。．｡！﹒﹗۔।॥։՜።။។"
"""Full stops and exclamation marks of every script in common use."""

_AMOUNT = r"(?:\d[\d.,]*[¼-¾⅐-⅞]?|[¼-¾⅐-⅞])(?:[eE][+-]?\d+)?"
_NUMBER = re.compile(rf"[\W_]*{_AMOUNT}(?:[-–/]{_AMOUNT})?")
"""An amount, a range or a fraction, with any signs and brackets before it; not a date or a time of day."""

_NUMBER_WITH_UNIT = re.compile(rf"{_NUMBER.pattern}[^\W\d_].*")


def text_key(text: str) -> str:
    """Returns the key under which equal wordings meet.

    Unicode NFC; case folded, except for a unit: the token right after a number, or attached to it (5 mW is not
    5 MW, nor 5mW 5MW); white space collapsed and trimmed; trailing full stops and exclamation marks dropped (a
    question mark stays).

    Args:
        text: the statement as given.
    """
    folded: list[str] = []
    after_number = False
    for token in unicodedata.normalize("NFC", text).split():
        is_number = _NUMBER.fullmatch(token) is not None
        kept = after_number or is_number or _NUMBER_WITH_UNIT.fullmatch(token)
        folded.append(token if kept else token.casefold())
        after_number = is_number
    return unicodedata.normalize("NFC", " ".join(folded).rstrip(_TRAILING_MARKS + " "))


def text_problem(text: str, *, max_length: int = MAX_TEXT_LENGTH) -> str | None:
    """Returns what is wrong with a statement's text, or ``None`` when it can be stored."""
    if not text or not text.strip():
        return "must not be empty"
    if len(text) > max_length:
        return f"must have at most {max_length} characters, has {len(text)}"
    problem = characters_problem(text)
    if problem:
        return problem
    if not any(character.isalnum() for character in text):
        return "must contain a letter or a digit"
    return None


def characters_problem(text: str) -> str | None:
    """Returns what is wrong with the characters of ``text`` (NUL, lone surrogates), or ``None``."""
    if "\x00" in text:
        return "must not contain NUL"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "must not contain lone surrogates"
    return None


def label_problem(text: str, *, max_length: int) -> str | None:
    """Returns what is wrong with a label such as an access scope, or ``None``.

    A label is empty, or non-blank, at most ``max_length`` characters, without control characters or lone
    surrogates.
    """
    if not text:
        return None
    if not text.strip():
        return "must be empty or non-blank"
    if len(text) > max_length:
        return f"must have at most {max_length} characters, has {len(text)}"
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in text):
        return "must not contain control characters or lone surrogates"
    return None


def required_label_problem(text: str, *, max_length: int) -> str | None:
    """Returns what is wrong with a label that must be there, such as a tag, or ``None``."""
    if not text.strip():
        return "must not be empty"
    return label_problem(text, max_length=max_length)
