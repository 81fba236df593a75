"""The corpus of answers, and what is read from each of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from concord_server.domain.answers import Answer, UnreadableAnswer, items_of, read_answer
from hypothesis import given, settings
from hypothesis import strategies as st

ITEM_KEYS = ("predicate",)
WANTED = ("facts", *ITEM_KEYS)

_EXAMPLES = int(os.environ.get("CONCORD_FUZZ_EXAMPLES", "0"))


def fuzz(*strategies: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Returns a decorator that tries a test with the same hundred examples each time.

    With ``CONCORD_FUZZ_EXAMPLES`` set, it is tried with so many, other ones each time.
    """

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        tried = settings(max_examples=_EXAMPLES or 100, derandomize=not _EXAMPLES, deadline=None)
        return tried(given(*strategies)(test))

    return decorated


@dataclass(frozen=True)
class Result:
    """What is read from an answer: ``state`` is parsed, partial or error."""

    state: str
    items: Sequence[Any] = ()
    losses: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Entry:
    name: str
    answer: str
    complete: bool
    result: Result


def entries() -> list[Entry]:
    """Returns the corpus."""
    given = yaml.safe_load((Path(__file__).parent / "corpus.yaml").read_text(encoding="utf-8"))
    return [
        Entry(
            one["name"],
            one["answer"],
            one.get("complete", True),
            Result(
                one["result"], one.get("items", ()), tuple(one.get("losses", ())), reason=one.get("reason", "")
            ),
        )
        for one in given
    ]


def result_of(text: str, *, complete: bool = True) -> Result:
    """Reads an answer that was to hold facts."""
    answer = read_answer(text, WANTED, complete=complete)
    if isinstance(answer, UnreadableAnswer):
        return Result("error", reason=answer.reason)
    return _result(answer)


def _result(answer: Answer) -> Result:
    items = items_of(answer, "facts", ITEM_KEYS)
    if isinstance(items, UnreadableAnswer):
        return Result("error", reason=items.reason)
    state = "partial" if answer.partial else "parsed"
    return Result(state, list(items.values), tuple(loss.value for loss in answer.losses))
