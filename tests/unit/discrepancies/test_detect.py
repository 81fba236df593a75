"""What holds for every pair of texts."""

import pytest
from concord_server.domain.discrepancies import detect, readable
from concord_server.domain.judgement import Discrepancy
from hypothesis import given, settings
from hypothesis import strategies as st

ORDER = list(Discrepancy)


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_can_be_compared(statement, known):
    found = detect(statement, known)
    assert [f.kind for f in found] == sorted((f.kind for f in found), key=ORDER.index)


_WORDS = st.sampled_from(
    [
        "Ana",
        "the",
        "not",
        "30",
        "5km",
        "March",
        "at",
        "6",
        "pm",
        "$9",
        "is",
        "all",
        "must",
        "no",
        "longer",
        "by",
        "of",
        "Oslo's",
        "v1.2",
        "from",
        "to",
        "above",
        "12:30",
        "half",
    ]
)


@settings(deadline=None)
@given(st.lists(_WORDS, max_size=12).map(" ".join), st.lists(_WORDS, max_size=12).map(" ".join))
def test_any_jumble_of_the_words_that_detectors_look_for_can_be_compared(statement, known):
    detect(statement, known)


@settings(deadline=None)
@given(st.text(max_size=200))
def test_identical_texts_never_differ(text):
    assert detect(text, text) == ()


@settings(deadline=None)
@given(st.lists(_WORDS, max_size=12).map(" ".join))
def test_case_and_spacing_alone_are_no_difference(text):
    assert detect(f"  {text}. ", text) == ()


def test_other_scripts_are_compared_by_their_quantities_alone():
    assert not readable("東京は日本の首都です", "大阪は日本の首都です")
    assert detect("東京は日本の首都です", "大阪は日本の首都です") == ()
    assert [f.kind for f in detect("会議は3時間です", "会議は5時間です")] == [Discrepancy.NUMBER]


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("Le café est ouvert", "Le café est fermé"),
        ("El banco está abierto", "El banco está cerrado"),
        ("La tienda abre sus puertas temprano", "La tienda abre sus puertas tarde"),
        ("Der Laden ist offen", "Der Laden ist zu"),
    ],
)
def test_other_languages_in_latin_letters_are_not_read_as_english(statement, known):
    assert not readable(statement, known)


@pytest.mark.parametrize(
    "text",
    ["The cafe is open", "Uses Neovim daily", "Team of 8", "Switched to Notion", "Café Zoë opened in Malmö"],
)
def test_english_is_read_as_english_even_in_fragments(text):
    assert readable(text, text)


def test_findings_of_one_kind_are_kept_apart_and_kinds_come_in_order():
    found = detect("Ana paid $30 on Monday", "Ben paid $40 on Tuesday")
    assert [f.kind for f in found] == [Discrepancy.NUMBER, Discrepancy.DATE, Discrepancy.ENTITY]
