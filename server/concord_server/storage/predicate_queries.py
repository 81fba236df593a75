"""The queries about predicates, made once, and how their rows are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Executable,
    Row,
    Select,
    Text,
    Uuid,
    any_,
    bindparam,
    func,
    literal,
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY, insert

from concord_server.domain.enums import Cardinality, FactStatus, FactType
from concord_server.domain.predicates import Predicate, PredicateSuggestion
from concord_server.storage.fact_tables import facts
from concord_server.storage.predicate_tables import predicate_aliases, predicate_suggestions, predicates
from concord_server.storage.statements import PROJECT
from concord_server.storage.tables import partitions, slots

PredicateQuery = Select[Any]
"""A query for rows of ``predicates``."""

MAX_SLOTS = 500
"""How many slots of a subject are looked at for one claim, the newest first."""

_STATED: ColumnElement[str] = bindparam("stated", type_=Text)
_NAMES = any_(bindparam("names", type_=ARRAY(Text)))
_OF_SUBJECT = (
    slots.c.project_id == PROJECT,
    slots.c.partition_id == bindparam("partition", type_=Uuid),
    slots.c.subject_key == bindparam("subject_key", type_=Text),
)
_LISTED = (predicate_suggestions.c.project_id == PROJECT, ~predicate_suggestions.c.dropped)


def _names() -> Executable:
    """Returns the aliases in the family of a name, and the pairs that were judged or dropped with it."""
    own = predicate_aliases.alias("own")
    head = func.coalesce(
        select(own.c.predicate).where(own.c.project_id == PROJECT, own.c.alias == _STATED).scalar_subquery(),
        _STATED,
    )
    family = select(
        predicate_aliases.c.alias.label("one"),
        predicate_aliases.c.predicate.label("other"),
        literal(True, Boolean).label("is_alias"),
    ).where(predicate_aliases.c.project_id == PROJECT, predicate_aliases.c.predicate == head)
    pairs = select(
        predicate_suggestions.c.first_name, predicate_suggestions.c.second_name, literal(False, Boolean)
    ).where(
        predicate_suggestions.c.project_id == PROJECT,
        or_(predicate_suggestions.c.first_name == _STATED, predicate_suggestions.c.second_name == _STATED),
    )
    return union_all(family, pairs)


def _families() -> Executable:
    own = predicate_aliases.alias("own")
    heads = select(own.c.predicate).where(own.c.project_id == PROJECT, own.c.alias == _NAMES)
    return select(predicate_aliases.c.alias, predicate_aliases.c.predicate).where(
        predicate_aliases.c.project_id == PROJECT,
        or_(predicate_aliases.c.predicate == _NAMES, predicate_aliases.c.predicate.in_(heads)),
    )


def _used_names() -> Executable:
    """Returns which of some names a subject uses, however many slots it has of each."""
    used = (
        select(slots.c.slot_id)
        .where(*_OF_SUBJECT, slots.c.predicate == predicates.c.predicate)
        .correlate(predicates)
        .exists()
    )
    return select(predicates.c.predicate, predicates.c.cardinality).where(
        predicates.c.project_id == PROJECT, predicates.c.predicate == _NAMES, used
    )


def _used_slots() -> Executable:
    """Returns the slots in which a subject has one value at a time, with the value of the newest fact of each."""
    newest = (
        select(facts.c.claim_value)
        .where(
            facts.c.project_id == PROJECT,
            facts.c.slot_id == slots.c.slot_id,
            facts.c.status != FactStatus.DELETED.value,
        )
        .order_by((facts.c.status == FactStatus.ACTIVE.value).desc(), facts.c.valid_from.desc(), facts.c.fact_id)
        .limit(1)
        .correlate(slots)
        .lateral("newest")
    )
    same = (predicates.c.project_id == slots.c.project_id) & (predicates.c.predicate == slots.c.predicate)
    return (
        select(slots.c.predicate, slots.c.qualifiers, newest.c.claim_value)
        .select_from(slots.join(predicates, same).join(newest, true()))
        .where(*_OF_SUBJECT, predicates.c.cardinality == Cardinality.SINGLE.value)
        .order_by(slots.c.slot_id.desc())
        .limit(MAX_SLOTS)
    )


def _suggest() -> Executable:
    row = insert(predicate_suggestions)
    return row.on_conflict_do_update(
        index_elements=["project_id", "first_name", "second_name"],
        set_={
            "seen_count": predicate_suggestions.c.seen_count + 1,
            "similarity": row.excluded.similarity,
            "last_time": func.greatest(predicate_suggestions.c.last_time, row.excluded.last_time),
        },
        where=~predicate_suggestions.c.dropped,
    )


def _drop() -> Executable:
    row = insert(predicate_suggestions)
    return row.on_conflict_do_update(
        index_elements=["project_id", "first_name", "second_name"], set_={"dropped": True}
    )


def _slots() -> tuple[Executable, Executable]:
    same = (partitions.c.project_id == slots.c.project_id) & (partitions.c.partition_id == slots.c.partition_id)
    where = (
        slots.c.project_id == PROJECT,
        slots.c.predicate == _NAMES,
        partitions.c.type != FactType.EVENT.value,
    )
    own = partitions.c.partition_id.in_(select(slots.c.partition_id).where(*where[:2]))
    of_predicates = select(partitions).where(partitions.c.project_id == PROJECT, own, where[2])
    return of_predicates, select(slots).join(partitions, same).where(*where).order_by(slots.c.slot_id)


def has_suggestions() -> ColumnElement[bool]:
    """Returns the condition that a row of ``predicates`` has suggestions."""
    return (
        select(predicate_suggestions.c.predicate)
        .where(
            predicate_suggestions.c.project_id == predicates.c.project_id,
            predicate_suggestions.c.predicate == predicates.c.predicate,
            ~predicate_suggestions.c.dropped,
        )
        .correlate(predicates)
        .exists()
    )


def predicate(
    row: Row[Any], aliases: Sequence[Row[Any]], suggestions: Sequence[Row[Any]], counts: Sequence[Row[Any]]
) -> Predicate:
    """Returns the predicate of a row, out of what was read for several."""
    own = [alias for alias in aliases if alias.predicate == row.predicate]
    near = [
        PredicateSuggestion(
            one.second_name if one.first_name == row.predicate else one.first_name,
            one.similarity,
            one.seen_count,
            one.last_time,
        )
        for one in suggestions
        if one.predicate == row.predicate
    ]
    return Predicate(
        predicate=row.predicate,
        cardinality=Cardinality(row.cardinality),
        aliases=tuple(sorted(alias.alias for alias in own)),
        suggestions=tuple(sorted(near, key=lambda one: (-one.similarity, one.predicate))),
        fact_count=next((count.fact_count for count in counts if count.predicate == row.predicate), 0),
        create_time=row.create_time,
        update_time=max([row.update_time, *(alias.create_time for alias in own)]),
    )


NAMES = _names()
FAMILIES = _families()
USED_NAMES = _used_names()
USED_SLOTS = _used_slots()
ALIASES = select(predicate_aliases).where(
    predicate_aliases.c.project_id == PROJECT, predicate_aliases.c.predicate == _NAMES
)
SUGGESTIONS = select(predicate_suggestions).where(*_LISTED, predicate_suggestions.c.predicate == _NAMES)
FACT_COUNTS = (
    select(facts.c.predicate, func.count().label("fact_count"))
    .where(facts.c.project_id == PROJECT, facts.c.predicate == _NAMES, facts.c.status != FactStatus.DELETED.value)
    .group_by(facts.c.predicate)
)
SUGGEST = _suggest()
DROP = _drop()
PARTITIONS, SLOTS = _slots()
