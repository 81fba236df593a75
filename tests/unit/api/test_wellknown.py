from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from concord_server.api.wellknown import (
    optional_timestamp,
    timestamp_problem,
    to_datetime,
    to_duration,
    to_json,
    to_json_object,
    to_struct,
    to_timestamp,
    to_value,
)
from concord_server.domain.values import Json
from google.protobuf.struct_pb2 import ListValue, NullValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

EXACT = 2**53

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-EXACT, EXACT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values)
def test_json_survives_the_way_to_protobuf_and_back(value):
    returned = to_json(to_value(value))
    assert returned == value
    assert isinstance(returned, bool) == isinstance(value, bool)


@pytest.mark.parametrize(
    ("number", "expected"), [(3.0, 3), (-2.0, -2), (0.0, 0), (EXACT, EXACT), (-EXACT, -EXACT)]
)
def test_whole_doubles_become_integers(number, expected):
    value = to_json(Value(number_value=number))
    assert value == expected
    assert isinstance(value, int)


@pytest.mark.parametrize("number", [0.5, 2.0**54, 1e300])
def test_other_doubles_stay_doubles(number):
    value = to_json(Value(number_value=number))
    assert value == number
    assert isinstance(value, float)


def test_non_finite_numbers_come_through_for_validation_to_refuse():
    number = to_json(Value(number_value=math.nan))
    assert isinstance(number, float)
    assert math.isnan(number)
    assert to_json(Value(number_value=math.inf)) == math.inf


def test_a_null_and_a_value_without_a_kind_are_null():
    assert to_json(Value()) is None
    assert to_json(Value(null_value=NullValue.NULL_VALUE)) is None
    assert to_json(Value(list_value=ListValue(values=[Value(), Value(bool_value=True)]))) == [None, True]


def test_objects_go_both_ways():
    fields: dict[str, Json] = {"a": 1, "b": [True, {"c": "x"}], "d": None}
    assert to_json_object(to_struct(fields)) == fields
    assert to_json_object(Struct()) == {}


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_time_comes_back_to_the_microsecond(moment):
    stamp = to_timestamp(moment)
    assert timestamp_problem(stamp) is None
    assert to_datetime(stamp) == moment


def test_times_are_cut_to_microseconds_and_are_utc():
    moment = to_datetime(Timestamp(seconds=-1, nanos=999_999_999))
    assert moment == datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    assert moment.utcoffset() == timedelta()


def test_a_time_of_another_zone_is_the_same_instant():
    paris = datetime(2026, 1, 1, 1, 0, tzinfo=timezone(timedelta(hours=1)))
    assert to_timestamp(paris) == Timestamp(seconds=1_767_225_600)


@pytest.mark.parametrize(
    "stamp",
    [
        Timestamp(seconds=-62_135_596_801),
        Timestamp(seconds=253_402_300_800),
        Timestamp(nanos=-1),
        Timestamp(nanos=1_000_000_000),
    ],
)
def test_times_out_of_range_are_a_problem(stamp):
    assert timestamp_problem(stamp) is not None


def test_the_first_and_last_times_are_none():
    for stamp in (Timestamp(seconds=-62_135_596_800), Timestamp(seconds=253_402_300_799, nanos=999_999_999)):
        assert timestamp_problem(stamp) is None
        assert to_timestamp(to_datetime(stamp)).seconds == stamp.seconds


def test_an_absent_time_stays_absent():
    assert optional_timestamp(None) is None


def test_a_span_becomes_a_duration():
    duration = to_duration(timedelta(days=2, seconds=3, microseconds=4))
    assert (duration.seconds, duration.nanos) == (172_803, 4000)
