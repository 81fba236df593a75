"""Prints the corpus of models' answers as a table: what each is, and which readers read it as it should be.

Run it from the repository: ``python -m scripts.answers_table``. With ``--summary`` it prints counts alone. Where the
package json-repair is installed, it is compared with too.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from typing import Any

from concord_server.domain.answers import Answer, UnreadableAnswer, items_of

from tests.unit.answers.corpus import ITEM_KEYS, Entry, Result, entries, result_of

STATES = ("parsed", "partial", "error")
Reader = Callable[[str], Any]


def strict(text: str) -> Any:  # noqa: ANN401 - JSON of any type
    """Returns the JSON of a text that is nothing else."""
    return json.loads(text)


def repaired(text: str) -> Any:  # noqa: ANN401 - JSON of any type
    """Returns what json-repair makes of a text."""
    import json_repair

    return json_repair.loads(text)


def same_items(entry: Entry, reader: Reader) -> bool:
    """Tells whether a reader finds the items of an entry; that it is partial need not be noticed."""
    try:
        value = reader(entry.answer)
    except (ValueError, RecursionError):
        return entry.result.state == "error"
    if not isinstance(value, dict | list):
        return entry.result.state == "error"
    items = items_of(Answer(value), "facts", ITEM_KEYS)
    if isinstance(items, UnreadableAnswer):
        return entry.result.state == "error"
    return entry.result.state != "error" and repr(list(items.values)) == repr(list(entry.result.items))


def same(entry: Entry) -> bool:
    """Tells whether an entry is read as it should be, losses told."""
    read = result_of(entry.answer, complete=entry.complete)
    return _plain(read) == _plain(entry.result)


def _plain(result: Result) -> str:
    return repr((result.state, list(result.items), result.losses, result.reason))


def _counted(state: str, rows: list[list[str]]) -> list[str]:
    readers = zip(*(row[3:] for row in rows), strict=True)
    return [state, str(len(rows)), *(str(read.count("yes")) for read in readers)]


def main(arguments: list[str]) -> None:
    """Prints the table."""
    corpus = entries()
    others: dict[str, Reader] = {"json": strict}
    if importlib.util.find_spec("json_repair") is not None:
        others["json-repair"] = repaired
    names = ["answer", "result", "items", *others, "this"]
    rows = [
        [
            entry.name,
            " ".join((entry.result.state, *entry.result.losses, entry.result.reason)).strip(),
            str(len(entry.result.items)),
            *("yes" if same_items(entry, reader) else "no" for reader in others.values()),
            "yes" if same(entry) else "no",
        ]
        for entry in corpus
    ]
    if "--summary" in arguments:
        names = ["result", "answers", *others, "this"]
        rows = [
            [
                state,
                str(len(of_state)),
                *(str(sum(row[i] == "yes" for row in of_state)) for i in range(3, len(rows[0]))),
            ]
            for state in ("parsed", "partial", "error")
            if (of_state := [row for row in rows if row[1].startswith(state)])
        ]
    print(f"| {' | '.join(names)} |")
    print(f"|{' --- |' * len(names)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
