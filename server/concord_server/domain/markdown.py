"""Words of callers inside markdown: none of them is markup."""

from __future__ import annotations

import re
import unicodedata

_INLINE = re.compile(r"[\\`*\[\]<]|(?<![^\W_])_|_(?![^\W_])|~(?=~)|(?<=~)~|&(?=#?\w+;)|!(?=\[)")
"""What begins or ends a span, a link, a tag or an entity. An underscore within a word does not."""

_BLOCK = re.compile(r"^(?:[#>+=-]|(\d{1,9})(?=[.)]))")
"""What begins a heading, a quotation, a list or a rule at the start of a line."""

_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def escaped(text: str) -> str:
    """Returns a text on one line that renders as it reads, wherever it stands."""
    line = " ".join("".join(_shown(character) for character in text).split())
    line = _INLINE.sub(lambda found: f"\\{found[0]}", line)
    return _BLOCK.sub(_block_escaped, line)


def clipped(text: str, length: int) -> str:
    """Returns a text of at most ``length`` characters; a mark shows that it was cut."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def _shown(character: str) -> str:
    if character in _REORDERING:
        return ""
    return " " if unicodedata.category(character) in {"Cc", "Zl", "Zp"} else character


def _block_escaped(found: re.Match[str]) -> str:
    # A digit cannot be escaped: the mark behind it is.
    return f"{found[1]}\\" if found[1] else f"\\{found[0]}"
