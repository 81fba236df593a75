"""Reads statements and lays two of them side by side: what they share, and what only one of them says."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache

from concord_server.domain.discrepancies.lexicon import common
from concord_server.domain.discrepancies.mentions import Mention, find_mentions
from concord_server.domain.discrepancies.opposites import pair_opposites
from concord_server.domain.discrepancies.words import ENGLISH, Word, listed, readable, tokenize


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as the detectors see it.

    Attributes:
        text: as written.
        words: all tokens.
        content: tokens that name something and are not part of a quantity.
        mentions: quantities.
        readable: whether the detectors understand its script and language.
    """

    text: str
    words: tuple[Word, ...]
    content: tuple[Word, ...]
    mentions: tuple[Mention, ...]
    readable: bool

    @property
    def lowered(self) -> str:
        """The text in lower case with plain apostrophes."""
        return self.text.casefold().replace("’", "'")


@lru_cache(maxsize=4096)
def read(text: str) -> Statement:
    """Returns ``text`` taken apart; the latest few thousand are remembered."""
    words, mentions = tokenize(text), find_mentions(text)

    def quantity(word: Word) -> bool:
        return any(m.start < word.end and word.start < m.end for m in mentions)

    content = tuple(word for word in words if word.content and not quantity(word))
    return Statement(text, words, content, mentions, readable(text) and _english(words))


def _english(words: tuple[Word, ...]) -> bool:
    """Whether the words look English: one such as "the" or "is" is among them, or few are strange to English."""
    if any(word.lower in ENGLISH for word in words):
        return True
    plain = [word for word in words if word.content and word.text.islower() and word.text.isalpha()]
    strange = sum(not common(word.stem) for word in plain)
    return strange < 3 or strange <= 2 * (len(plain) - strange)


@dataclass(frozen=True, slots=True)
class Side:
    """One statement of a pair with the content that the other lacks.

    Attributes:
        statement: the statement.
        extra: content words whose stem the other does not have.
        runs: the extra words grouped where they stand together.
    """

    statement: Statement
    extra: tuple[Word, ...]
    runs: tuple[tuple[Word, ...], ...]


_OPPOSED_FUNCTION_WORDS = frozenset(
    listed("on off up down in out over under before after above below more less most least")
)


@dataclass(frozen=True)
class Alignment:
    """Two statements side by side; ``shared`` are the stems that both have."""

    statement: Side
    known: Side
    shared: frozenset[str]

    @cached_property
    def opposites(self) -> tuple[tuple[Word, Word], ...]:
        """Pairs of opposite words (of the statement, of the known fact), each missing on the other side."""
        ours, theirs = self.statement, self.known
        return pair_opposites(
            (*ours.extra, *_function_extras(ours.statement, theirs.statement)),
            (*theirs.extra, *_function_extras(theirs.statement, ours.statement)),
        )

    @property
    def overlap(self) -> float:
        """Share of the shorter statement's content that the other has too, in [0, 1]."""
        sizes = [len({w.stem for w in side.statement.content}) for side in (self.statement, self.known)]
        return len(self.shared) / min(sizes) if min(sizes) else 0.0


def _function_extras(statement: Statement, other: Statement) -> list[Word]:
    there = {word.lower for word in other.words}
    return [w for w in statement.words if w.lower in _OPPOSED_FUNCTION_WORDS and w.lower not in there]


def align(statement: Statement, known: Statement) -> Alignment:
    """Lays two statements side by side."""
    ours, theirs = Counter(w.stem for w in statement.content), Counter(w.stem for w in known.content)
    shared = frozenset(ours.keys() & theirs.keys())
    return Alignment(_side(statement, shared), _side(known, shared), shared)


def _side(statement: Statement, shared: frozenset[str]) -> Side:
    extra = tuple(word for word in statement.content if word.stem not in shared)
    wanted = {word.start for word in extra}
    runs: list[tuple[Word, ...]] = []
    current: list[Word] = []
    for word in statement.words:
        if word.start in wanted:
            if current and (_named(word, statement) != _named(current[-1], statement) or current[-1].possessive):
                runs.append(tuple(current))
                current = []
            current.append(word)
        elif current:
            runs.append(tuple(current))
            current = []
    if current:
        runs.append(tuple(current))
    return Side(statement, extra, tuple(runs))


def _named(word: Word, statement: Statement) -> bool:
    """Whether a word may be part of a name: a capital, unless it only begins the sentence."""
    return word.capital and not (word is statement.words[0] and not word.identifier and common(word.stem))


def span(statement: Statement, run: tuple[Word, ...]) -> str:
    """Returns the words of ``run`` as written."""
    return statement.text[run[0].start : run[-1].end] if run else ""
