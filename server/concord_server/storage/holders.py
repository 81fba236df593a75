"""Which fact of a slot holds at a moment, read from the intervals that the timelines' folds have left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Uuid, and_, any_, bindparam, case, or_, select
from sqlalchemy.dialects.postgresql import ARRAY, distinct_on

from concord_server.domain.enums import FactStatus
from concord_server.domain.model import Fact
from concord_server.storage.columns import TIMESTAMP
from concord_server.storage.fact_rows import fact_columns, fact_from_row
from concord_server.storage.fact_tables import facts
from concord_server.storage.statements import PROJECT, SessionContext

_MOMENT = bindparam("moment", type_=TIMESTAMP)
_PLACED = (FactStatus.ACTIVE.value, FactStatus.SUPERSEDED.value, FactStatus.DISPUTED.value)


async def holding(context: SessionContext, slot_ids: Sequence[UUID], moment: datetime) -> dict[UUID, Fact]:
    """Returns, by slot, the fact that holds at the moment, else the last before it, else the first after it."""
    if not slot_ids:
        return {}
    parameters = {"project": context.project, "slots": sorted(slot_ids), "moment": moment}
    rows = await context.statements.rows(_HOLDING, parameters)
    found = [fact_from_row(row) for row in rows]
    return {fact.slot_id: fact for fact in found}


_started = facts.c.valid_from <= _MOMENT
_holds = and_(_started, or_(facts.c.valid_to.is_(None), facts.c.valid_to > _MOMENT))
_scheduled = and_(facts.c.status == FactStatus.PENDING.value, facts.c.conflict_id.is_(None))
_HOLDING = (
    select(*fact_columns())
    .where(
        facts.c.project_id == PROJECT,
        facts.c.slot_id == any_(bindparam("slots", type_=ARRAY(Uuid))),
        or_(facts.c.status.in_(_PLACED), _scheduled),
        facts.c.off_timeline.is_(False),
        or_(facts.c.valid_to.is_(None), facts.c.valid_to > facts.c.valid_from),
    )
    .ext(distinct_on(facts.c.slot_id))
    .order_by(
        facts.c.slot_id,
        _holds.desc(),
        _started.desc(),
        case((_started, facts.c.valid_from)).desc().nulls_last(),
        facts.c.valid_from,
        facts.c.fact_id,
    )
)
