"""Every answer of the corpus is read as it should be."""

from __future__ import annotations

import pytest

from tests.unit.answers.corpus import Entry, entries, result_of

CORPUS = entries()


@pytest.mark.parametrize("entry", CORPUS, ids=lambda entry: entry.name)
def test_the_answer_is_read(entry: Entry) -> None:
    assert _plain(result_of(entry.answer, complete=entry.complete)) == _plain(entry.result)


def test_the_corpus_is_of_different_answers() -> None:
    assert len({entry.name for entry in CORPUS}) == len(CORPUS) >= 60


def _plain(result: object) -> str:
    return repr(result).replace("items=()", "items=[]")  # so that 1 and True, 1 and 1.0 differ
