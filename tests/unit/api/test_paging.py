from __future__ import annotations

import base64
import json
import string
from uuid import UUID

import pytest
from concord.v1.briefing_service_pb2 import ListFactsRequest
from concord_server.api.paging import PageTokens
from concord_server.domain.errors import InvalidPageTokenError
from concord_server.domain.queries import Cursor
from hypothesis import given
from hypothesis import strategies as st

CURSOR = Cursor("0.7", UUID("019a0000-0000-7000-8000-000000000001"))
TOKENS = PageTokens("p", "m", ListFactsRequest(domain="ops"))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=64), st.uuids())
def test_a_token_leads_back_to_its_cursor(value, last_id):
    token = TOKENS.write(Cursor(value, last_id))
    assert set(token) <= set(string.ascii_letters + string.digits + "-_")
    assert TOKENS.read(token) == Cursor(value, last_id)


def test_there_is_no_token_at_the_end_and_none_at_the_start():
    assert TOKENS.write(None) == ""
    assert TOKENS.read("") is None


def test_size_and_token_of_the_request_may_change():
    later = PageTokens("p", "m", ListFactsRequest(domain="ops", page_size=7, page_token="x"))
    assert later.read(TOKENS.write(CURSOR)) == CURSOR


@pytest.mark.parametrize(
    "other",
    [
        PageTokens("q", "m", ListFactsRequest(domain="ops")),
        PageTokens("p", "n", ListFactsRequest(domain="ops")),
        PageTokens("p", "m", ListFactsRequest(domain="other")),
        PageTokens("p", "m", ListFactsRequest(domain="ops", access_scope="")),
    ],
)
def test_a_token_is_good_for_its_own_request_alone(other):
    with pytest.raises(InvalidPageTokenError, match="another request"):
        other.read(TOKENS.write(CURSOR))


def encoded(content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode()


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "====",
        "näh",
        "a b",
        "AAAA",
        "\x00",
        "a" * 5000,
        encoded(None),
        encoded(7),
        encoded([1, "v", "id"]),
        encoded([1, "v", "no-uuid", "d"]),
        encoded([1, 7, CURSOR.last_id.hex, "d"]),
        encoded([2, "v", CURSOR.last_id.hex, "d"]),
        encoded([1, "v", 5, "d"]),
        encoded({"a": 1, "b": 2, "c": 3, "d": 4}),
        base64.urlsafe_b64encode(b"[" * 1500).decode(),
    ],
)
def test_garbage_is_named_as_the_bad_field(token):
    with pytest.raises(InvalidPageTokenError) as caught:
        TOKENS.read(token)
    [violation] = caught.value.violations
    assert violation.field == "page_token"


@given(st.data())
def test_a_changed_token_never_leads_elsewhere(data):
    token = TOKENS.write(CURSOR)
    place = data.draw(st.integers(0, len(token) - 1))
    letter = data.draw(st.sampled_from(string.ascii_letters + string.digits + "-_"))
    changed = token[:place] + letter + token[place + 1 :]
    try:
        assert TOKENS.read(changed) == CURSOR
    except InvalidPageTokenError:
        assert changed != token
