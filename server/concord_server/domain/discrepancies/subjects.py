"""Detects another subject, another value in the same frame, and swapped roles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from concord_server.domain.discrepancies.alignment import Alignment, Side, Statement, span
from concord_server.domain.discrepancies.lexicon import common, exclusive, related, same_kind
from concord_server.domain.discrepancies.opposites import opposed
from concord_server.domain.discrepancies.words import AUXILIARIES, COPULAS, DETERMINERS, FUNCTION_WORDS, Word
from concord_server.domain.judgement import Discrepancy, Finding

Run = tuple[Word, ...]

_CLEFT = re.compile(
    r"^(?:the\s+)?[^,]+?\s(?:is|are|was|were)\s+(?:where|what|who|when|which|how|(?:the|"
    r"an?)\s+\w+(?:\s+\w+)?\s+(?:that\s+|which\s+|where\s+|who\s+)?(?:[A-Z]\w+|the|his|her)\b)"
)
_BY = re.compile(
    r"\b(?:is|are|was|were|been|being|be|gets?|got)\s+(?:\w+ly\s+)?\w+(?:ed|en|t|ght|ne|wn|un|ut|de|ld|id|"
    r"nd)\s+(?:\w+\s+)?by\b"
)
_RELATIVE = frozenset(("where", "that", "which", "who", "whom", "when", "what"))
_EXISTENTIAL = re.compile(r"^\s*there\s+(?:is|are|was|were)\b", re.IGNORECASE)


def is_name(word: Word, statement: Statement, other: Statement) -> bool:
    """Whether a word is a name: a capital that is not merely the first word's, or a code such as new_checkout."""
    if word.identifier:
        return True
    if not word.text[:1].isupper():
        return False
    if any(w.lower == word.lower and w.text[:1].islower() for w in other.words):
        return False
    first = next((w for w in statement.words if w.content or w.lower in FUNCTION_WORDS), None)
    return first is None or word.start != first.start or not common(word.stem)


def _runs(side: Side, other: Side) -> list[Run]:
    """Returns the extra runs that hold a name, without those that the other statement spells out."""
    return [
        run
        for run in side.runs
        if any(is_name(word, side.statement, other.statement) for word in run)
        and not _spelled_out(run, other.statement)
        and not any(_spelled_out(theirs, side.statement, run) for theirs in other.runs)
    ]


def find_names(alignment: Alignment) -> Iterator[Finding]:
    """Yields ENTITY where a name in the subject's place differs, VALUE where it is what is said of the subject."""
    ours, theirs = _runs(alignment.statement, alignment.known), _runs(alignment.known, alignment.statement)
    for run in ours:
        other = next((o for o in theirs if not _same_name(run, o)), None)
        if other is not None:
            theirs.remove(other)
            kind = subject_or_value(alignment, run, other)
            yield Finding(kind, span(alignment.statement.statement, run), span(alignment.known.statement, other))


def _same_name(run: Run, other: Run) -> bool:
    one, two = "".join(w.lower for w in run), "".join(w.lower for w in other)
    return one == two or one.replace("-", "") == two.replace("-", "")


def _spelled_out(run: Run, statement: Statement, within: Run | None = None) -> bool:
    """Whether a run is the initials of words of the other statement (CEO: chief executive officer).

    With ``within``, only words of that run count.
    """
    letters = run[0].text.rstrip("s")
    if len(run) > 1 or not letters.isupper() or not 2 <= len(letters) <= 5:
        return False
    words = within if within is not None else statement.words
    initials = "".join(w.lower[0] for w in words if w.lower not in DETERMINERS and w.lower[:1].isalnum())
    return letters.lower() in initials or (len(letters) > 2 and letters.lower()[:2] in initials)


def subject_or_value(alignment: Alignment, run: Run, other: Run) -> Discrepancy:
    """Tells whether two differing phrases are what the statements are about, or what they say about it."""
    ours, theirs = alignment.statement.statement, alignment.known.statement
    run, other = _whole_name(ours, run), _whole_name(theirs, other)
    one, two = place(ours, run), place(theirs, other)
    if "value" in (one, two) and _begin_alike(ours, run, theirs, other):
        return Discrepancy.VALUE
    if (
        one == two == "value"
        or (one == "equative" and two in ("value", "equative"))
        or (two == "equative" and one == "value")
    ):
        return Discrepancy.VALUE
    return Discrepancy.ENTITY


def _whole_name(statement: Statement, run: Run) -> Run:
    """Returns a name with the names right before it: who differs is Mateo Tanaka, not Tanaka."""
    if not run[0].capital:
        return run
    first = statement.words.index(run[0])
    while first and statement.words[first - 1].capital and _adjacent(statement, first - 1):
        first -= 1
    return (*statement.words[first : statement.words.index(run[0])], *run)


def _adjacent(statement: Statement, position: int) -> bool:
    word, following = statement.words[position : position + 2]
    return word.content and not word.possessive and statement.text[word.end : following.start].isspace()


def _begin_alike(one: Statement, run: Run, two: Statement, other: Run) -> bool:
    """Whether both statements begin with the same content word, before the phrases that differ."""
    first, second = one.content[:1], two.content[:1]
    return (
        bool(first and second)
        and first[0].stem == second[0].stem
        and first[0] not in run
        and second[0] not in other
    )


def place(statement: Statement, run: Run) -> str:
    """Returns "subject", "value", or "equative" (before a copula that may turn both ways) for a phrase."""
    words = [w for w in statement.words if w.lower[:1].isalnum() or w.lower == "'s"]
    index = next(i for i, w in enumerate(words) if w.start == run[0].start)
    end = index + sum(1 for w in words if run[0].start <= w.start <= run[-1].start)
    before, after = [w.lower for w in words[:index]], [w.lower for w in words[end:]]
    nearest = next((w for w in reversed(before) if w not in DETERMINERS), "")
    if run[-1].possessive or nearest in _RELATIVE:
        return "subject"
    passive = _BY.search(statement.lowered)
    if passive and run[0].start >= passive.end() - 1:
        return "subject"
    leading = not any(w in AUXILIARIES for w in before) and all(
        w in DETERMINERS or w in FUNCTION_WORDS or _shared_head(w, words) for w in before
    )
    if passive and run[0].start < passive.start():
        return "value"
    if nearest == "of" or (nearest in ("for", "at") and _before_copula(after)):
        return "subject"
    if _CLEFT.match(statement.text):
        return "value" if leading and _copula_next(after) else "subject"
    if leading and _equative(after):
        return "equative"
    if (leading or _EXISTENTIAL.match(statement.text)) or (
        after and after[0] in AUXILIARIES and not _has_copula(before)
    ):
        return "subject"
    return "subject" if not before else "value"


def _shared_head(word: str, words: list[Word]) -> bool:
    """Whether a word may stand before a name within one noun phrase ("the flag dark_mode"): a lone noun."""
    position = next((i for i, w in enumerate(words) if w.lower == word), 9)
    return position <= 1 and bool(words) and words[0].lower in DETERMINERS


def _copula_next(after: list[str]) -> bool:
    return bool(after) and after[0] in COPULAS


def _has_copula(before: list[str]) -> bool:
    return any(w in COPULAS for w in before)


def _before_copula(after: list[str]) -> bool:
    return any(w in COPULAS for w in after[:4])


def _equative(after: list[str]) -> bool:
    return (
        len(after) > 1 and after[0] in COPULAS and after[1] in ("the", "now", "currently") and "of" in after[2:6]
    )


def find_values(alignment: Alignment) -> Iterator[Finding]:
    """Yields VALUE where words of one exclusive kind differ: blue and green, daily and weekly."""
    theirs = list(alignment.known.extra)
    for word in alignment.statement.extra:
        other = next((o for o in theirs if exclusive(word.stem, o.stem) and not opposed(word, o)), None)
        if other is not None:
            theirs.remove(other)
            yield Finding(Discrepancy.VALUE, word.text, other.text)


def find_nouns(alignment: Alignment) -> Iterator[Finding]:
    """Yields ENTITY or VALUE where one ordinary word differs in an otherwise equal frame, and is no relative.

    Only plain cases count: the same words in the same order around one differing phrase at the start or the end.
    """
    ours, theirs = alignment.statement, alignment.known
    if len(ours.runs) != 1 or len(theirs.runs) != 1 or len(alignment.shared) + len(ours.statement.mentions) < 2:
        return
    run, other = ours.runs[0], theirs.runs[0]
    if len(run) > 2 or len(other) > 2 or any(w.capital and w.start > 0 for w in (*run, *other)):
        return
    if all(any(related(a.stem, b.stem) or opposed(a, b) for b in other) for a in run):
        return
    if not _same_frame(ours.statement, run, theirs.statement, other):
        return
    if _leads(ours.statement, run) and _leads(theirs.statement, other):
        yield Finding(Discrepancy.ENTITY, span(ours.statement, run), span(theirs.statement, other))
    elif _ends(ours.statement, run) and _ends(theirs.statement, other):
        yield Finding(Discrepancy.VALUE, span(ours.statement, run), span(theirs.statement, other))


def find_definites(alignment: Alignment) -> Iterator[Finding]:
    """Yields ENTITY where the fact is about "the bridge" and the statement about "the tunnel", in whatever frame.

    Another noun after "the" names another thing, a near-synonym included: the squad need not be the team. A broader or
    narrower noun, or an everyday synonym, may still name the same.
    """
    ours, theirs = alignment.statement, alignment.known
    if not alignment.shared and not ours.statement.mentions:
        return
    word, other = _definite(ours.statement, ours.extra), _definite(theirs.statement, theirs.extra)
    if word is None or other is None or opposed(word, other) or same_kind(word.stem, other.stem):
        return
    if not (_leads(ours.statement, (word,)) or _leads(theirs.statement, (other,))):
        return
    yield Finding(Discrepancy.ENTITY, word.text, other.text)


def _definite(statement: Statement, extra: Sequence[Word]) -> Word | None:
    """Returns the only extra ordinary noun right after "the"."""
    found = [
        word
        for before, word in pairwise(statement.words)
        if before.lower == "the" and word in extra and not word.capital and common(word.stem)
    ]
    following = {w.start for w in statement.content}
    if len(found) != 1:
        return None
    index = statement.words.index(found[0])
    heads = index + 1 >= len(statement.words) or statement.words[index + 1].start not in following
    return found[0] if heads or statement.words[index + 1].lower.endswith(("s", "ed")) else None


def _ends(statement: Statement, run: Run) -> bool:
    """Whether a noun phrase closes the sentence."""
    return run[-1] == statement.content[-1] and not any(
        w.start > run[-1].start and w.lower[:1].isalnum() for w in statement.words
    )


def _same_frame(one: Statement, run: Run, two: Statement, other: Run) -> bool:
    def rest(statement: Statement, cut: Run) -> list[str]:
        return [
            w.lower
            for w in statement.words
            if not cut[0].start <= w.start <= cut[-1].start and w.lower[:1].isalnum()
        ]

    return rest(one, run) == rest(two, other)


def _leads(statement: Statement, run: Run) -> bool:
    """Whether a phrase begins the sentence after the definite article, as the name of one thing does."""
    before = [w.lower for w in statement.words if w.start < run[0].start]
    return before == ["the"] or (not before and run[0].text[:1].isupper())
