"""Reads one value from a position in a text: JSON as it should be, or as models write it.

Accepted beside JSON: any quotes, unescaped quotes within strings, line breaks in strings, keys and words without
quotes, trailing, double and missing commas, missing and wrong closing brackets, comments, Python's literals. Depth is
bounded, nothing recurses, and every character is looked at a bounded number of times.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from concord_server.domain.answers.answer import Loss
from concord_server.domain.answers.strict import StrictReader
from concord_server.domain.answers.tokens import (
    OPENING_QUOTES,
    Place,
    Strings,
    Token,
    scalar,
    skip_blank,
    skip_space,
)
from concord_server.domain.values import Json

MAX_DEPTH = 64
"""Containers within each other; a claim's value may not be half as deep."""

FENCES = ("```", "~~~")

_BARE_KEY = re.compile(r"[\w$@.-]{1,64}(?=\s*:)")
_BEGINS_OBJECT = re.compile(
    r"""\{\s*(?:\}|//|/\*|["'`“‘„«][^\n]{0,80}?["'`”’“»]\s*:|[A-Za-z_]\w{0,63}\s*:|["'][^"'\n]{0,64}\Z|\Z)"""
)
_BEGINS_ARRAY = re.compile(
    r"""\[\s*(?:[\[\]{]|//|/\*|["'`“‘„«]|[+-]?\.?\d|(?:true|false|null|True|False|None|NaN)\b|\Z)"""
)


class Read(NamedTuple):
    """A value with the position after it, and what is missing from it."""

    value: dict[str, Json] | list[Json]
    end: int
    losses: tuple[Loss, ...]

    @property
    def cut(self) -> bool:
        """Whether the text ended within it."""
        return Loss.CUT_OFF in self.losses


@dataclass(slots=True)
class _Object:
    members: dict[str, Json] = field(default_factory=dict)
    key: str | None = None
    first: str | None = None


@dataclass(slots=True)
class _Array:
    elements: list[Json] = field(default_factory=list)
    has_objects: bool = False


_Frame = _Object | _Array


def begins_value(text: str, position: int) -> bool:
    """Tells whether an object or an array may begin here, rather than a bracket of prose."""
    pattern = _BEGINS_OBJECT if text[position] == "{" else _BEGINS_ARRAY
    return pattern.match(text, position) is not None


class ValueReader:
    """Reads the objects and arrays of one text, from the first to the last."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._strict = StrictReader(text, MAX_DEPTH)
        self._strings = Strings(text)
        self._frames: list[_Frame] = []
        self._buried = 0
        self._position = 0
        self._losses: dict[Loss, None] = {}

    def read(self, position: int) -> Read:
        """Reads the object or array that begins at ``position``."""
        valid = self._strict.read(position, 0)
        if valid is not None:
            return Read(valid[0], valid[1], ())
        self._position = position
        self._frames = []
        self._buried = 0
        self._losses = {}
        self._open()
        while True:
            self._position = skip_blank(self._text, self._position)
            if self._position >= len(self._text) or self._text.startswith(FENCES, self._position):
                return self._cut()
            character = self._text[self._position]
            if character in "}]":
                root = self._close(character)
                if root is not None:
                    return Read(root, self._position, tuple(self._losses))
            elif character in ",;":
                self._position += 1
            elif self._buried:
                if not self._skip_buried(character):
                    return self._cut()
            elif not self._step(character):
                return self._cut()

    def _step(self, character: str) -> bool:
        """Reads a member or an element, or opens one; returns whether the text goes on."""
        frame = self._frames[-1]
        if isinstance(frame, _Array):
            return self._value(character, Place.ELEMENT)
        if not self._key(frame, character):
            return self._position < len(self._text)
        self._position = skip_blank(self._text, self._position)
        if self._position >= len(self._text):
            return False
        character = self._text[self._position]
        if character in ",}]":  # a key without a value
            self._put(None)
            return True
        return self._value(character, Place.MEMBER)

    def _value(self, character: str, place: Place) -> bool:
        if character in "{[":
            valid = self._strict.read(self._position, len(self._frames))
            if valid is None:
                self._open()
            else:
                value, self._position = valid
                self._put(value)
            return True
        if character in OPENING_QUOTES:
            token = self._strings.read(self._position, place)
        else:
            token = scalar(self._text, self._position, place)
            if token.closed and token.end == self._position:  # a quote or bracket of another kind
                return self._skip_one()
        self._position = token.end
        if not token.closed:
            return False
        if token.doubtful:
            self._lose(Loss.UNREADABLE_PART)
        frame = self._frames[-1]
        bare = character not in OPENING_QUOTES and isinstance(token.value, str)
        if bare and isinstance(frame, _Array) and (frame.has_objects or not str(token.value).strip(".…")):
            self._lose(Loss.UNREADABLE_PART)  # words between objects, or an ellipsis: no element
            return True
        self._put(token.value)
        return True

    def _key(self, frame: _Object, character: str) -> bool:
        """Reads a key and its colon; returns whether there was one, else skips what is there and says so."""
        if character in OPENING_QUOTES:
            token = self._strings.read(self._position, Place.KEY)
        else:
            match = _BARE_KEY.match(self._text, self._position)
            if match is None:
                self._skip_one()
                return False
            token = Token(match.group(), match.end())
        self._position = token.end
        after = skip_space(self._text, token.end)
        if not token.closed or after >= len(self._text):
            self._position = len(self._text)
            return False
        if self._text[after] != ":":
            self._lose(Loss.UNREADABLE_PART)
            return False
        self._position = after + 1
        self._begin_member(frame, str(token.value))
        return True

    def _begin_member(self, frame: _Object, key: str) -> None:
        """Notes the key. The first key of an array's object again, after others, begins the next object."""
        parent = self._frames[-2] if len(self._frames) > 1 else None
        if key == frame.first and len(frame.members) > 1 and isinstance(parent, _Array):
            self._frames.pop()
            self._put(frame.members)
            frame = _Object()
            self._frames.append(frame)
        frame.first = frame.first if frame.first is not None else key
        frame.key = key

    def _skip_one(self) -> bool:
        self._lose(Loss.UNREADABLE_PART)
        self._position += 1
        return self._position < len(self._text)

    def _skip_buried(self, character: str) -> bool:
        """Passes over what is too deep, but for brackets; returns whether the text goes on."""
        if character in "{[":
            self._buried += 1
            self._position += 1
        elif character in OPENING_QUOTES:
            self._position = self._strings.read(self._position, Place.ELEMENT).end
        else:
            end = scalar(self._text, self._position, Place.ELEMENT).end
            self._position = max(end, self._position + 1)
        return self._position < len(self._text)

    def _open(self) -> None:
        if len(self._frames) >= MAX_DEPTH:
            self._lose(Loss.TOO_DEEP)
            self._buried += 1
        else:
            self._frames.append(_Object() if self._text[self._position] == "{" else _Array())
        self._position += 1

    def _close(self, bracket: str) -> dict[str, Json] | list[Json] | None:
        """Closes the innermost container of this kind, and what was left open within it; returns the root once done."""
        self._position += 1
        if self._buried:  # kinds are not told apart here
            self._buried -= 1
            if not self._buried:
                self._put(None)
            return None
        kind = _Object if bracket == "}" else _Array
        if not any(isinstance(frame, kind) for frame in self._frames):
            self._lose(Loss.UNREADABLE_PART)
            return None
        while True:
            frame = self._frames.pop()
            value = _value_of(frame)
            if not self._frames:
                return value
            self._put(value)
            if isinstance(frame, kind):
                return None

    def _put(self, value: Json) -> None:
        """Adds a finished value to the innermost container."""
        frame = self._frames[-1]
        if isinstance(frame, _Array):
            frame.elements.append(value)
            frame.has_objects = frame.has_objects or isinstance(value, dict)
            return
        key, frame.key = frame.key, None
        assert key is not None, "a value follows a key"
        known = frame.members.get(key)
        if known is None or value is None or known == value:
            frame.members[key] = value if known is None else known
        elif isinstance(known, list) and isinstance(value, list):
            known.extend(value)
        else:
            self._lose(Loss.DUPLICATE_KEY)
            frame.members[key] = value

    def _cut(self) -> Read:
        """Returns the root without what was unfinished.

        That is the open element of the outermost open array, since its finished elements stand for themselves; without
        an open array, the open member of the root.
        """
        self._lose(Loss.CUT_OFF)
        frames = self._frames
        kept = 1
        for index, frame in enumerate(frames):
            inner = frames[index + 1] if index + 1 < len(frames) else None
            if isinstance(frame, _Array) and not isinstance(inner, _Array):
                kept = index + 1
                break
        del frames[kept:]
        while len(frames) > 1:
            self._put(_value_of(frames.pop()))
        return Read(_value_of(frames[0]), self._position, tuple(self._losses))

    def _lose(self, loss: Loss) -> None:
        self._losses[loss] = None


def _value_of(frame: _Frame) -> dict[str, Json] | list[Json]:
    return frame.members if isinstance(frame, _Object) else frame.elements
