"""Identity of wordings (semantics, section 1)."""

import unicodedata

import pytest
from concord_server.domain.text import (
    MAX_TEXT_LENGTH,
    characters_problem,
    label_problem,
    text_key,
    text_problem,
)
from hypothesis import example, given
from hypothesis import strategies as st

SAME = [
    pytest.param("Alice lives in Paris", "alice LIVES in paris", id="case"),
    pytest.param("a  b\t c\n", "a b c", id="white space"),
    pytest.param("a\u00a0b", "a b", id="no-break space"),
    pytest.param("a\u3000b", "a b", id="ideographic space"),
    pytest.param("It works.", "It works", id="full stop"),
    pytest.param("It works!!!", "It works", id="exclamation marks"),
    pytest.param("It works. ! .", "It works", id="marks with spaces between"),
    pytest.param("It works…", "It works...", id="ellipsis"),
    pytest.param("東京は首都です。", "東京は首都です", id="ideographic full stop"),
    pytest.param("یہ کتاب ہے۔", "یہ کتاب ہے", id="Arabic full stop"),
    pytest.param("दिल्ली राजधानी है।", "दिल्ली राजधानी है", id="danda"),
    pytest.param("Le café est ouvert", "Le cafe\u0301 est ouvert", id="composed and decomposed"),
    pytest.param("STRASSE", "Straße", id="sharp s"),
    pytest.param("ΟΔΟΣ", "οδος", id="capital sigma"),
    pytest.param("οδός", "οδόσ", id="final sigma"),
    pytest.param("\u1e9bx\u0323", "\u1e61x\u0323", id="long s with dot"),
    pytest.param("Draws 5 mW", "draws 5 mW.", id="unit kept, words around folded"),
    pytest.param("5 mW IS LITTLE", "5 mW is little", id="only the token after the number is kept"),
]

DIFFERENT = [
    pytest.param("Draws 5 mW", "Draws 5 MW", id="unit after a space"),
    pytest.param("Draws 5mW", "Draws 5MW", id="unit attached"),
    pytest.param("Draws (5mW)", "Draws (5MW)", id="unit attached, in brackets"),
    pytest.param("Draws (5 mW)", "Draws (5 MW)", id="number in brackets"),
    pytest.param("Draws 1,000.5 mW", "Draws 1,000.5 MW", id="separators"),
    pytest.param("Draws -5 mW", "Draws -5 MW", id="negative"),
    pytest.param("Draws −5 mW", "Draws −5 MW", id="minus sign"),
    pytest.param("Draws 5-10 mW", "Draws 5-10 MW", id="range"),
    pytest.param("Draws 5–10mW", "Draws 5–10MW", id="range with dash, attached"),
    pytest.param("Draws 1/2 mW", "Draws 1/2 MW", id="fraction"),
    pytest.param("Draws ½ mW", "Draws ½ MW", id="fraction character"),
    pytest.param("Draws 1e3 mW", "Draws 1e3 MW", id="exponent"),
    pytest.param("Draws ~5 mW", "Draws ~5 MW", id="approximately"),
    pytest.param("Draws ٥ mW", "Draws ٥ MW", id="Arabic digits"),
    pytest.param("Is it open?", "Is it open", id="a question mark stays"),
    pytest.param("Is it open?!", "Is it open!", id="a question mark before an exclamation mark"),
    pytest.param("東京は日本の首都です", "京都は日本の首都です", id="Japanese"),
    pytest.param("서울은 수도입니다", "부산은 수도입니다", id="Korean"),
    pytest.param("बिल्ली काली है", "बिल्ला काला है", id="Devanagari vowel signs"),
    pytest.param("กา", "กี", id="Thai vowels"),
    pytest.param("resume", "résumé", id="accents"),
    pytest.param("30 s", "60 s", id="numbers"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_equal_wordings_have_one_key(one, other):
    assert text_key(one) == text_key(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_other_wordings_have_other_keys(one, other):
    assert text_key(one) != text_key(other)


def test_a_question_mark_survives_the_marks_after_it():
    assert text_key("Is it open?!") == "is it open?"


def test_marks_within_a_text_stay():
    assert text_key("Version 1.2. Released!") == "version 1.2. Released"


@given(st.text())
@example("\u03455 MW")
@example("ǰ ΐ ᾳ\u0345")
@example("5 . MW!")
@example("Ⓐ5 MW")
def test_a_key_is_its_own_key(text):
    key = text_key(text)
    assert text_key(key) == key


@given(st.text())
def test_composed_and_decomposed_forms_have_one_key(text):
    composed, decomposed = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    assert text_key(composed) == text_key(decomposed)


@given(st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1))
def test_letters_and_digits_of_every_script_keep_a_key(text):
    assert text_key(text)


@given(st.text(alphabet=" \t\u00a0\u3000").filter(bool), st.text())
def test_padding_never_matters(padding, text):
    assert text_key(padding + text + padding) == text_key(text)


@pytest.mark.parametrize(
    "text", ["x", "7", "東", "한", "ก", "١", "²", "a" * MAX_TEXT_LENGTH, "tab\tand\nline", "😀 ok", "é"]
)
def test_statements_that_can_be_stored(text):
    assert text_problem(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        (" \t\u3000", "empty"),
        ("a" * (MAX_TEXT_LENGTH + 1), "at most 8192"),
        ("a\x00b", "NUL"),
        ("a\ud800b", "surrogates"),
        ("\udfff", "surrogates"),
        ("...", "letter or a digit"),
        ("?!", "letter or a digit"),
        ("😀", "letter or a digit"),
        ("\u0301", "letter or a digit"),
    ],
)
def test_statements_that_cannot_be_stored_say_why(text, words):
    assert words in (text_problem(text) or "")


@given(st.text())
def test_what_can_be_stored_has_a_key_that_can_be_stored(text):
    if text_problem(text) is None:
        assert text_key(text)
        assert characters_problem(text_key(text)) is None


@pytest.mark.parametrize("label", ["", "team a", "東京", "a" * 256, "\u200bx"])
def test_labels_that_are_fine(label):
    assert label_problem(label, max_length=256) is None


@pytest.mark.parametrize(
    ("label", "words"),
    [
        (" ", "non-blank"),
        ("\u3000\t", "non-blank"),
        ("a" * 257, "at most 256"),
        ("a\nb", "control"),
        ("a\x00b", "control"),
        ("a\x7fb", "control"),
        ("a\ud800", "surrogates"),
    ],
)
def test_labels_that_are_not_say_why(label, words):
    assert words in (label_problem(label, max_length=256) or "")
