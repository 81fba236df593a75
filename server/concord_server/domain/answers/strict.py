"""Reads values that are JSON as it should be, so that no leniency can misread them."""

from __future__ import annotations

import json
import math
from typing import Any

from concord_server.domain.answers.tokens import MAX_DIGITS, paired
from concord_server.domain.values import Json

_BUDGET = 4
_ERROR_COST = 64


class StrictReader:
    """Reads the objects and arrays of one text that are valid JSON without peculiarities."""

    def __init__(self, text: str, max_depth: int) -> None:
        self._text = text
        self._max_depth = max_depth
        # What fails is read again by others: together at most this many characters, so that reading stays linear.
        self._left = _BUDGET * len(text)
        self._decoder = json.JSONDecoder(
            object_pairs_hook=_unique, parse_constant=lambda _: None, parse_int=_integer, parse_float=_number
        )

    def read(self, position: int, depth: int) -> tuple[dict[str, Json] | list[Json], int] | None:
        """Returns the value that begins at ``position``, within ``depth`` others, and the position after it.

        ``None`` where it is no valid JSON, gives a key twice or is nested too deep: that is for the tolerant reader.
        """
        if self._left <= 0:
            return None
        try:
            value, end = self._decoder.raw_decode(self._text, position)
            return self._checked(value, depth + 1), end
        except json.JSONDecodeError as error:
            unterminated = error.msg.startswith("Unterminated")
            self._left -= (len(self._text) if unterminated else error.pos) - position
            self._left -= error.pos // _ERROR_COST  # to tell its line, the error counts those before it
        except (ValueError, RecursionError):
            self._left -= len(self._text) // _BUDGET
        return None

    def _checked(self, value: Any, depth: int) -> Any:  # noqa: ANN401 - what the decoder gives, of any type
        """Returns a value with text that can be stored, of at most the depth that can be.

        Raises:
            ValueError: it is deeper.
        """
        if isinstance(value, str):
            return paired(value)
        if not isinstance(value, dict | list):
            return value
        if depth > self._max_depth:
            raise ValueError("nested too deep")
        if isinstance(value, list):
            return [self._checked(item, depth + 1) for item in value]
        return {paired(key): self._checked(item, depth + 1) for key, item in value.items()}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is given twice")
    return members


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= MAX_DIGITS else digits


def _number(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None
