"""Lists of facts: as they are, as they held at a time, and as they were recorded at a time.

Statements are made once for each shape of a filter, and take its values as parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Double,
    Executable,
    Integer,
    ScalarSelect,
    Table,
    Text,
    Uuid,
    and_,
    any_,
    bindparam,
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

from concord_server.domain.enums import FactStatus
from concord_server.domain.errors import InvalidFieldsError, InvalidPageTokenError
from concord_server.domain.freshness import STALE_ONES
from concord_server.domain.model import EntityRef, Fact
from concord_server.domain.queries import ORDERABLE_FIELDS, CurrentRead, Cursor, FactFilter, FactOrder, Page
from concord_server.storage.columns import TIMESTAMP
from concord_server.storage.fact_rows import fact_columns, fact_from_row, version_columns
from concord_server.storage.fact_tables import fact_contents, fact_subjects, fact_tags, fact_versions, facts
from concord_server.storage.statements import PROJECT, SessionContext
from concord_server.storage.tables import entity_aliases

_ALWAYS_ON_TIMELINE = (FactStatus.ACTIVE.value, FactStatus.SUPERSEDED.value)
_TEXTS = ARRAY(Text)


@dataclass(frozen=True, slots=True)
class Shape:
    """Which conditions a filter has, whatever their values.

    Attributes:
        current: whether it is a current read, one with superseded facts, and one with conflicted facts.
    """

    domain: bool
    access_scope: bool
    types: bool
    statuses: bool
    entity: bool
    roles: bool
    owner: bool
    content_id: bool
    tag: bool
    predicate: bool
    min_confidence: bool
    as_of: bool
    known_at: bool
    unconflicted: bool
    current: tuple[bool, bool] | None

    @property
    def table(self) -> Table:
        """What the filter selects from: recorded states with ``known_at``, else facts as they are."""
        return fact_versions if self.known_at else facts

    @property
    def columns(self) -> list[ColumnElement[Any]]:
        """What to select of the table for :func:`~concord_server.storage.fact_rows.fact_from_row`."""
        return version_columns() if self.known_at else fact_columns()


def shape_of(where: FactFilter, current: CurrentRead | None = None) -> Shape:
    """Returns the shape of a filter."""
    return Shape(
        domain=bool(where.domain),
        access_scope=where.access_scope is not None,
        types=bool(where.types),
        statuses=bool(where.statuses),
        entity=where.entity is not None,
        roles=bool(where.roles),
        owner=where.owner is not None,
        content_id=bool(where.content_id),
        tag=bool(where.tag),
        predicate=bool(where.predicate),
        min_confidence=where.min_confidence > 0,
        as_of=where.as_of is not None,
        known_at=where.known_at is not None,
        unconflicted=where.unconflicted,
        current=None if current is None else (current.include_superseded, current.include_conflicted),
    )


def parameters_of(project: str, where: FactFilter, current: CurrentRead | None = None) -> dict[str, Any]:
    """Returns the values of a filter, as :func:`conditions_of` takes them."""
    values: dict[str, Any] = {
        "project": project,
        "of_domain": where.domain,
        "of_scope": where.access_scope,
        "of_types": [fact_type.value for fact_type in where.types],
        "of_statuses": [status.value for status in where.statuses],
        "of_roles": [role.value for role in where.roles],
        "of_content": where.content_id,
        "of_tag": where.tag,
        "of_predicates": [where.predicate, *where.other_predicates],
        "of_confidence": where.min_confidence,
        "as_of": where.as_of,
        "known_at": where.known_at,
    }
    for name, entity in (("entity", where.entity), ("owner", where.owner)):
        if entity is not None:
            values |= entity_parameters(name, entity)
    if current is not None:
        values["current_moment"] = current.moment
        horizons = current.horizons
        values |= {f"fresh_{v.value}": horizons.oldest_fresh(v, current.moment) for v in STALE_ONES}
    return values


def entity_parameters(name: str, entity: EntityRef) -> dict[str, str]:
    """Returns the values of an entity, as :func:`owned_by` and :func:`about` take them."""
    return {f"{name}_type": entity.entity_type, f"{name}_id": entity.entity_id}


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
    shape, parameters = shape_of(where), parameters_of(context.project, where)
    total = (await context.statements.execute(count_of(shape), parameters)).scalar_one()
    if after is not None:
        parameters |= {"last_value": _position(order, after), "last_id": after.last_id}
    page = _page(shape, order, goes_on=after is not None)
    rows = await context.statements.rows(page, parameters | {"limit": size + 1})
    items = [fact_from_row(row) for row in rows]
    following = cursor_of(items[size - 1], order) if len(items) > size else None
    return Page(items[:size], following, total)


@lru_cache(maxsize=512)
def count_of(shape: Shape) -> Executable:
    """Returns the statement that counts what passes a filter."""
    return select(func.count()).select_from(shape.table).where(*conditions_of(shape))


@lru_cache(maxsize=512)
def conditions_of(shape: Shape) -> tuple[ColumnElement[bool], ...]:
    """Returns what selects the rows that pass a filter, of the table of its shape."""
    table = shape.table
    simple = (
        (shape.domain, table.c.domain == bindparam("of_domain", type_=Text)),
        (shape.access_scope, table.c.access_scope == bindparam("of_scope", type_=Text)),
        (shape.types, table.c.type == any_(bindparam("of_types", type_=_TEXTS))),
        (shape.predicate, table.c.predicate == any_(bindparam("of_predicates", type_=_TEXTS))),
        (shape.min_confidence, table.c.confidence >= bindparam("of_confidence", type_=Double)),
        (shape.unconflicted, table.c.conflict_id.is_(None)),
        (shape.as_of, _holds_at(table, bindparam("as_of", type_=TIMESTAMP))),
    )
    conditions = [table.c.project_id == PROJECT, _statuses(shape)]
    conditions += [condition for named, condition in simple if named]
    if shape.owner:
        conditions.append(owned_by("owner", table))
    if shape.known_at:
        conditions += [*_recorded_at(bindparam("known_at", type_=TIMESTAMP)), *_links_of_version(shape)]
    else:
        conditions += _links_of_fact(shape)
    return (*conditions, *_current(shape))


def _current(shape: Shape) -> list[ColumnElement[bool]]:
    """Returns what selects the rows of a current read."""
    if shape.current is None:
        return []
    table, (superseded, conflicted) = shape.table, shape.current
    status = table.c.status
    holding = status == FactStatus.ACTIVE.value
    if conflicted:
        challenging = and_(status == FactStatus.PENDING.value, table.c.conflict_id.is_not(None))
        holding = or_(holding, challenging)
    fresh = (
        or_(
            table.c.volatility != volatility.value,
            table.c.last_reinforce_time >= bindparam(f"fresh_{volatility.value}", type_=TIMESTAMP),
        )
        for volatility in STALE_ONES
    )
    held = and_(holding, _holds_at(table, bindparam("current_moment", type_=TIMESTAMP)), *fresh)
    if superseded:
        held = or_(held, status == FactStatus.SUPERSEDED.value)
    return [held] if conflicted else [held, table.c.conflict_id.is_(None)]


def cursor_of(fact: Fact, order: FactOrder) -> Cursor:
    """Returns where the page after ``fact`` starts; the value comes back exactly as it is stored."""
    value = getattr(fact, order.field)
    return Cursor(value.isoformat() if isinstance(value, datetime) else repr(value), fact.fact_id)


@lru_cache(maxsize=512)
def _page(shape: Shape, order: FactOrder, *, goes_on: bool) -> Executable:
    table = shape.table
    query = select(*shape.columns).where(*conditions_of(shape))
    ordered, fact_id = table.c[order.field], table.c.fact_id
    if goes_on:
        value: BindParameter[Any] = bindparam("last_value", type_=ordered.type)
        last, here = tuple_(value, bindparam("last_id", type_=Uuid)), tuple_(ordered, fact_id)
        query = query.where(here < last if order.descending else here > last)
    positions = (ordered.desc(), fact_id.desc()) if order.descending else (ordered, fact_id)
    return query.order_by(*positions).limit(bindparam("limit", type_=Integer))


def _position(order: FactOrder, after: Cursor) -> float | datetime:
    of_type: TypeEngine[Any] = facts.c[order.field].type
    try:
        if isinstance(of_type, Double):
            return float(after.value)
        moment = datetime.fromisoformat(after.value)
    except ValueError:
        raise InvalidPageTokenError.of("page_token", "belongs to another order") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _statuses(shape: Shape) -> ColumnElement[bool]:
    table = shape.table
    status = table.c.status
    if shape.statuses:
        named = status == any_(bindparam("of_statuses", type_=_TEXTS))
        return and_(named, ~table.c.off_timeline) if shape.as_of else named
    if not shape.as_of:
        return status != FactStatus.DELETED.value
    return or_(
        status.in_(_ALWAYS_ON_TIMELINE),
        and_(status == FactStatus.DISPUTED.value, ~table.c.off_timeline),
        # Scheduled; what waits in a conflict is on no timeline.
        and_(status == FactStatus.PENDING.value, table.c.conflict_id.is_(None)),
    )


def _holds_at(table: Table, moment: ColumnElement[datetime]) -> ColumnElement[bool]:
    return and_(table.c.valid_from <= moment, or_(table.c.valid_to.is_(None), table.c.valid_to > moment))


def _recorded_at(moment: ColumnElement[datetime]) -> list[ColumnElement[bool]]:
    versions = fact_versions.c
    return [
        versions.recorded_from <= moment,
        or_(versions.recorded_to.is_(None), versions.recorded_to > moment),
        # What was erased since is not served, whatever it was then.
        or_(versions.text != "", versions.status == FactStatus.DELETED.value),
    ]


def owned_by(name: str, table: Table) -> ColumnElement[bool]:
    """Returns the condition that a row of ``facts`` or ``fact_versions`` is owned by an entity.

    Args:
        name: that of the entity's parameters, as in :func:`entity_parameters`.
    """
    return and_(table.c.owner_type == _type(name), table.c.owner_id == any_(ids_of(name)))


def about(name: str, *, in_roles: bool = False) -> ColumnElement[bool]:
    """Returns the condition that a row of ``facts`` is linked to an entity in one of the roles asked for.

    Without roles: linked in any, or owned by it.

    Args:
        name: that of the entity's parameters, as in :func:`entity_parameters`.
    """
    links = select(fact_subjects.c.fact_id).where(
        fact_subjects.c.project_id == PROJECT,
        fact_subjects.c.entity_type == _type(name),
        fact_subjects.c.entity_id == any_(ids_of(name)),
    )
    if in_roles:
        return facts.c.fact_id.in_(links.where(fact_subjects.c.role == any_(bindparam("of_roles", type_=_TEXTS))))
    own = facts.alias("own")
    owned = select(own.c.fact_id).where(
        own.c.project_id == PROJECT,
        own.c.owner_type == _type(name),
        own.c.owner_id == any_(ids_of(name)),
        own.c.owner_type != "",  # lets the index of owned facts be used
    )
    return facts.c.fact_id.in_(links.union_all(owned))


def ids_of(name: str) -> ColumnElement[Any]:
    """Returns every id of an entity, as an array: the one it goes by, and those that were merged into it.

    Args:
        name: that of the entity's parameters, as in :func:`entity_parameters`.
    """
    canonical = _canonical_id(name)
    ids = select(canonical.label("id")).union_all(
        select(entity_aliases.c.entity_id).where(
            entity_aliases.c.project_id == PROJECT,
            entity_aliases.c.entity_type == _type(name),
            entity_aliases.c.into_id == canonical,
        )
    )
    found = ids.subquery("ids")
    return cast(select(func.array_agg(found.c.id)).scalar_subquery(), _TEXTS)


def _canonical_id(name: str) -> ScalarSelect[str]:
    given: BindParameter[str] = bindparam(f"{name}_id", type_=Text)
    merged = (
        select(entity_aliases.c.into_id)
        .where(
            entity_aliases.c.project_id == PROJECT,
            entity_aliases.c.entity_type == _type(name),
            entity_aliases.c.entity_id == given,
        )
        .scalar_subquery()
    )
    return select(func.coalesce(merged, given)).scalar_subquery()


def _type(name: str) -> BindParameter[str]:
    return bindparam(f"{name}_type", type_=Text)


def _links_of_fact(shape: Shape) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if shape.entity:
        conditions.append(about("entity", in_roles=shape.roles))
    if shape.content_id:
        conditions.append(
            _has_link(fact_contents, fact_contents.c.content_id == bindparam("of_content", type_=Text))
        )
    if shape.tag:
        conditions.append(_has_link(fact_tags, fact_tags.c.tag == bindparam("of_tag", type_=Text)))
    return conditions


def _has_link(table: Table, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    of_fact = (table.c.project_id == facts.c.project_id) & (table.c.fact_id == facts.c.fact_id)
    return select(table.c.fact_id).where(of_fact, *conditions).correlate(facts).exists()


def _links_of_version(shape: Shape) -> list[ColumnElement[bool]]:
    versions = fact_versions.c
    conditions: list[ColumnElement[bool]] = []
    if shape.entity:
        linked = _version_links(in_roles=shape.roles)
        conditions.append(linked if shape.roles else or_(owned_by("entity", fact_versions), linked))
    if shape.content_id:
        content = func.jsonb_build_object("id", bindparam("of_content", type_=Text))
        conditions.append(versions.contents.contains(func.jsonb_build_array(content)))
    if shape.tag:
        conditions.append(versions.tags.contains(func.jsonb_build_array(bindparam("of_tag", type_=Text))))
    return conditions


def _version_links(*, in_roles: bool) -> ColumnElement[bool]:
    subjects = func.jsonb_array_elements(fact_versions.c.subjects).table_valued(
        column("value", fact_versions.c.subjects.type), name="subject"
    )
    subject = subjects.c.value
    linked = select(literal(1)).where(
        subject["type"].astext == _type("entity"), subject["id"].astext == any_(ids_of("entity"))
    )
    if in_roles:
        linked = linked.where(subject["role"].astext == any_(bindparam("of_roles", type_=_TEXTS)))
    return linked.correlate(fact_versions).exists()
