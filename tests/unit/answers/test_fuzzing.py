"""Whatever a model says is read, read in part with its losses told, or an error: nothing else happens."""

from __future__ import annotations

import json
from typing import Any

import pytest
from concord_server.domain.answers import MAX_ANSWER_CHARACTERS, Answer, UnreadableAnswer, read_answer
from concord_server.domain.values import Json
from hypothesis import strategies as st

from tests.unit.answers.corpus import WANTED, entries, fuzz, result_of

_PIECES = [
    *"{}[]:,\"'`“”\\/#-.0123456789 \n\t",
    *(
        '"facts"',
        '"predicate"',
        '"value"',
        "facts:",
        "null",
        "NaN",
        "true",
        "None",
        "1e999",
        "-",
        "...",
        '\\"',
        "\\u",
    ),
    *('{"facts": [', '{"predicate": "p", "value": "v"}', "]}", "},{", "```", "```json\n", "<think>", "</think>"),
    *("<|channel|>final<|message|>", "//", "/*", "*/", "Sure!", "\ud800", "\x00", "é", "東", "\ufeff"),
]
_words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_plain = st.text("abcdefgh XYZ123.,;!?-", min_size=1, max_size=16)


def _json(strings: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    numbers = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
    return st.recursive(
        st.none() | st.booleans() | numbers | strings,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3),
        max_leaves=6,
    )


def _answers(strings: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Answers as they were asked for, with anything as values."""
    facts = st.fixed_dictionaries(
        {"predicate": strings, "value": _json(strings)},
        optional={"evidence": strings, "confidence": st.floats(0, 1)},
    )
    return st.fixed_dictionaries({"reasoning": strings, "facts": st.lists(facts, max_size=4)})


@st.composite
def _damaged(draw: st.DrawFn) -> tuple[str, list[Json]]:
    """An answer of plain words with a few characters lost, changed or added; and its facts as they were."""
    answer = draw(_answers(_plain))
    text = json.dumps(answer)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(len(text) - 1, 0)))
        lost = draw(st.integers(0, 2))
        text = text[:at] + draw(st.sampled_from(["", *_PIECES])) + text[at + lost :]
    return text, answer["facts"]


@fuzz(st.text(max_size=300) | st.lists(st.sampled_from(_PIECES), max_size=60).map("".join), st.booleans())
def test_any_text_is_read_or_an_error(text: str, complete: bool) -> None:
    result = result_of(text, complete=complete)
    assert (result.state == "error") == bool(result.reason)
    assert (result.state == "partial") == bool(result.losses)


@fuzz(_answers(_words), st.booleans(), st.sampled_from([None, 2]))
def test_what_is_json_is_read_as_json(answer: dict[str, Any], ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(answer, ensure_ascii=ascii_only, indent=indent)
    assert _repr(read_answer(text, WANTED)) == _repr(Answer(answer))


@fuzz(
    _answers(_words),
    st.sampled_from(["", "Here you are:\n", '<think>{["</think>', "I see {this} and [that].\n", "draft</think>"]),
    st.sampled_from([("", ""), ("```json\n", "\n```"), ("~~~\n", "\n~~~"), ("```JSON ", "```")]),
    st.sampled_from(["", "\nAnything else?", "\n\n[done] {for now}"]),
)
def test_what_is_around_an_answer_changes_nothing(
    answer: dict[str, Any], before: str, fence: tuple[str, str], after: str
) -> None:
    text = f"{before}{fence[0]}{json.dumps(answer)}{fence[1]}{after}"
    assert _repr(read_answer(text, WANTED)) == _repr(Answer(answer))


@fuzz(_answers(_words), st.data())
def test_of_a_cut_answer_the_finished_facts_are_kept_and_the_loss_is_told(answer: dict[str, Any], data) -> None:
    facts = answer["facts"]
    begin = json.dumps({"reasoning": answer["reasoning"], "facts": []})[:-2]
    text = begin + json.dumps(facts)[1:]
    cut = text[: data.draw(st.integers(0, len(text)))]
    result = result_of(cut)
    finished = sum(len(cut) >= len(begin) + len(json.dumps(facts[:n])) - 2 for n in range(1, len(facts) + 1))
    assert result.state == ("partial" if len(cut) >= len(begin) or result.items else result.state)
    assert result.state in ("partial", "error")
    assert repr(list(result.items)) == repr(facts[:finished])


@fuzz(_damaged())
def test_what_is_damaged_is_never_lost_in_silence(damaged: tuple[str, list[Json]]) -> None:
    text, facts = damaged
    result = result_of(text)
    if result.state == "parsed":
        assert len(result.items) >= len(facts)


@fuzz(_damaged())
def test_no_words_are_invented(damaged: tuple[str, list[Json]]) -> None:
    text, _ = damaged
    answer = read_answer(text, WANTED)
    if isinstance(answer, Answer) and "\\" not in text:  # escapes stand for other characters
        whole = text.replace("\ud800", "\ufffd")  # half a character is none
        for word in _words_of(answer.value):
            assert word in whole


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_beginning_of_an_answer_is_read_or_an_error(entry) -> None:
    for end in range(len(entry.answer)):
        result = result_of(entry.answer[:end], complete=False)
        assert (result.state == "error") == bool(result.reason)


@pytest.mark.parametrize(
    "piece",
    [
        *("[", "]", "{", "}", '{"a":', "[1,", '"', "'", "\\", "a", " ", "\n", ",", ":", "1", "-", "#", "/*", "//"),
        *(
            '"a" "b" ',
            '{"a": 1} ',
            '{"facts": [',
            "<think>",
            "</think>",
            "```\n",
            '", "',
            '": "',
            '"b": ',
            "x' ",
            "“",
        ),
        *('{"predicate": "x, ', '["', "{ x ", "[ x", '{"facts":["a" x'),
    ],
)
@pytest.mark.parametrize("before", ["", '{"facts": [{"predicate": "p", "value": "', '{"facts": ['])
def test_one_token_again_and_again_is_read_or_an_error(before: str, piece: str) -> None:
    text = before + piece * ((1 << 16) // len(piece))
    result = result_of(text, complete=False)
    assert result.state in ("partial", "error", "parsed")


def test_of_an_answer_that_is_too_long_the_beginning_is_read() -> None:
    text = '{"facts": [' + '{"predicate": "p", "value": 1},' * (MAX_ANSWER_CHARACTERS // 31 + 9) + "]}"
    answer = read_answer(text, WANTED)
    assert isinstance(answer, Answer)
    assert answer.cut_off
    assert len(result_of(text).items) == (MAX_ANSWER_CHARACTERS - 11) // 31


def test_megabytes_of_an_open_string_are_cut_off() -> None:
    assert result_of('{"facts": [{"predicate": "p", "value": "' + "a" * (8 << 20)).losses == (
        "cut_off",
        "too_long",
    )


@pytest.mark.parametrize("value", ["\ud800", '"a\ud800b"', '"\\udfff"', "{k: \ud800 \udfff}"])
def test_half_a_character_is_replaced_wherever_it_stands(value: str) -> None:
    [item] = result_of('{"facts": [{"predicate": "p", "value": ' + value + "}]}").items
    assert "\N{REPLACEMENT CHARACTER}" in json.dumps(item, ensure_ascii=False)
    json.dumps(item, ensure_ascii=False).encode("utf-8")  # fails for half a character


def test_deep_nesting_is_cut_and_told() -> None:
    deep = (
        '{"facts": [{"predicate": "p", "value": ' + "[" * 5000 + "]" * 5000 + '}, {"predicate": "q", "value": 1}]}'
    )
    result = result_of(deep)
    assert result.losses == ("too_deep",)
    assert [item["predicate"] for item in result.items] == ["p", "q"]


def _repr(answer: Answer | UnreadableAnswer) -> str:
    return repr(answer)


def _words_of(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [word for item in value for word in _words_of(item)]
    if isinstance(value, dict):
        return [word for key, item in value.items() for word in [key, *_words_of(item)]]
    return []
