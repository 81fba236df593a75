"""Entities as the ledger knows them: through the facts that are about them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class EntityOrder(StrEnum):
    """How entities are listed; the values are those of ``order_by``. Ties go by type and id."""

    NEWEST = "last_time desc"
    MOST_FACTS = "fact_count desc"
    BY_ID = "entity_id"


@dataclass(frozen=True, slots=True)
class EntitySummary:
    """An entity with the number of its facts.

    Attributes:
        fact_count: facts owned by or linked to it, each once, erased ones left out.
        last_time: when one of them last changed.
    """

    entity_type: str
    entity_id: str
    fact_count: int
    last_time: datetime
