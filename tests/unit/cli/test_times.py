from __future__ import annotations

from datetime import UTC, datetime

import pytest
from concord_server.cli.statements.times import parse_time


@pytest.mark.parametrize(
    "text",
    [
        "2023-05-08T13:56:00Z",
        "2023-05-08t13:56:00z",
        "2023-05-08T15:56:00+02:00",
        "2023-05-08 13:56",
        "2023-05-08T13:56:00.000",
        "1:56 pm on 8 May, 2023",
        "01:56 PM on 8 May 2023",
        "1:56 p.m. on May 8, 2023",
        "13:56, 8 May 2023",
        "8 May 2023 13:56",
        "8 May, 2023 at 1:56 pm",
        "May 8th, 2023, 13:56:00",
        "  8 may 2023 13:56 ",
    ],
)
def test_every_accepted_form_names_the_same_instant(text):
    assert parse_time(text) == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


@pytest.mark.parametrize("text", ["2023-05-08", "8 May 2023", "8 May, 2023", "May 8, 2023", "8th may 2023"])
def test_a_date_is_its_first_moment_in_utc(text):
    assert parse_time(text) == datetime(2023, 5, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "hour"), [("12:05 am on 1 Jan 2024", 0), ("12:05 pm on 1 Jan 2024", 12), ("0:05 1 Jan 2024", 0)]
)
def test_midnight_and_noon(text, hour):
    assert parse_time(text) == datetime(2024, 1, 1, hour, 5, tzinfo=UTC)


@pytest.mark.parametrize("name", ["January", "feb.", "Sept", "december"])
def test_months_may_be_abbreviated(name):
    assert parse_time(f"3 {name} 2024").day == 3


def test_a_time_with_a_zone_becomes_utc():
    assert parse_time("2024-01-01T00:30:00+09:00") == datetime(2023, 12, 31, 15, 30, tzinfo=UTC)
    assert parse_time("2024-01-01T00:30:00+09:00").tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "8 Mai 2023",
        "31 February 2024",
        "2024-02-30",
        "2024-13-01T00:00:00Z",
        "13:56 pm on 8 May, 2023",
        "25:00 on 8 May 2023",
        "0:10 am on 8 May 2023",
        "20230508",
        "2023-W19-1",
        "1683554160",
        "8/5/2023",
        "0001-01-01T00:00:00+14:00",
    ],
)
def test_what_is_no_time_is_refused_with_the_text_in_the_message(text):
    with pytest.raises(ValueError, match="is not a time") as caught:
        parse_time(text)
    assert repr(text) in str(caught.value)
