"""What one fact had said within the values of others: keys of an object that later statements carried forward."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import column
from sqlalchemy import text as sql

from concord_server.storage.statements import SessionContext

_OBJECT = "CASE jsonb_typeof({0}) WHEN 'object' THEN {0} ELSE '{{}}' END"

_ERASE = sql(
    f"""
WITH said AS (
    SELECT said.fact_id, item.key, item.value
    FROM facts AS fact
    JOIN slot_assertions AS said ON said.project_id = fact.project_id AND said.slot_id = fact.slot_id
    CROSS JOIN LATERAL jsonb_each({_OBJECT.format("said.value")}) AS item
    WHERE fact.project_id = :project AND fact.fact_id = :fact
),
gone AS (
    SELECT key, value FROM said WHERE fact_id = :fact
  EXCEPT
    SELECT key, value FROM said WHERE fact_id <> :fact
)
UPDATE fact_versions AS version
SET claim_value = (
    SELECT coalesce(jsonb_object_agg(item.key, item.value), '{{}}')
    FROM jsonb_each(version.claim_value) AS item
    WHERE NOT EXISTS (SELECT FROM gone WHERE gone.key = item.key AND gone.value = item.value)
)
FROM facts AS fact
JOIN facts AS other ON other.project_id = fact.project_id AND other.slot_id = fact.slot_id
WHERE fact.project_id = :project AND fact.fact_id = :fact AND other.fact_id <> :fact
    AND version.project_id = other.project_id AND version.fact_id = other.fact_id
    AND EXISTS (SELECT FROM jsonb_each({_OBJECT.format("version.claim_value")}) AS item JOIN gone USING (key, value))
RETURNING version.fact_id
"""  # noqa: S608 - made of constants
).columns(column("fact_id"))


async def erase_carried_values(context: SessionContext, fact_id: UUID) -> list[UUID]:
    """Takes what only a fact said out of the values that others of its slot had, and returns those others.

    Values that hold now have been folded without the fact already, so that recorded ones alone are left. What another
    statement says too stays.
    """
    rows = await context.statements.rows(_ERASE, {"project": context.project, "fact": fact_id})
    return sorted({row.fact_id for row in rows})
