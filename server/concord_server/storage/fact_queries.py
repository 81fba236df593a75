"""Lists of facts: as they are, as they held at a time, and as they were recorded at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Double,
    ScalarSelect,
    Select,
    Table,
    Text,
    Uuid,
    and_,
    any_,
    cast,
    column,
    func,
    literal,
    or_,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import TypeEngine

from concord_server.domain.enums import FactStatus, SubjectRole, Volatility
from concord_server.domain.errors import InvalidFieldsError, InvalidPageTokenError
from concord_server.domain.freshness import STALE_AFTER
from concord_server.domain.model import EntityRef, Fact
from concord_server.domain.queries import ORDERABLE_FIELDS, CurrentRead, Cursor, FactFilter, FactOrder, Page
from concord_server.storage.columns import TIMESTAMP
from concord_server.storage.fact_rows import fact_columns, fact_from_row, version_columns
from concord_server.storage.fact_tables import fact_contents, fact_subjects, fact_tags, fact_versions, facts
from concord_server.storage.statements import SessionContext
from concord_server.storage.tables import entity_aliases

_ALWAYS_ON_TIMELINE = (FactStatus.ACTIVE.value, FactStatus.SUPERSEDED.value)


async def list_facts(
    context: SessionContext, where: FactFilter, order: FactOrder, *, after: Cursor | None, size: int
) -> Page[Fact]:
    """Returns a page as :meth:`~concord_server.ports.ledger.FactRepository.list` says.

    Raises:
        InvalidFieldsError: ``order`` names a field that facts cannot be ordered by.
        InvalidPageTokenError: ``after`` is of another order.
    """
    if order.field not in ORDERABLE_FIELDS:
        raise InvalidFieldsError.of("order_by", f"must be one of {', '.join(ORDERABLE_FIELDS)}")
    conditions = fact_conditions(context.project, where)
    table, columns = rows_of(where)
    count = select(func.count()).select_from(table).where(*conditions)
    total = (await context.statements.execute(count)).scalar_one()
    page = _page(select(*columns).where(*conditions), table, order, after, size)
    items = [fact_from_row(row) for row in await context.statements.rows(page)]
    following = cursor_of(items[size - 1], order) if len(items) > size else None
    return Page(items[:size], following, total)


def fact_conditions(project: str, where: FactFilter) -> list[ColumnElement[bool]]:
    """Returns what selects the rows of a filter: of ``fact_versions`` with ``known_at``, else of ``facts``."""
    table, _ = rows_of(where)
    conditions: list[ColumnElement[bool]] = [table.c.project_id == project]
    if where.domain:
        conditions.append(table.c.domain == where.domain)
    if where.access_scope is not None:
        conditions.append(table.c.access_scope == where.access_scope)
    if where.types:
        conditions.append(table.c.type.in_([fact_type.value for fact_type in where.types]))
    if where.predicate:
        conditions.append(table.c.predicate == where.predicate)
    if where.min_confidence > 0:
        conditions.append(table.c.confidence >= where.min_confidence)
    if where.unconflicted:
        conditions.append(table.c.conflict_id.is_(None))
    if where.owner is not None:
        conditions.append(owned_by(project, table, where.owner))
    conditions.append(_statuses(table, where))
    if where.as_of is not None:
        conditions.append(_holds_at(table, where.as_of))
    if where.known_at is not None:
        conditions += [*_recorded_at(where.known_at), *_links_of_version(project, where)]
    else:
        conditions += _links_of_fact(project, where)
    return conditions


def current_conditions(table: Table, current: CurrentRead) -> list[ColumnElement[bool]]:
    """Returns what selects the rows of a current read, of ``facts`` or ``fact_versions``."""
    moment, status = current.moment, table.c.status
    holding = status == FactStatus.ACTIVE.value
    if current.include_conflicted:
        challenging = and_(status == FactStatus.PENDING.value, table.c.conflict_id.is_not(None))
        holding = or_(holding, challenging)
    held = and_(holding, _holds_at(table, moment), *(_fresh(table, v, moment) for v in STALE_AFTER))
    if current.include_superseded:
        held = or_(held, status == FactStatus.SUPERSEDED.value)
    return [held] if current.include_conflicted else [held, table.c.conflict_id.is_(None)]


def _fresh(table: Table, volatility: Volatility, moment: datetime) -> ColumnElement[bool]:
    newest_stale = moment - STALE_AFTER[volatility]
    return or_(table.c.volatility != volatility.value, table.c.last_reinforce_time >= newest_stale)


def cursor_of(fact: Fact, order: FactOrder) -> Cursor:
    """Returns where the page after ``fact`` starts; the value comes back exactly as it is stored."""
    value = getattr(fact, order.field)
    return Cursor(value.isoformat() if isinstance(value, datetime) else repr(value), fact.fact_id)


def rows_of(where: FactFilter) -> tuple[Table, list[ColumnElement[Any]]]:
    """Returns the table that a filter selects from, and what to select of it for a fact."""
    if where.known_at is not None:
        return fact_versions, version_columns()
    return facts, fact_columns()


def _page(query: Select[Any], table: Table, order: FactOrder, after: Cursor | None, size: int) -> Select[Any]:
    ordered, fact_id = table.c[order.field], table.c.fact_id
    if after is not None:
        last = tuple_(*_position(order, after))
        here = tuple_(ordered, fact_id)
        query = query.where(here < last if order.descending else here > last)
    if order.descending:
        return query.order_by(ordered.desc(), fact_id.desc()).limit(size + 1)
    return query.order_by(ordered, fact_id).limit(size + 1)


def _position(order: FactOrder, after: Cursor) -> tuple[ColumnElement[Any], ColumnElement[UUID]]:
    of_type: TypeEngine[Any] = facts.c[order.field].type
    try:
        value: float | datetime
        value = float(after.value) if isinstance(of_type, Double) else datetime.fromisoformat(after.value)
    except ValueError:
        raise InvalidPageTokenError.of("page_token", "belongs to another order") from None
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return literal(value, Double() if isinstance(value, float) else TIMESTAMP), literal(after.last_id, Uuid())


def _statuses(table: Table, where: FactFilter) -> ColumnElement[bool]:
    status = table.c.status
    if where.statuses:
        named = status.in_([one.value for one in where.statuses])
        return and_(named, ~table.c.off_timeline) if where.as_of is not None else named
    if where.as_of is None:
        return status != FactStatus.DELETED.value
    return or_(
        status.in_(_ALWAYS_ON_TIMELINE),
        and_(status == FactStatus.DISPUTED.value, ~table.c.off_timeline),
        # Scheduled; what waits in a conflict is on no timeline.
        and_(status == FactStatus.PENDING.value, table.c.conflict_id.is_(None)),
    )


def _holds_at(table: Table, moment: datetime) -> ColumnElement[bool]:
    return and_(table.c.valid_from <= moment, or_(table.c.valid_to.is_(None), table.c.valid_to > moment))


def _recorded_at(moment: datetime) -> list[ColumnElement[bool]]:
    versions = fact_versions.c
    return [
        versions.recorded_from <= moment,
        or_(versions.recorded_to.is_(None), versions.recorded_to > moment),
        # What was erased since is not served, whatever it was then.
        or_(versions.text != "", versions.status == FactStatus.DELETED.value),
    ]


def owned_by(project: str, table: Table, entity: EntityRef) -> ColumnElement[bool]:
    """Returns the condition that a row of ``facts`` or ``fact_versions`` is owned by an entity."""
    return and_(table.c.owner_type == entity.entity_type, table.c.owner_id == any_(ids_of(project, entity)))


def about(project: str, entity: EntityRef, roles: Sequence[SubjectRole] = ()) -> ColumnElement[bool]:
    """Returns the condition that a row of ``facts`` is linked to an entity in one of ``roles``.

    Without roles: linked in any, or owned by it.
    """
    links = select(fact_subjects.c.fact_id).where(
        fact_subjects.c.project_id == project,
        fact_subjects.c.entity_type == entity.entity_type,
        fact_subjects.c.entity_id == any_(ids_of(project, entity)),
    )
    if roles:
        return facts.c.fact_id.in_(links.where(fact_subjects.c.role.in_([role.value for role in roles])))
    own = facts.alias("own")
    owned = select(own.c.fact_id).where(
        own.c.project_id == project,
        own.c.owner_type == entity.entity_type,
        own.c.owner_id == any_(ids_of(project, entity)),
        own.c.owner_type != "",  # lets the index of owned facts be used
    )
    return facts.c.fact_id.in_(links.union_all(owned))


def canonical_id(project: str, entity: EntityRef) -> ScalarSelect[str]:
    """Returns the id that an entity goes by: its own, or that of the entity which it was merged into."""
    merged = (
        select(entity_aliases.c.into_id)
        .where(
            entity_aliases.c.project_id == project,
            entity_aliases.c.entity_type == entity.entity_type,
            entity_aliases.c.entity_id == entity.entity_id,
        )
        .scalar_subquery()
    )
    return select(func.coalesce(merged, literal(entity.entity_id, Text()))).scalar_subquery()


def ids_of(project: str, entity: EntityRef) -> ColumnElement[Any]:
    """Returns every id of an entity, as an array: the one it goes by, and those that were merged into it."""
    canonical = canonical_id(project, entity)
    ids = select(canonical.label("id")).union_all(
        select(entity_aliases.c.entity_id).where(
            entity_aliases.c.project_id == project,
            entity_aliases.c.entity_type == entity.entity_type,
            entity_aliases.c.into_id == canonical,
        )
    )
    found = ids.subquery("ids")
    return cast(select(func.array_agg(found.c.id)).scalar_subquery(), ARRAY(Text))


def _links_of_fact(project: str, where: FactFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if where.entity is not None:
        conditions.append(about(project, where.entity, where.roles))
    if where.content_id:
        conditions.append(_has_link(fact_contents, fact_contents.c.content_id == where.content_id))
    if where.tag:
        conditions.append(_has_link(fact_tags, fact_tags.c.tag == where.tag))
    return conditions


def _has_link(table: Table, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    of_fact = (table.c.project_id == facts.c.project_id) & (table.c.fact_id == facts.c.fact_id)
    return select(table.c.fact_id).where(of_fact, *conditions).correlate(facts).exists()


def _links_of_version(project: str, where: FactFilter) -> list[ColumnElement[bool]]:
    versions = fact_versions.c
    conditions: list[ColumnElement[bool]] = []
    if where.entity is not None:
        linked = _version_links_to(project, where.entity, where.roles)
        conditions.append(linked if where.roles else or_(owned_by(project, fact_versions, where.entity), linked))
    if where.content_id:
        conditions.append(versions.contents.contains([{"id": where.content_id}]))
    if where.tag:
        conditions.append(versions.tags.contains([where.tag]))
    return conditions


def _version_links_to(project: str, entity: EntityRef, roles: Sequence[SubjectRole]) -> ColumnElement[bool]:
    subjects = func.jsonb_array_elements(fact_versions.c.subjects).table_valued(
        column("value", fact_versions.c.subjects.type), name="subject"
    )
    subject = subjects.c.value
    linked = select(literal(1)).where(
        subject["type"].astext == entity.entity_type, subject["id"].astext == any_(ids_of(project, entity))
    )
    if roles:
        linked = linked.where(subject["role"].astext.in_([role.value for role in roles]))
    return linked.correlate(fact_versions).exists()
