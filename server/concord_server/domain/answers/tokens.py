"""The tokens of JSON as models write it: strings in any quotes, numbers, literals and bare words.

Everything here looks ahead by a bounded number of characters, or over white space alone, so that reading stays linear.
"""

from __future__ import annotations

import math
import re
from enum import Enum
from typing import NamedTuple

from concord_server.domain.values import Json

CLOSING_QUOTES = {'"': '"', "'": "'", "“": '”“"', "‘": "’‘'", "„": '“”"', "«": "»"}
"""Which characters may end a string that begins with one."""

OPENING_QUOTES = frozenset(CLOSING_QUOTES)

_QUOTED_KEY = r"""["'`“‘][^"'`“”‘’\n\\{}\[\]]{1,64}["'`”’]\s*:"""
_KEY_FOLLOWS = re.compile(rf"\s*{_QUOTED_KEY}")
_KEY_HERE = re.compile(_QUOTED_KEY)
_STRUCTURE = re.compile(r"\s*(?:[:}\]]|,\s*[\"'])")
_SPACE = re.compile(r"\s*")
_COMMENT_FOLLOWS = re.compile(r"\s*(?://|/\*)|\s+#")
_MEMBER_FOLLOWS = re.compile(
    rf"""\s*(?:{_QUOTED_KEY}|[A-Za-z_]\w{{0,63}}\s*:|[}}\]]|//|/\*|["'`“‘][^"'`”’\n]{{0,64}}\Z|\Z)"""
)
_ELEMENT_FOLLOWS = re.compile(r"""\s*(?:["'`“‘\[{\]}]|-?\d|(?:true|false|null|True|False|None)\b|//|/\*|\Z)""")
_BARE_WORD = re.compile(r"""(?:(?!\s(?://|\#)|/\*)[^,\[\]{}\n"“”])*""")
_GROUPED = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?=\s*[,}\]\n])")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_BEFORE_LOST_QUOTE = " \t\r\n}],{"
_LITERALS: dict[str, Json] = {
    **{"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False},
    **dict.fromkeys(("null", "None", "NULL", "Null", "nil", "undefined")),
    **dict.fromkeys(("NaN", "nan", "NAN", "Infinity", "-Infinity", "+Infinity", "inf", "-inf", "Inf", "-Inf")),
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_SURROGATES = re.compile("[\ud800-\udfff]+")
MAX_DIGITS = 4000
"""Longest integer that is read as a number; longer ones stay text."""


class Place(Enum):
    """Where a token stands, which says what may follow it."""

    KEY = "key"
    MEMBER = "member"
    ELEMENT = "element"


class Token(NamedTuple):
    """A value with the position after it.

    Attributes:
        closed: false when the text ends within it.
        doubtful: whether it may have taken in what comes after it.
    """

    value: Json
    end: int
    closed: bool = True
    doubtful: bool = False


def skip_space(text: str, position: int) -> int:
    """Returns the position of the next character that is no white space."""
    match = _SPACE.match(text, position)
    return match.end() if match else position


def skip_blank(text: str, position: int) -> int:
    """Returns the position after white space and comments."""
    while True:
        position = skip_space(text, position)
        if text.startswith("//", position) or text.startswith("#", position):
            end = text.find("\n", position)
        elif text.startswith("/*", position):
            end = text.find("*/", position)
            end = end + 2 if end >= 0 else end
        else:
            return position
        if end < 0:
            return len(text)
        position = end


def scalar(text: str, position: int, place: Place) -> Token:
    """Reads a number, a literal or a bare word, up to what ends it."""
    if place is Place.MEMBER:  # a comma cannot be followed by digits here, so they belong together
        grouped = _GROUPED.match(text, position)
        if grouped:
            return Token(grouped.group(), grouped.end())
    match = _BARE_WORD.match(text, position)
    end = match.end() if match else position
    word = text[position:end].strip()
    return Token(_meaning(word), end, end < len(text))


def _meaning(word: str) -> Json:
    if word in _LITERALS:
        return _LITERALS[word]
    if not _NUMBER.fullmatch(word):
        return word
    digits = word.lstrip("+-")
    if digits.isdigit():
        return int(word) if len(digits) <= MAX_DIGITS else word
    number = float(word)
    return number if math.isfinite(number) else None


class Strings:
    """Reads the strings of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._plain = False
        self._find = {opening: re.compile(f"[{re.escape(ends)}\\\\]") for opening, ends in CLOSING_QUOTES.items()}

    def read(self, position: int, place: Place) -> Token:
        """Reads a string that begins at a quote.

        A quote within the string that was not escaped is told from the one that ends it by what follows. Where
        no quote ends it by that, strings end at their first quote from here on: that keeps what comes later.
        """
        if self._text.startswith('"""', position):
            end = self._text.find('"""', position + 3)
            if end >= 0:
                return Token(self._text[position + 3 : end], end + 3)
        start = position + 1
        find = self._find[self._text[position]]
        first = -1
        doubtful = False
        at = start
        while found := find.search(self._text, at):
            quote = found.start()
            if self._text[quote] == "\\":
                at = quote + 2
                continue
            if self._plain or self._ends(quote, place):
                return Token(unescaped(self._text[start:quote]), quote + 1, doubtful=doubtful)
            if first < 0:
                first = quote
            lost = self._lost_quote(start, quote, place)
            if lost is not None:
                return Token(unescaped(self._text[start:lost]), lost)
            doubtful = doubtful or bool(_STRUCTURE.match(self._text, quote + 1) or self._text[quote - 1] in "{[:,")
            at = quote + 1
        if first >= 0:
            self._plain = True
            return Token(unescaped(self._text[start:first]), first + 1)
        return Token(None, len(self._text), closed=False)

    def _ends(self, quote: int, place: Place) -> bool:
        """Tells whether a quote ends the string, by what comes after it."""
        text = self._text
        after = skip_space(text, quote + 1)
        if place is Place.KEY or after >= len(text):
            return True
        follower = text[after]
        if follower in "}]":
            return True
        if follower == ",":
            expected = _MEMBER_FOLLOWS if place is Place.MEMBER else _ELEMENT_FOLLOWS
            return bool(expected.match(text, after + 1))
        if _COMMENT_FOLLOWS.match(text, quote + 1):
            return True
        if place is Place.MEMBER:  # a comma may be missing
            return bool(_KEY_FOLLOWS.match(text, quote + 1))
        return (after > quote + 1 and follower in OPENING_QUOTES) or follower == "{"

    def _lost_quote(self, start: int, quote: int, place: Place) -> int | None:
        """Returns where a string ends that lost its closing quote: before the comma ahead of the next key."""
        if place is not Place.MEMBER or not _KEY_HERE.match(self._text, quote):
            return None
        end = quote
        while end > start and self._text[end - 1] in _BEFORE_LOST_QUOTE:
            end -= 1
        return end if "," in self._text[end:quote] else None


def unescaped(raw: str) -> str:
    """Returns a string's content with its escapes resolved; escapes that JSON does not know are left as they are."""
    if "\\" in raw:
        raw = _ESCAPE.sub(_resolved, raw)
    return paired(raw)


def paired(text: str) -> str:
    """Returns a text whose surrogates are joined; a lone one, which nothing can hold, is the replacement character."""
    return _SURROGATES.sub(_joined, text)


def _resolved(match: re.Match[str]) -> str:
    escape = match.group(1)
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    if escape in _ESCAPES:
        return _ESCAPES[escape]
    return match.group() if escape.isalnum() else escape


def _joined(match: re.Match[str]) -> str:
    return match.group().encode("utf-16", "surrogatepass").decode("utf-16", "replace")
