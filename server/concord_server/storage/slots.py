"""Slots, lines and their assertions; predicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BindParameter, Executable, Row, Uuid, bindparam, false, select
from sqlalchemy.dialects.postgresql import insert

from concord_server.domain.enums import Cardinality, ConflictState, FactStatus, Trust
from concord_server.domain.settlement import Timeline
from concord_server.domain.timeline import Assertion, AssertionKind, AssertionState
from concord_server.domain.values import Json, subject_key
from concord_server.storage.fact_rows import fact_columns, fact_from_row
from concord_server.storage.fact_tables import facts
from concord_server.storage.predicate_tables import predicates
from concord_server.storage.statements import PROJECT, SessionContext
from concord_server.storage.tables import conflicts, slot_assertions, slots

_ASSERTION_COLUMNS = (
    "assertion_id",
    "fact_id",
    "time",
    "value_key",
    "value",
    "kind",
    "trust",
    "state",
    "end",
    "ends",
    "source_id",
)

_FIND = select(slots.c.slot_id).where(
    slots.c.project_id == PROJECT,
    slots.c.partition_id == bindparam("partition"),
    slots.c.slot_key == bindparam("slot_key"),
)
_INSERT = insert(slots)
_CARDINALITY = select(predicates.c.cardinality).where(
    predicates.c.project_id == PROJECT, predicates.c.predicate == bindparam("predicate")
)
_HOLD_CARDINALITY = _CARDINALITY.with_for_update(read=True, key_share=True)
_INSERT_PREDICATE = insert(predicates).on_conflict_do_nothing().returning(predicates.c.cardinality)


def _timeline() -> Executable:
    slot_id: BindParameter[UUID] = bindparam("slot", type_=Uuid)
    on_slot = select(*fact_columns()).where(
        facts.c.project_id == PROJECT, facts.c.slot_id == slot_id, facts.c.status != FactStatus.DELETED.value
    )
    said = select(*(slot_assertions.c[name].label(f"said_{name}") for name in _ASSERTION_COLUMNS)).where(
        slot_assertions.c.project_id == PROJECT, slot_assertions.c.slot_id == slot_id
    )
    disputed = select(conflicts.c.conflict_id.label("open_conflict_id")).where(
        conflicts.c.project_id == PROJECT,
        conflicts.c.slot_id == slot_id,
        conflicts.c.state == ConflictState.OPEN.value,
    )
    parts = [on_slot.subquery("on_slot"), said.subquery("said"), disputed.subquery("disputed")]
    # Joined on nothing: each row is of one of the three, and null in the others.
    joined = parts[0].join(parts[1], false(), full=True).join(parts[2], false(), full=True)
    return select(*parts).select_from(joined)


def _upsert_assertion() -> Executable:
    inserted = insert(slot_assertions)
    changing = ("slot_id", "partition_id", "update_time", *_ASSERTION_COLUMNS[1:])
    return inserted.on_conflict_do_update(
        index_elements=["project_id", "assertion_id"],
        set_={name: inserted.excluded[name] for name in changing},
    )


_TIMELINE = _timeline()
_UPSERT_ASSERTION = _upsert_assertion()


class PostgresSlots:
    """Implements :class:`~concord_server.ports.ledger.SlotRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def find(self, partition_id: UUID, slot_key: str) -> UUID | None:
        """Returns the slot of that key, ``None`` when nothing was said about it yet."""
        parameters = {"project": self._context.project, "partition": partition_id, "slot_key": slot_key}
        row = await self._context.statements.first(_FIND, parameters)
        return row.slot_id if row else None

    async def create(
        self,
        partition_id: UUID,
        slot_key: str,
        slot_id: UUID,
        *,
        subject: str,
        predicate: str,
        qualifiers: Mapping[str, Json],
    ) -> None:
        """Stores a new slot.

        Raises:
            ConcurrentUpdateError: the partition has a slot of that key already.
        """
        values = {
            "project_id": self._context.project,
            "slot_id": slot_id,
            "partition_id": partition_id,
            "slot_key": slot_key,
            "subject": subject,
            "subject_key": subject_key(subject),
            "predicate": predicate,
            "qualifiers": dict(qualifiers),
        }
        await self._context.statements.execute(_INSERT, values)

    async def timeline(self, slot_id: UUID) -> Timeline:
        """Returns the slot (or line) with its facts (erased ones left out), assertions and open conflict.

        All of it comes from one statement, so that it is of one moment also outside a transaction.
        """
        parameters = {"project": self._context.project, "slot": slot_id}
        rows = await self._context.statements.rows(_TIMELINE, parameters)
        found = [fact_from_row(row) for row in rows if row.fact_id is not None]
        return Timeline(
            slot_id=slot_id,
            facts=tuple(sorted(found, key=lambda fact: (fact.valid_from, fact.fact_id))),
            assertions=tuple(_assertion(row) for row in rows if row.said_assertion_id is not None),
            conflict_id=next((row.open_conflict_id for row in rows if row.open_conflict_id is not None), None),
        )

    async def save_assertions(
        self, slot_id: UUID, partition_id: UUID, assertions: Sequence[Assertion], now: datetime
    ) -> None:
        """Stores assertions: new ones are inserted, known ones updated, also when they move to another slot."""
        if not assertions:
            return
        values = [
            {
                "project_id": self._context.project,
                "slot_id": slot_id,
                "partition_id": partition_id,
                "create_time": now,
                "update_time": now,
                **_assertion_values(assertion),
            }
            for assertion in assertions
        ]
        await self._context.statements.execute(_UPSERT_ASSERTION, values)

    async def cardinality(self, predicate: str) -> Cardinality | None:
        """Returns the predicate's cardinality, ``None`` before its first use."""
        parameters = {"project": self._context.project, "predicate": predicate}
        row = await self._context.statements.first(_CARDINALITY, parameters)
        return Cardinality(row.cardinality) if row else None

    async def hold_cardinality(self, predicate: str) -> Cardinality | None:
        """Does as :meth:`cardinality`, and keeps it as it is until the session ends."""
        parameters = {"project": self._context.project, "predicate": predicate}
        row = await self._context.statements.first(_HOLD_CARDINALITY, parameters)
        return Cardinality(row.cardinality) if row else None

    async def register_predicate(self, predicate: str, cardinality: Cardinality, now: datetime) -> Cardinality:
        """Stores the predicate at its first use, and returns the cardinality that is stored, held as it is."""
        stored = await self.hold_cardinality(predicate)
        if stored is not None:
            return stored
        values = {
            "project_id": self._context.project,
            "predicate": predicate,
            "cardinality": cardinality.value,
            "create_time": now,
            "update_time": now,
        }
        inserted = await self._context.statements.first(_INSERT_PREDICATE, values)
        if inserted is not None:
            return cardinality
        return await self.hold_cardinality(predicate) or cardinality


def _assertion_values(assertion: Assertion) -> dict[str, Any]:
    return {
        "assertion_id": assertion.assertion_id,
        "fact_id": assertion.fact_id,
        "time": assertion.time,
        "value_key": assertion.value_key,
        "value": assertion.value,
        "kind": assertion.kind.value,
        "trust": assertion.trust.name,
        "state": assertion.state.value,
        "end": assertion.end,
        "ends": assertion.ends,
        "source_id": assertion.source_id,
    }


def _assertion(row: Row[Any]) -> Assertion:
    return Assertion(
        assertion_id=row.said_assertion_id,
        fact_id=row.said_fact_id,
        time=row.said_time,
        value_key=row.said_value_key,
        value=row.said_value,
        kind=AssertionKind(row.said_kind),
        trust=Trust[row.said_trust],
        state=AssertionState(row.said_state),
        end=row.said_end,
        ends=row.said_ends,
        source_id=row.said_source_id,
    )
