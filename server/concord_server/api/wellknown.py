"""Between protobuf's well-known types and plain Python values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from google.protobuf.duration_pb2 import Duration
from google.protobuf.struct_pb2 import ListValue, NullValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from concord_server.domain.values import MAX_EXACT_INTEGER, Json

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_SECOND = -62_135_596_800
_LAST_SECOND = 253_402_300_799
_NANOS_PER_SECOND = 1_000_000_000


def timestamp_problem(stamp: Timestamp) -> str | None:
    """Returns what is wrong with a time, or ``None`` when :func:`to_datetime` takes it."""
    if not _FIRST_SECOND <= stamp.seconds <= _LAST_SECOND:
        return "must be within the years 1 to 9999"
    if not 0 <= stamp.nanos < _NANOS_PER_SECOND:
        return "nanos must be within 0 and 999,999,999"
    return None


def to_datetime(stamp: Timestamp) -> datetime:
    """Returns the time in UTC, cut to microseconds, which is what the ledger keeps."""
    return _EPOCH + timedelta(seconds=stamp.seconds, microseconds=stamp.nanos // 1000)


def to_timestamp(moment: datetime) -> Timestamp:
    """Returns an aware time as a protobuf time."""
    since = moment - _EPOCH
    return Timestamp(seconds=since.days * 86_400 + since.seconds, nanos=since.microseconds * 1000)


def optional_timestamp(moment: datetime | None) -> Timestamp | None:
    """Returns a time as a protobuf time; an absent one leaves its field unset."""
    return None if moment is None else to_timestamp(moment)


def to_duration(span: timedelta) -> Duration:
    """Returns a span that is not negative as a protobuf duration."""
    return Duration(seconds=span.days * 86_400 + span.seconds, nanos=span.microseconds * 1000)


def to_timedelta(span: Duration) -> timedelta:
    """Returns a protobuf duration, cut to microseconds; one that is longer than any span is the longest one."""
    microseconds = span.seconds * 1_000_000 + span.nanos // 1000
    longest = timedelta.max // timedelta(microseconds=1)
    return timedelta(microseconds=max(-longest, min(microseconds, longest)))


def to_json(value: Value) -> Json:
    """Returns a protobuf value as JSON.

    Protobuf knows doubles alone: whole ones come back as integers as far as doubles hold them exactly. A value
    without a kind is null.
    """
    kind = value.WhichOneof("kind")
    if kind == "number_value":
        number = value.number_value
        whole = abs(number) <= MAX_EXACT_INTEGER and number.is_integer()
        return int(number) if whole else number
    if kind == "string_value":
        return value.string_value
    if kind == "bool_value":
        return value.bool_value
    if kind == "struct_value":
        return to_json_object(value.struct_value)
    if kind == "list_value":
        return [to_json(item) for item in value.list_value.values]
    return None


def to_json_object(struct: Struct) -> dict[str, Json]:
    """Returns a protobuf struct as a JSON object."""
    return {key: to_json(item) for key, item in struct.fields.items()}


def to_value(value: Json) -> Value:
    """Returns JSON as a protobuf value; integers become doubles."""
    if value is None:
        return Value(null_value=NullValue.NULL_VALUE)
    if isinstance(value, bool):
        return Value(bool_value=value)
    if isinstance(value, int | float):
        return Value(number_value=value)
    if isinstance(value, str):
        return Value(string_value=value)
    if isinstance(value, list):
        return Value(list_value=ListValue(values=[to_value(item) for item in value]))
    return Value(struct_value=to_struct(value))


def to_struct(fields: Mapping[str, Json]) -> Struct:
    """Returns a JSON object as a protobuf struct."""
    return Struct(fields={key: to_value(item) for key, item in fields.items()})
