"""Lines of a file of any size, with their numbers, read as they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

MAX_LINE_BYTES = 1024 * 1024
"""Longest line. A statement has at most 8192 characters, so this leaves ample room for what goes with it."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LineError(ValueError):
    """A line that holds no statement; the message says why."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank.

    Attributes:
        number: counted from 1, blank lines included.
        end: bytes of the file up to and with this line, to tell how far a run has come.
        content: the line without white space around it.
        problem: why it cannot be read; ``content`` is empty then.
    """

    number: int
    end: int
    content: str = ""
    problem: str = ""


def read_lines(stream: BinaryIO) -> Iterator[Line]:
    """Yields the lines of a stream that are not blank.

    Lines end with a line feed, or a carriage return and a line feed. A byte order mark is skipped. A line that is
    too long or not UTF-8 is yielded with its problem, so that its neighbours can be used.
    """
    number = end = 0
    while raw := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        end += len(raw)
        if len(raw) > MAX_LINE_BYTES and not raw.endswith(b"\n"):
            end += _skip_line(stream, raw)
            yield Line(number, end, problem=f"is longer than {MAX_LINE_BYTES} bytes")
            continue
        if number == 1:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        try:
            content = raw.decode().strip()
        except UnicodeDecodeError as error:
            yield Line(number, end, problem=f"is not UTF-8: {error.reason} at byte {error.start + 1}")
            continue
        if content:
            yield Line(number, end, content)


def _skip_line(stream: BinaryIO, raw: bytes) -> int:
    """Reads to the end of a line that began with ``raw``, and returns the number of bytes read."""
    skipped = 0
    while raw and not raw.endswith(b"\n"):
        raw = stream.readline(MAX_LINE_BYTES)
        skipped += len(raw)
    return skipped
