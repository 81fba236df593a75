"""What a wording says that another text must say too before it can bear the wording out.

The judge weighs sentences as wholes. It passes over who does what for whom between two people, and over the one word
that makes a claim of a mention: "appreciates John's support" and "supports John's plans" look alike to it.
"""

from __future__ import annotations

import re

_CLAIMS = re.compile(
    r"\b(?:because|favou?rite|always|never|only|first|last|best|worst|most|least|every|all)\b", re.IGNORECASE
)
"""Words that say more than that something is so."""

_NAME = re.compile(r"\b([A-Z][\w-]*)(?:['’]s\s+([\w-]+))?")
_OCCASION = re.compile(
    r"\b(?:last|next|this|ago|yesterday|today|tomorrow|tonight|recently|lately|previous|upcoming|just|currently|now)\b",
    re.IGNORECASE,
)
"""Words by which a statement is of one occasion, as seen from its own time."""


def is_lasting(text: str) -> bool:
    """Tells whether a wording may stand for other facts: it is not of one occasion ("last week")."""
    return _OCCASION.search(text) is None


def bears_words(wording: str, text: str, owner: str = "") -> bool:
    """Tells whether a text has the words without which it cannot bear out a wording.

    Args:
        owner: name of whom both are about; how that one is named tells nothing.
    """
    if not _claims(wording) <= _claims(text):
        return False
    ours, theirs = _parts(wording, owner), _parts(text, owner)
    return all(ours[name] & theirs[name] for name in ours.keys() & theirs.keys())


def _claims(text: str) -> set[str]:
    return {word.lower().replace("favour", "favor") for word in _CLAIMS.findall(text)}


def _parts(text: str, owner: str) -> dict[str, set[str]]:
    """Returns, by name, what of the named is spoken of; the empty text where it is the named itself."""
    own = set(owner.lower().split())
    parts: dict[str, set[str]] = {}
    for match in _NAME.finditer(text):
        name = match[1].lower()
        if name not in own:
            parts.setdefault(name, set()).add((match[2] or "").lower())
    return parts
