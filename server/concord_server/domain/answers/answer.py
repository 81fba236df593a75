"""What became of a model's answer: read, read in part, or unreadable."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from concord_server.domain.values import Json


class Loss(StrEnum):
    """Something of an answer that is not in what was read from it."""

    CUT_OFF = "cut_off"
    """The text ends before the value does; what was unfinished is left out."""
    TOO_LONG = "too_long"
    """Only the beginning was read."""
    TOO_DEEP = "too_deep"
    """What is nested too deep is left out; what is above it stays, too deep to be a claim's value."""
    DUPLICATE_KEY = "duplicate_key"
    """An object gives a key twice with different values: the last counts."""
    UNREADABLE_PART = "unreadable_part"
    """Something between the values is no JSON."""
    OTHER_VALUE = "other_value"
    """The text has a further answer, apart from this one: the last counts."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that was read.

    Attributes:
        value: an object or an array; ``null``, and numbers that are not finite, are ``None``.
        losses: what is missing from it, each once; empty when nothing is.
    """

    value: dict[str, Json] | list[Json]
    losses: tuple[Loss, ...] = ()

    @property
    def partial(self) -> bool:
        """Whether something is missing."""
        return bool(self.losses)

    @property
    def cut_off(self) -> bool:
        """Whether the text ended before the answer did."""
        return Loss.CUT_OFF in self.losses or Loss.TOO_LONG in self.losses


@dataclass(frozen=True, slots=True)
class UnreadableAnswer:
    """An answer that says nothing that can be used. That is an error: an empty list would be an answer.

    Attributes:
        reason: "empty", "no_json", "cut_off" (before the answer began) or "unexpected_shape".
    """

    reason: str
