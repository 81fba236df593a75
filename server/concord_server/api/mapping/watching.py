"""What a watch tells."""

from __future__ import annotations

from datetime import datetime

from concord.v1 import evolution_service_pb2

from concord_server.api.enums import FACT_CHANGE
from concord_server.api.mapping.resources import to_fact
from concord_server.api.wellknown import to_timestamp
from concord_server.domain.watching import Heartbeat, RecordedChange


def to_watch_facts_response(
    item: RecordedChange | Heartbeat, now: datetime
) -> evolution_service_pb2.WatchFactsResponse:
    """Returns a change with the fact as it is read at ``now``, or a sign of life."""
    if isinstance(item, Heartbeat):
        return evolution_service_pb2.WatchFactsResponse(sequence=item.sequence, heartbeat=True)
    return evolution_service_pb2.WatchFactsResponse(
        sequence=item.sequence,
        change=FACT_CHANGE.to_proto(item.change),
        fact=to_fact(item.fact, now),
        time=to_timestamp(item.time),
    )
