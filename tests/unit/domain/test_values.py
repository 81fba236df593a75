"""Values of claims, predicates and slots (semantics, section 4)."""

import unicodedata

import pytest
from concord_server.domain.values import (
    MAX_DEPTH,
    Json,
    canonical,
    carry_forward,
    normalise_predicate,
    normalise_subject,
    slot_key,
    text_value_key,
    value_key,
    value_problem,
)
from hypothesis import example, given
from hypothesis import strategies as st

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(-(2.0**53), 2.0**53)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4)


def nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (3, 3.0),
        (0.0, -0.0),
        (2**53, 2.0**53),
        ("Blue", " blue\t"),
        ("café", "cafe\u0301"),
        ("Straße", "STRASSE"),
        ("ΐ", "Ϊ́"),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}),
        ({"a": {"x": "Y", "z": [1]}}, {"a": {"z": [1.0], "x": "y"}}),
        ([1, "A"], [1.0, "a"]),
    ],
)
def test_equal_values_have_one_key(one, other):
    assert value_key(one) == value_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (3, "3"),
        (3, 3.5),
        (1, True),
        (0, False),
        (0, None),
        ("", None),
        ([], {}),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"A": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ("a b", "ab"),
        (0.1 + 0.2, 0.3),
        (2**53, 2**53 - 1),
    ],
)
def test_other_values_have_other_keys(one, other):
    assert value_key(one) != value_key(other)


def test_a_wording_never_equals_a_value():
    assert text_value_key("blue") != value_key("blue")


@given(JSON)
def test_the_canonical_form_is_its_own_canonical_form(value):
    once = canonical(value)
    assert canonical(once) == once
    assert value_key(once) == value_key(value)


@given(OBJECTS)
def test_key_order_never_matters(value):
    assert value_key(dict(reversed(value.items()))) == value_key(value)


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("ΐ")
def test_composed_and_decomposed_strings_are_equal(text):
    assert value_key(unicodedata.normalize("NFD", text)) == value_key(unicodedata.normalize("NFC", text))


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -(2**53), 2**53, 2.0**53, 0.1, 5e-324, "", "東京", [], {}, nested(MAX_DEPTH), {"": [{}]}],
)
def test_values_that_can_be_stored(value):
    assert value_problem(value) is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (float("nan"), "finite"),
        (float("inf"), "send it as text"),
        (-float("inf"), "finite"),
        (2**53 + 1, "send it as text"),
        (-(2**53) - 1, "2^53"),
        (2.0**54, "2^53"),
        (1e300, "2^53"),
        pytest.param(10**400, "send it as text", id="larger than any double"),
        ([1, {"a": [float("nan")]}], "finite"),
        ({"a": 2**60}, "2^53"),
        ("a\x00", "NUL"),
        ({"a\x00": 1}, "NUL"),
        (["\ud800"], "surrogates"),
        (nested(MAX_DEPTH + 1), "nested"),
        (nested(5000), "nested"),
    ],
)
def test_values_that_cannot_be_stored_say_why(value, words):
    assert words in (value_problem(value) or "")


@given(JSON)
def test_what_can_be_stored_has_a_key(value):
    if value_problem(value) is None:
        assert len(value_key(value)) == 64


@pytest.mark.parametrize(
    ("previous", "patch", "result"),
    [
        ({"a": 1, "b": 2}, {"b": 3}, {"a": 1, "b": 3}),
        ({"a": 1, "b": 2}, {"b": None}, {"a": 1}),
        ({"a": 1}, {"c": None}, {"a": 1}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": 3}}, {"a": {"x": 3}}),
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"a": None}, {}),
        (None, {"a": 1, "b": None}, {"a": 1}),
        ("text", {"a": 1}, {"a": 1}),
        ([1], {"a": 1}, {"a": 1}),
        ({"a": 1}, "text", "text"),
        ({"a": 1}, [2], [2]),
        ({"a": 1}, None, None),
        ({"a": 1}, {"b": False}, {"a": 1, "b": False}),
        ({"a": 1}, {"b": {"x": None}}, {"a": 1, "b": {"x": None}}),
    ],
)
def test_keys_that_are_not_restated_are_carried_forward(previous, patch, result):
    assert carry_forward(previous, patch) == result


@given(OBJECTS, OBJECTS)
def test_restating_a_patch_changes_nothing(previous, patch):
    once = carry_forward(previous, patch)
    assert carry_forward(once, patch) == once


@given(OBJECTS, OBJECTS)
def test_carrying_forward_leaves_its_inputs_alone(previous, patch):
    before = (dict(previous), dict(patch))
    carry_forward(previous, patch)
    assert (previous, patch) == before


@pytest.mark.parametrize(
    ("given_as", "normal"),
    [
        ("favorite_color", "favorite_color"),
        ("Favorite Color", "favorite_color"),
        ("favoriteColor", "favorite_color"),
        ("favorite-color", "favorite_color"),
        ("  favorite__color_ ", "favorite_color"),
        ("favorite _ color", "favorite_color"),
        ("FAVORITE COLOR", "favorite_color"),
        ("ceo", "ceo"),
        ("CEO", "ceo"),
        ("homeURL", "home_url"),
        ("bike.count", "bike_count"),
        ("score2", "score2"),
        ("любимый цвет", "любимый_цвет"),
        ("любимыйЦвет", "любимый_цвет"),
        ("好きな色", "好きな色"),
        ("पसंदीदा रंग", "पसंदीदा_रंग"),
        ("สีที่ชอบ", "สีที่ชอบ"),
        ("cafe\u0301", "café"),
        ("...", ""),
        ("", ""),
    ],
)
def test_predicates_in_lower_snake_case(given_as, normal):
    assert normalise_predicate(given_as) == normal


def test_marks_of_other_scripts_tell_predicates_apart():
    assert normalise_predicate("की") != normalise_predicate("का")


@given(st.text())
@example("İstanbul")
@example("ΐ")
@example("aꭰ")
def test_a_normal_predicate_is_its_own_normal_form(text):
    normal = normalise_predicate(text)
    assert normalise_predicate(normal) == normal
    assert normal == normal.strip("_")
    assert "__" not in normal


@given(st.text())
@example("ΐ")
def test_a_normal_subject_is_its_own_normal_form_and_form_never_matters(text):
    normal = normalise_subject(text)
    assert normalise_subject(normal) == normal
    assert normalise_subject(unicodedata.normalize("NFD", text)) == normal


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Priya", "p", {}), (" priya ", "p", {})),
        (("Anna  Lee", "p", {}), ("anna lee", "p", {})),
        (("ΐ", "p", {}), ("Ϊ́", "p", {})),
        (("s", "p", {"a": 1, "b": "X"}), ("s", "p", {"b": "x ", "a": 1.0})),
    ],
)
def test_one_slot(one, other):
    assert slot_key(*one) == slot_key(*other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "p", {}), ("b", "p", {})),
        (("a", "p", {}), ("a", "q", {})),
        (("a", "p", {"bound": "lower"}), ("a", "p", {"bound": "upper"})),
        (("a", "p", {}), ("a", "p", {"bound": "lower"})),
        (("a", "b c", {}), ("a b", "c", {})),
        (('a","p', "q", {}), ("a", 'p","q', {})),
    ],
)
def test_other_slots(one, other):
    assert slot_key(*one) != slot_key(*other)


def test_what_discriminates_is_part_of_the_slot():
    assert slot_key("a", "p", {}, discriminator="x") != slot_key("a", "p", {}, discriminator="y")
