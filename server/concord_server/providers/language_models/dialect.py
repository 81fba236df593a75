"""What an endpoint understands of the API, and how that is learned from its refusals.

Servers that speak the same API differ in what they take: some refuse ``json_schema`` (one well-known server with status
500), some know no ``logprobs``, some models want no temperature. A *dialect* is what is asked of an endpoint; a refusal
leads to a plainer one. What answered is remembered for as long as the process lives.

A refusal is *explicit* when it names what it refuses. Where it does not, it may be an outage as well, so it leads to a
plainer dialect only while the asked one has never answered, and the plainer one is kept only when that happens twice.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum

DOUBTS = 2
"""How often a plainer dialect must help before it is kept, where no refusal said why."""

STRIKES = 3
"""How many refusals in a row, none saying why, put a dialect in doubt that answered before."""

_AMBIGUOUS_STATUSES = frozenset({400, 415, 422, 500, 501})
"""With these an endpoint may mean what it is asked for. Others (429, 503, 504 …) never do."""

_ABOUT_THE_INPUT = (
    "context length",
    "context size",
    "context window",
    "too long",
    "content_filter",
    "content management",
)
_TEMPERATURE = ("temperature",)
_LOGPROBS = ("logprob",)
_FORMAT = ("response_format", "json_schema", "json_object", "json schema", "grammar", "structured output")


class AnswerFormat(IntEnum):
    """How the form of an answer is asked for, the strictest last."""

    PLAIN = 0
    JSON_OBJECT = 1
    JSON_SCHEMA = 2


@dataclass(frozen=True, slots=True)
class Dialect:
    """What is asked of an endpoint.

    Attributes:
        logprobs: whether the probabilities of tokens are asked for, where they are wanted.
        temperature: whether a temperature is named; some models have a fixed one.
        completion_tokens: whether the limit of the answer has its newer name, ``max_completion_tokens``.
    """

    format: AnswerFormat = AnswerFormat.JSON_SCHEMA
    logprobs: bool = True
    temperature: bool = True
    completion_tokens: bool = False


@dataclass(frozen=True, slots=True)
class Plainer:
    """The dialect to try after a refusal; ``explicit`` when the refusal named what it refuses."""

    dialect: Dialect
    explicit: bool


def plainer(dialect: Dialect, status: int, message: str) -> Plainer | None:
    """Returns what to try after an endpoint refused, ``None`` where the dialect is not to blame.

    Args:
        dialect: what was asked; ``logprobs`` only where they were asked for.
        status: of the answer.
        message: of the answer, of which only hints are read.
    """
    if status not in _AMBIGUOUS_STATUSES:
        return None
    said = message.lower()
    if _names(said, _ABOUT_THE_INPUT):
        return None
    if not dialect.completion_tokens and "max_completion_tokens" in said:
        return Plainer(replace(dialect, completion_tokens=True), explicit=True)
    if dialect.temperature and _names(said, _TEMPERATURE):
        return Plainer(replace(dialect, temperature=False), explicit=True)
    if dialect.logprobs and _names(said, _LOGPROBS):
        return Plainer(replace(dialect, logprobs=False), explicit=True)
    explicit = _names(said, _FORMAT)
    if dialect.logprobs and not explicit:
        return Plainer(replace(dialect, logprobs=False), explicit=False)
    if dialect.format is AnswerFormat.PLAIN:
        return None
    return Plainer(replace(dialect, format=AnswerFormat(dialect.format - 1)), explicit=explicit)


def _names(said: str, words: tuple[str, ...]) -> bool:
    return any(word in said for word in words)


@dataclass(slots=True)
class _Known:
    dialect: Dialect = Dialect()
    proven: set[Dialect] = field(default_factory=set)
    doubts: int = 0
    strikes: int = 0
    failing: bool = False


class Dialects:
    """What was learned of endpoints, by a key of endpoint and model. Not shared between threads."""

    def __init__(self) -> None:
        self._known: dict[Hashable, _Known] = {}

    def of(self, key: Hashable, *, logprobs: bool) -> Dialect:
        """Returns the dialect to ask in; ``logprobs`` says whether they are wanted."""
        known = self._of(key)
        if known.failing:
            return replace(known.dialect, format=AnswerFormat.PLAIN, logprobs=False)
        return replace(known.dialect, logprobs=known.dialect.logprobs and logprobs)

    def may_change(self, key: Hashable, asked: Dialect, following: Plainer) -> bool:
        """Tells whether a plainer dialect is to be tried after ``asked`` was refused, and counts the refusal."""
        known = self._of(key)
        if following.explicit or asked not in known.proven:
            return True
        known.strikes += 1
        if known.strikes >= STRIKES:
            known.proven.discard(asked)
            known.strikes = 0
        return False

    def failed(self, key: Hashable) -> None:
        """Learns that no dialect was answered: that is an outage, and one call tells whether it is over."""
        self._of(key).failing = True

    def answered(self, key: Hashable, first: Dialect, last: Dialect, *, explicit: bool) -> None:
        """Learns from an answer.

        Args:
            first: what was asked in first.
            last: what was asked in when the answer came.
            explicit: whether every refusal on the way named what it refused.
        """
        known = self._of(key)
        known.strikes = 0
        known.proven.add(last)
        if known.failing:
            known.failing = False
            return
        if first == last:
            known.doubts = 0
            return
        known.doubts += 1
        if explicit or known.doubts >= DOUBTS:
            changed = {f.name: getattr(last, f.name) for f in fields(Dialect) if _differs(f.name, first, last)}
            known.dialect = replace(known.dialect, **changed)
            known.doubts = 0

    def _of(self, key: Hashable) -> _Known:
        return self._known.setdefault(key, _Known())


def _differs(name: str, first: Dialect, last: Dialect) -> bool:
    return bool(getattr(first, name) != getattr(last, name))
