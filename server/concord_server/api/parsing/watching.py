"""What a watch asks for."""

from __future__ import annotations

from dataclasses import dataclass

from concord.v1 import evolution_service_pb2

from concord_server.api.enums import FACT_CHANGE
from concord_server.api.parsing.fields import parse_entity_filter, parse_enums, parse_label
from concord_server.domain.commands import Violations
from concord_server.domain.watching import WatchFilter


@dataclass(frozen=True, slots=True)
class WatchQuery:
    """A watch.

    Attributes:
        where: which changes.
        after_sequence: those after it, ``None`` for those from now on.
    """

    where: WatchFilter
    after_sequence: int | None


def parse_watch(request: evolution_service_pb2.WatchFactsRequest) -> WatchQuery:
    """Returns what to watch.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    after = request.after_sequence if request.HasField("after_sequence") else None
    if after is not None and after < 0:
        found.add("after_sequence", "must not be negative")
    where = WatchFilter(
        domain=parse_label("domain", request.domain, found),
        entity=parse_entity_filter(request, "entity", found),
        changes=frozenset(parse_enums("changes", request.changes, FACT_CHANGE, found)),
        access_scope=(
            parse_label("access_scope", request.access_scope, found) if request.HasField("access_scope") else None
        ),
    )
    found.raise_if_any()
    return WatchQuery(where, after)
