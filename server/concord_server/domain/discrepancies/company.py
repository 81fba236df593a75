"""Says where another value stands beside the known one rather than against it: who read one book may read another."""

from __future__ import annotations

import re
from itertools import pairwise

from concord_server.domain.discrepancies.alignment import Alignment, Side
from concord_server.domain.discrepancies.lexicon import groups, related, synonyms
from concord_server.domain.discrepancies.words import COPULAS, DETERMINERS, Word, listed, stem
from concord_server.domain.judgement import Discrepancy, Finding

_OFTEN = frozenset(listed("attended attends hiked hikes meets met visited visits watched watches went"))
"""Verbs that are told with a day or a year and may happen again on another one."""

_MANY = _OFTEN | frozenset(
    listed(
        """adopted bought collects completed cooked cooks enjoyed enjoys finished hates knows learned likes loves owned
        owns painted plays played read reads sells sold speaks studied tried volunteers volunteered wants"""
    )
)
"""Verbs that hold of many things at once, or of one after the other, for the same subject; not their "meeting"."""

_VALUES = frozenset((Discrepancy.VALUE,))
_DATED = _VALUES | {Discrepancy.DATE}
_KIN = _VALUES | {Discrepancy.ANTONYM}
"""Brother and sister count as opposites, and yet one may have both."""

_POSSESSIVES = frozenset(listed("my your his her our their"))
_OVER = re.compile(r"\bused to\b|\b(?:has|have) (?:lived|worked)\b(?!.*\b(?:since|for)\b)", re.IGNORECASE)
"""Words that tell of the past and leave the present open."""
_NO_VERB_FOLLOWS = COPULAS | DETERMINERS
_HAVE = frozenset(listed("has have had"))
_NAMED = frozenset(listed("named called"))
_DESCRIBING = frozenset(("colour", "material"))
"""Groups of values that describe one thing rather than name two: a red door and a blue one."""


def stands_beside(alignment: Alignment, findings: tuple[Finding, ...]) -> bool:
    """Whether both statements may hold of one subject although the findings name other values in them.

    Only where nothing but values differs (dates too, for what happens more than once), and the wording says that there
    may be several: a verb of many things ("read"), having one thing and another ("has a dog"), two favourites of
    different kinds, a past that is over, or two others of one person ("my son", "my wife"). A red door and a blue
    one are no company.
    """
    kinds = {finding.kind for finding in findings}
    if not kinds:
        return False
    if kinds <= _KIN and (_of_others(alignment) or _has_kin(alignment)):
        return True
    if not kinds <= _DATED:
        return False
    verbs = _verbs(alignment.statement) & _verbs(alignment.known)
    if Discrepancy.DATE in kinds:
        return bool(verbs & _OFTEN)
    return bool(verbs) or _has_both(alignment) or _favourites(alignment) or _over(alignment)


def _over(alignment: Alignment) -> bool:
    """Whether one of them tells of the past alone: where somebody used to live says nothing of where now."""
    return any(_OVER.search(side.statement.lowered) for side in (alignment.statement, alignment.known))


def _of_others(alignment: Alignment) -> bool:
    """Whether they are about two others of one person: her sister and her brother, his dog and his cat."""
    ours, theirs = alignment.statement.statement.words[:2], alignment.known.statement.words[:2]
    if len(ours) < 2 or len(theirs) < 2 or ours[0].lower != theirs[0].lower:
        return False
    owned = ours[0].possessive or ours[0].lower in _POSSESSIVES
    return owned and not related(ours[1].stem, theirs[1].stem)


def _has_kin(alignment: Alignment) -> bool:
    ours, theirs = _had(alignment.statement), _had(alignment.known)
    if ours is None or theirs is None or ours[0].stem == theirs[0].stem:
        return False
    return all(groups().get(thing.stem) == "relative" for thing, _ in (ours, theirs))


def _verbs(side: Side) -> set[str]:
    """Returns the verbs of many things that a statement is told with, but not as going on right now."""
    words = side.statement.words
    return {
        word.lower
        for before, word in pairwise(words)
        if word.lower in _MANY and before.lower not in _NO_VERB_FOLLOWS
    }


def _has_both(alignment: Alignment) -> bool:
    """Whether one has a thing, and the other a thing of another kind or of another name."""
    ours, theirs = _had(alignment.statement), _had(alignment.known)
    if ours is None or theirs is None:
        return False
    (one, named), (other, also_named) = ours, theirs
    if one.stem == other.stem:
        return named and also_named
    return not (_describe(one, other) or synonyms(one.stem, other.stem))


def _had(side: Side) -> tuple[Word, bool] | None:
    """Returns what a statement says that its subject has, and whether it says by what name."""
    words = side.statement.words
    for position, (have, article, thing) in enumerate(zip(words, words[1:], words[2:], strict=False)):
        if have.lower in _HAVE and article.lower in {"a", "an"}:
            return thing, any(word.lower in _NAMED for word in words[position + 3 : position + 4])
    return None


def _describe(one: Word, other: Word) -> bool:
    group = groups().get(one.stem)
    return group in _DESCRIBING and group == groups().get(other.stem)


def _favourites(alignment: Alignment) -> bool:
    """Whether each names the favourite of another kind: a film is no rival of a book."""
    ours, theirs = _favourite(alignment.statement), _favourite(alignment.known)
    return (
        ours is not None
        and theirs is not None
        and ours.stem != theirs.stem
        and not synonyms(ours.stem, theirs.stem)
    )


def _favourite(side: Side) -> Word | None:
    words = side.statement.words
    for word, kind, copula in zip(words, words[1:], words[2:], strict=False):
        if word.stem in {stem("favourite"), stem("favorite")} and copula.lower in COPULAS:
            return kind
    return None
