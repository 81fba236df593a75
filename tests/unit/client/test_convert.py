from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from concord import Claim, EntityRef, FactStatus, to_dict
from concord._convert import (
    FrozenDict,
    struct_from_proto,
    struct_to_proto,
    time_from_proto,
    time_to_proto,
    value_from_proto,
    value_to_proto,
)
from concord.errors import NotFoundError
from hypothesis import given
from hypothesis import strategies as st

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def plain(value: Any) -> Any:
    """Frozen JSON as json would have made it."""
    return json.loads(json.dumps(value))


@given(JSON)
def test_json_survives_the_way_there_and_back(value: Any) -> None:
    assert plain(value_from_proto(value_to_proto(value))) == value


def test_whole_numbers_come_back_as_integers() -> None:
    back = value_from_proto(value_to_proto(3.0))
    assert back == 3
    assert isinstance(back, int)
    assert isinstance(value_from_proto(value_to_proto(True)), bool)


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, float("nan"), float("inf"), -float("inf")])
def test_numbers_that_would_change_on_the_way_are_refused_with_a_hint(number: float) -> None:
    with pytest.raises(ValueError, match="send it as text"):
        value_to_proto([{"deep": number}])


def test_what_json_cannot_hold_is_refused() -> None:
    unfit: Any = {1, 2}
    with pytest.raises(TypeError, match="set is not JSON"):
        value_to_proto(unfit)


def test_null_is_a_value_of_its_own() -> None:
    assert value_to_proto(None).WhichOneof("kind") == "null_value"


def test_times_keep_their_instant_and_come_back_in_utc() -> None:
    time = datetime(2026, 1, 5, 10, 30, 0, 123456, timezone(timedelta(hours=1)))
    stamp = time_to_proto(time)
    assert stamp is not None
    assert time_from_proto(stamp) == time
    assert time_from_proto(stamp).tzinfo is UTC


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no zone"):
        time_to_proto(datetime(2026, 1, 1))


def test_mappings_of_results_cannot_be_changed() -> None:
    frozen: Any = struct_from_proto(struct_to_proto({"a": {"b": [1, {"c": 2}]}}))
    for mapping in (frozen, frozen["a"], frozen["a"]["b"][1]):
        changes: list[Callable[[Any], Any]] = [
            lambda m: m.update(x=1),
            lambda m: m.pop("a"),
            lambda m: m.clear(),
            lambda m: m.setdefault("x", 1),
            lambda m: m.__setitem__("a", 1),
            lambda m: m.__delitem__("a"),
            lambda m: m.__ior__({"x": 1}),
        ]
        for change in changes:
            with pytest.raises(TypeError, match="cannot be changed"):
                change(mapping)
    assert frozen == {"a": {"b": (1, {"c": 2})}}


def test_frozen_mappings_can_be_copied_pickled_and_hashed() -> None:
    frozen: FrozenDict[str, int] = FrozenDict({"a": 1})
    assert copy.deepcopy(frozen) == frozen
    assert pickle.loads(pickle.dumps(frozen)) == frozen
    assert isinstance(pickle.loads(pickle.dumps(frozen)), FrozenDict)
    assert hash(frozen) == hash(FrozenDict({"a": 1}))


def test_results_become_plain_json() -> None:
    data = {
        "claim": Claim("u1", "city", "Lagos", {"since": (2020, 2021)}),
        "owners": (EntityRef("User", "u1"),),
        "time": datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2))),
        "age": timedelta(minutes=1, milliseconds=500),
        "by_status": {FactStatus.ACTIVE: 1},
        "error": NotFoundError("no such fact", reason="FACT_NOT_FOUND"),
        "nothing": None,
    }
    assert json.loads(json.dumps(to_dict(data))) == {
        "claim": {
            "subject": "u1",
            "predicate": "city",
            "value": "Lagos",
            "qualifiers": {"since": [2020, 2021]},
            "cardinality": "UNSPECIFIED",
        },
        "owners": [{"entity_type": "User", "entity_id": "u1", "role": "UNSPECIFIED"}],
        "time": "2025-12-31T22:00:00Z",
        "age": 60.5,
        "by_status": {"ACTIVE": 1},
        "error": "NOT_FOUND FACT_NOT_FOUND: no such fact",
        "nothing": None,
    }
