"""Reading by a predicate's name: other names that mean it are meant too."""

from __future__ import annotations

from dataclasses import replace

from concord_server.domain.queries import FactFilter
from concord_server.ports.ledger import ReadSession


async def by_any_name(session: ReadSession, where: FactFilter) -> FactFilter:
    """Returns a filter that finds facts by whatever name of its predicate they have."""
    if not where.predicate:
        return where
    family = await session.predicates.family(where.predicate)
    return replace(where, other_predicates=tuple(name for name in family if name != where.predicate))
