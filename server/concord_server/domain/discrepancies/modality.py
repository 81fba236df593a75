"""Detects changed modal verbs and quantifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from concord_server.domain.discrepancies.alignment import Alignment
from concord_server.domain.judgement import Discrepancy, Finding

_MODALS = {
    "obligation": re.compile(
        r"\b(?:must|ha(?:ve|s|d) (?:got )?to|need(?:s|ed)? to|(?:is|are|was|were|be) (?:required|obliged|"
        r"obligated|forced|compelled) to|"
        r"(?:is|are) mandatory|(?:is|are) compulsory|shall)\b"
    ),
    "permission": re.compile(
        r"\b(?:may(?! \d)|(?:is|are|was|were|be) (?:allowed|permitted|free) to|optional(?:ly)?)\b"
    ),
    "advice": re.compile(
        r"\b(?:should|ought to|had better|(?:is|are) (?:advised|recommended|encouraged) to|(?:is|"
        r"are) recommended)\b"
    ),
    "possibility": re.compile(r"\b(?:might|could|possibly|perhaps|maybe|probably|(?:is|are) likely to)\b"),
    "ability": re.compile(r"\b(?:can|(?:is|are|was|were) able to|(?:is|are) capable of)\b"),
    "intention": re.compile(
        r"\b(?:plan(?:s|ned)? to|intend(?:s|ed)? to|want(?:s|ed)? to|hope(?:s|d)? to|going to|"
        r"consider(?:s|ed|ing) \w+ing)\b"
    ),
}
_COMPATIBLE = frozenset(
    (
        frozenset(("permission", "ability")),
        frozenset(("permission", "possibility")),
        frozenset(("ability", "possibility")),
    )
)
_MATTERS_ALONE = frozenset(("obligation", "advice", "possibility", "permission", "intention"))

_QUANTIFIERS = {
    "all": re.compile(r"\b(?:all|every|each|everyone|everybody|everything|entire(?:ly)?|both|always|whole)\b"),
    "some": re.compile(r"\b(?:some|several|someone|somebody|sometimes|occasionally|partly|partially|certain)\b"),
    "most": re.compile(
        r"\b(?:most of|most(?= \w+s\b)|majority|mostly|usually|mainly|generally|often|frequently|many)\b"
    ),
    "few": re.compile(r"\b(?:few|little of|minority|rarely|seldom|hardly ever)\b"),
    "half": re.compile(r"\b(?:half|halves)\b(?! past)"),
    "none": re.compile(r"\b(?:none|no(?= \w+s?\b(?! than))|nobody|no one|never|neither|nothing)\b"),
    "only": re.compile(r"\b(?:only|exclusively|solely|nothing but)\b"),
}
_NO_QUANTITY = re.compile(
    r"\bno longer\b|\bno\. ?\d|\bnot (?:all|every|always|everyone|only|just)\b|\bat all\b|"
    r"\ball of a sudden\b|\bafter all\b|\ball the same\b|\beach other\b|\bonly (?:in|on|at|since)?\s?\d"
)


def _classes(table: Mapping[str, re.Pattern[str]], text: str) -> dict[str, str]:
    return {name: found[0] for name, pattern in table.items() if (found := pattern.search(text))}


def _modal_text(text: str) -> str:
    """Returns lower case; a capital May inside a sentence is a month and a leading one a question or a month."""
    return re.sub(r"\bMay\b", "#", text).casefold().replace("’", "'")


@lru_cache(maxsize=4096)
def _modals(text: str) -> Mapping[str, str]:
    return _classes(_MODALS, _modal_text(text))


@lru_cache(maxsize=4096)
def _quantifiers(lowered: str) -> Mapping[str, str]:
    return _classes(_QUANTIFIERS, _NO_QUANTITY.sub("#", lowered))


def find_modals(alignment: Alignment) -> Iterator[Finding]:
    """Yields a finding where must, may, should and might differ, or where only one statement has one of them."""
    ours = _modals(alignment.statement.statement.text)
    theirs = _modals(alignment.known.statement.text)
    only_ours = [name for name in ours if name not in theirs]
    only_theirs = [name for name in theirs if name not in ours]
    if only_ours and only_theirs:
        if frozenset((only_ours[0], only_theirs[0])) not in _COMPATIBLE:
            yield Finding(Discrepancy.MODAL, ours[only_ours[0]], theirs[only_theirs[0]])
        return
    for name in only_ours:
        if name in _MATTERS_ALONE and not theirs:
            yield Finding(Discrepancy.MODAL, ours[name], "")
    for name in only_theirs:
        if name in _MATTERS_ALONE and not ours:
            yield Finding(Discrepancy.MODAL, "", theirs[name])


def find_quantifiers(alignment: Alignment) -> Iterator[Finding]:
    """Yields a finding where all, most, some, few, half, none and only differ."""
    ours = _quantifiers(alignment.statement.statement.lowered)
    theirs = _quantifiers(alignment.known.statement.lowered)
    if ("only" in ours) != ("only" in theirs):
        yield Finding(Discrepancy.QUANTIFIER, ours.get("only", ""), theirs.get("only", ""))
    only_ours = [name for name in ours if name not in theirs and name != "only"]
    only_theirs = [name for name in theirs if name not in ours and name != "only"]
    if only_ours and only_theirs:
        yield Finding(Discrepancy.QUANTIFIER, ours[only_ours[0]], theirs[only_theirs[0]])
