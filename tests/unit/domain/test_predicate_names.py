"""Which names may mean the same, word by word."""

from __future__ import annotations

import pytest
from concord_server.domain.predicate_names import explained


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("favorite_color", "preferred_color"),
        ("favourite_color", "favorite_colour"),
        ("birth_date", "date_of_birth"),
        ("birthplace", "place_of_birth"),
        ("timezone", "time_zone"),
        ("bike_count", "number_of_bikes"),
        ("bike_count", "bikes_count"),
        ("shoe_size", "size_of_shoes"),
        ("name_of_the_wife_of_a_friend", "friend_wife_name"),
        ("annual_salary", "yearly_salary"),
        ("phone_number", "telephone_number"),
        ("gerente", "gerente"),
    ],
)
def test_every_word_has_a_counterpart(one: str, other: str):
    assert explained(one, other)
    assert explained(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bike_count", "car_count"),
        ("start_date", "end_date"),
        ("home_city", "work_city"),
        ("mother_name", "father_name"),
        ("email", "work_email"),
        ("employer", "previous_employer"),
        ("introduced_by", "introduced_to"),
        ("from_city", "to_city"),
        ("floor", "floors"),
        ("invited", "inviting"),
        ("invited", "invited_by"),
        ("latitude", "longitude"),
        ("chapter_1_verse_3", "chapter_3_verse_1"),
        ("goal_1", "goal_1_1"),
        ("followers", "followed"),
        ("employer_name", "employee_name"),
        ("price", "cost"),
        ("mother_name", "parent_name"),
        ("manager_of_team", "team_of_manager"),
        ("friend_of_mother_of_child", "mother_of_friend_of_child"),
        ("gerente", "jefe"),
        ("2024_budget", "2025_budget"),
        ("preference_1_2", "preference_2_1"),
        ("line1", "line2"),
    ],
)
def test_a_word_without_counterpart_tells_names_apart(one: str, other: str):
    assert not explained(one, other)
    assert not explained(other, one)
