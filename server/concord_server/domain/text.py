"""Identity of wordings: the text key under which equal statements meet."""

from __future__ import annotations

import re
import unicodedata

MAX_TEXT_LENGTH = 8192
"""Longest statement, in characters."""

_TRAILING_MARKS = ".!。．｡！"
_NUMBER_THEN_UNIT = re.compile(r"^(?P<number>[+-]?\d[\d.,]*)(?P<unit>[^\W\d_].*)$")
_NUMBER = re.compile(r"^[^\w+-]*[+-]?\d[\d.,]*$")


def text_key(text: str) -> str:
    """Returns the key under which equal wordings meet.

    Unicode NFC; case folded, except for the token right after a number (5 mW is not 5 MW); white space
    collapsed and trimmed; trailing full stops and exclamation marks dropped (a question mark stays).

    Args:
        text: the statement as given.
    """
    normalised = unicodedata.normalize("NFC", text)
    tokens = normalised.split()
    folded: list[str] = []
    after_number = False
    for token in tokens:
        attached = _NUMBER_THEN_UNIT.match(token)
        if after_number or attached:
            folded.append(token)
        else:
            folded.append(token.casefold())
        after_number = bool(_NUMBER.match(token))
    key = " ".join(folded)
    while key and (key[-1] in _TRAILING_MARKS or key[-1].isspace()):
        key = key[:-1]
    return unicodedata.normalize("NFC", key)


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
