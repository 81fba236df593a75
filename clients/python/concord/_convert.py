"""Between Python values and protobuf's well-known types."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NoReturn, TypeAlias, TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.struct_pb2 import ListValue, NullValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

JsonValue: TypeAlias = "None | bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue]"
"""What JSON can hold. In results, sequences are tuples and mappings are read-only."""

MAX_EXACT_INTEGER = 2**53
"""The service keeps numbers as doubles: integers beyond this, either sign, would change on the way."""

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(dict[K, V]):
    """A dictionary that cannot be changed. A plain ``dict`` to ``json``, ``copy`` and ``pickle``."""

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("results cannot be changed; copy with dict(...) first")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[FrozenDict[K, V]], tuple[dict[K, V]]]:
        return FrozenDict, (dict(self),)


def time_to_proto(time: datetime | None) -> Timestamp | None:
    """Converts a time; None stays None.

    Raises:
        ValueError: the time has no zone, so it names no instant.
    """
    if time is None:
        return None
    if time.tzinfo is None:
        raise ValueError(f"the time {time.isoformat()} has no zone; use datetime.now(UTC) or the like")
    stamp = Timestamp()
    stamp.FromDatetime(time)
    return stamp


def time_from_proto(stamp: Timestamp) -> datetime:
    """Converts a time to UTC, cut to microseconds."""
    return stamp.ToDatetime(tzinfo=UTC)


def duration_from_proto(duration: Duration) -> timedelta:
    """Converts a duration, cut to microseconds."""
    return duration.ToTimedelta()


def value_to_proto(value: JsonValue) -> Value:
    """Converts JSON.

    Raises:
        ValueError: a number that is not finite, or an integer beyond 2^53; send such numbers as text.
        TypeError: something that JSON cannot hold.
    """
    if value is None:
        return Value(null_value=NullValue.NULL_VALUE)
    if isinstance(value, bool):
        return Value(bool_value=value)
    if isinstance(value, int | float):
        return Value(number_value=_exact(value))
    if isinstance(value, str):
        return Value(string_value=value)
    if isinstance(value, Mapping):
        return Value(struct_value=struct_to_proto(value))
    if isinstance(value, Sequence):
        return Value(list_value=ListValue(values=[value_to_proto(item) for item in value]))
    raise TypeError(f"{type(value).__name__} is not JSON")


def _exact(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(f"{number} is not finite; send it as text")
    if isinstance(number, int) and abs(number) > MAX_EXACT_INTEGER:
        raise ValueError(f"the integer {number} is beyond 2^53 and would lose digits; send it as text")
    return float(number)


def value_from_proto(value: Value) -> JsonValue:
    """Converts JSON; whole numbers come back as ``int``, an unset value as None."""
    kind = value.WhichOneof("kind")
    if kind == "number_value":
        number = value.number_value
        whole = number.is_integer() and abs(number) <= MAX_EXACT_INTEGER
        return int(number) if whole else number
    if kind == "string_value":
        return value.string_value
    if kind == "bool_value":
        return value.bool_value
    if kind == "struct_value":
        return struct_from_proto(value.struct_value)
    if kind == "list_value":
        return tuple(value_from_proto(item) for item in value.list_value.values)
    return None


def struct_to_proto(mapping: Mapping[str, JsonValue]) -> Struct:
    """Converts a JSON object; raises as :func:`value_to_proto` does."""
    return Struct(fields={key: value_to_proto(item) for key, item in mapping.items()})


def optional_struct(mapping: Mapping[str, JsonValue]) -> Struct | None:
    """Converts a JSON object; an empty one is left out of the request."""
    return struct_to_proto(mapping) if mapping else None


def struct_from_proto(struct: Struct) -> FrozenDict[str, JsonValue]:
    """Converts a JSON object."""
    return FrozenDict({key: value_from_proto(item) for key, item in struct.fields.items()})


def to_dict(result: object) -> Any:  # noqa: ANN401 - the shape follows the argument
    """Makes plain JSON data of a result: ``json.dumps(concord.to_dict(fact))``.

    Args:
        result: a result of this library, a sequence or mapping of them, or any value inside one.

    Returns:
        Dataclasses and mappings as ``dict``, sequences as ``list``, times as RFC 3339 text in UTC, durations in
        seconds, enum members as their values, errors as their message.
    """
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        return {field.name: to_dict(getattr(result, field.name)) for field in dataclasses.fields(result)}
    if isinstance(result, Mapping):
        return {str(key): to_dict(item) for key, item in result.items()}
    if isinstance(result, StrEnum):
        return result.value
    if isinstance(result, datetime):
        return result.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(result, timedelta):
        return result.total_seconds()
    if isinstance(result, Exception):
        return str(result)
    if isinstance(result, Sequence) and not isinstance(result, str | bytes):
        return [to_dict(item) for item in result]
    return result
