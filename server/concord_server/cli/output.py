"""What commands write to standard output: laid out on a terminal, tab-separated when piped.

Statements come from anywhere, so nothing in them may reach a terminal as a control sequence, break a row, or be
taken for markup.
"""

from __future__ import annotations

import io
import json
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType


class OutputFormat(StrEnum):
    """How a command writes its result."""

    TABLE = "table"
    JSON = "json"


_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def printable(text: str) -> str:
    """Returns ``text`` on one line, with control characters as escapes."""
    if text.isprintable():
        return text
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    # Cf holds the characters that reorder text (which can disguise it), but also the joiners that scripts need.
    if unicodedata.category(character) in {"Cc", "Zl", "Zp"} or character in _REORDERING:
        return character.encode("unicode_escape").decode("ascii")
    return character


_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


_UNWRAPPED = 100_000


def on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def write_rows(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Writes a header and rows, tab-separated, one per line."""
    write_line("\t".join(columns))
    for row in rows:
        write_row(row)


def write_row(row: Iterable[object]) -> None:
    """Writes one row, tab-separated."""
    write_line("\t".join(cell(value) for value in row))


def write_fields(fields: Iterable[tuple[str, object]]) -> None:
    """Writes names and values, tab-separated, one pair per line."""
    for name, value in fields:
        write_line(f"{name}\t{cell(value)}")


def write_json(value: object) -> None:
    """Writes one JSON document, indented on a terminal."""
    write_line(json.dumps(value, ensure_ascii=False, indent=2 if on_terminal() else None))


def write_line(line: str) -> None:
    """Writes one line."""
    sys.stdout.write(line + "\n")


def show(*renderables: RenderableType) -> None:
    """Lays renderables out, one below the other: for a terminal, or as plain lines that are not wrapped.

    Text in them is taken as it is: no markup, emoji codes or highlighting.
    """
    from rich.console import Console

    plain = io.StringIO()
    target = Console(
        file=sys.stdout if on_terminal() else plain,
        width=None if on_terminal() else _UNWRAPPED,
        markup=False,
        emoji=False,
        highlight=False,
        # Variables that force colours are for terminals.
        force_terminal=None if on_terminal() else False,
    )
    for renderable in renderables:
        target.print(renderable)
    for line in plain.getvalue().splitlines():
        write_line(line.rstrip())


def cell(value: object) -> str:
    """Returns the text of a value: empty for None, two decimals for a float, RFC 3339 for a time."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, datetime):
        return moment(value)
    return printable(str(value))


def moment(time: datetime | None) -> str:
    """Returns a time in UTC, to the second, as ``2025-03-02T09:00:00Z``; empty for None."""
    if time is None:
        return ""
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def day(time: datetime | None) -> str:
    """Returns the date of a time in UTC, empty for None."""
    return "" if time is None else time.astimezone(UTC).date().isoformat()


def without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields that say something, for JSON meant to be read."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}
