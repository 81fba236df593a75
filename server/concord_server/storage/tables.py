"""Tables of partitions, slots, conflicts, decisions and what keeps the service's promises to its callers.

Every table but ``deployment`` belongs to projects: its primary key and its unique indexes start with
``project_id`` and so do its foreign keys, so that the schema can be spread over machines by project.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
)
from sqlalchemy import (
    text as sql,
)
from sqlalchemy.dialects.postgresql import ARRAY

from concord_server.domain.enums import (
    ConflictState,
    DecisionBasis,
    FactChange,
    FactType,
    ReconcileAction,
    Trust,
)
from concord_server.domain.judgement import Relation
from concord_server.domain.timeline import AssertionKind, AssertionState
from concord_server.storage import (
    event_tables,
    fact_tables,
    observation_tables,
    predicate_tables,
    settings_tables,
    spend_tables,
)
from concord_server.storage.columns import (
    TIMESTAMP,
    counter,
    document,
    identifier,
    integer,
    key,
    metadata,
    moment,
    number,
    one_of,
    ordered_interval,
    project_key,
    reference,
    text,
    text_key,
)

ONE_OPEN_CONFLICT = "uq_conflicts_one_open"
"""Name of the index that is the last guard of the rule that a slot has at most one open conflict."""

REFERENCE_TABLES = frozenset({"deployment", "alembic_version"})
"""Small tables without a project: each machine has all of them."""


def _of_project() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="project")


projects = Table(
    "projects",
    metadata,
    project_key(),
    counter("change_sequence"),
    moment("create_time"),
    Column("display_name", Text, nullable=False, server_default=""),
    Index(None, "create_time", "project_id"),
)

deployment = Table(
    "deployment",
    metadata,
    text_key("key"),
    text("value"),
)

partitions = Table(
    "partitions",
    metadata,
    project_key(),
    key("partition_id"),  # follows from the five fields, so that it is unique to them
    text("access_scope"),
    text("domain"),
    text("type"),
    text("owner_type"),
    text("owner_id"),
    counter("revision"),
    moment("recorded_time"),
    one_of("type", FactType),
    CheckConstraint("(owner_type = '') = (owner_id = '')", name="owner_whole"),
    _of_project(),
)

slots = Table(
    "slots",
    metadata,
    project_key(),
    key("slot_id"),
    identifier("partition_id"),
    text("slot_key"),
    text("subject"),
    text("subject_key"),
    text("predicate"),
    document("qualifiers"),
    UniqueConstraint("project_id", "partition_id", "slot_key"),
    reference(["partition_id"], "partitions", ["partition_id"], "partition"),
    Index(None, "project_id", "slot_key"),
    Index(None, "project_id", "partition_id", "subject_key", "predicate"),
    Index(None, "project_id", "predicate"),
)

slot_assertions = Table(
    "slot_assertions",
    metadata,
    project_key(),
    key("assertion_id"),
    identifier("slot_id"),
    identifier("partition_id"),
    identifier("fact_id"),
    moment("time"),
    text("value_key"),
    document("value", nullable=True),
    text("kind"),
    text("trust"),
    text("state"),
    moment("end", nullable=True),
    Column("ends", Boolean, nullable=False),
    identifier("source_id", nullable=True),
    moment("create_time"),
    moment("update_time"),
    one_of("kind", AssertionKind),
    one_of("trust", Trust, names=True),
    one_of("state", AssertionState),
    reference(["partition_id"], "partitions", ["partition_id"], "partition"),
    reference(["fact_id"], "facts", ["fact_id"], "fact", deferred=True),
    reference(["source_id"], "sources", ["source_id"], "source", deferred=True),
    Index(None, "project_id", "slot_id"),
    Index(None, "project_id", "fact_id"),
    Index(None, "project_id", "source_id", postgresql_where=sql("source_id IS NOT NULL")),
)

# Ids that were merged into another. One step leads to the entity that stays: `into_id` is no alias itself.
entity_aliases = Table(
    "entity_aliases",
    metadata,
    project_key(),
    text_key("entity_type"),
    text_key("entity_id"),
    text("into_id"),
    moment("create_time"),
    CheckConstraint("entity_id <> into_id", name="no_loop"),
    _of_project(),
    Index(None, "project_id", "entity_type", "into_id"),
)

conflicts = Table(
    "conflicts",
    metadata,
    project_key(),
    key("conflict_id"),
    identifier("slot_id"),
    identifier("partition_id"),
    text("state"),
    text("reason"),
    moment("create_time"),
    moment("resolve_time", nullable=True),
    identifier("kept_fact_id", nullable=True),
    text("resolution_note"),
    integer("version"),
    one_of("state", ConflictState),
    CheckConstraint("(state = 'RESOLVED') = (resolve_time IS NOT NULL)", name="resolve_time"),
    reference(["partition_id"], "partitions", ["partition_id"], "partition"),
    reference(["kept_fact_id"], "facts", ["fact_id"], "kept_fact", deferred=True),
    Index(ONE_OPEN_CONFLICT, "project_id", "slot_id", unique=True, postgresql_where=sql("state = 'OPEN'")),
    Index(None, "project_id", "create_time", "conflict_id"),
)

conflict_members = Table(
    "conflict_members",
    metadata,
    project_key(),
    key("conflict_id"),
    key("fact_id"),
    Column("joined_time", TIMESTAMP, primary_key=True),
    moment("left_time", nullable=True),
    Column("is_incumbent", Boolean, nullable=False),
    ordered_interval("joined_time", "left_time"),
    reference(["conflict_id"], "conflicts", ["conflict_id"], "conflict"),
    reference(["fact_id"], "facts", ["fact_id"], "fact", deferred=True),
    Index(
        "uq_conflict_members_current",
        "project_id",
        "conflict_id",
        "fact_id",
        unique=True,
        postgresql_where=sql("left_time IS NULL"),
    ),
    Index(None, "project_id", "fact_id"),
)

decisions = Table(
    "decisions",
    metadata,
    project_key(),
    key("decision_id"),
    identifier("fact_id", nullable=True),
    text("basis"),
    text("judge"),
    text("action"),
    number("similarity_threshold"),
    number("conflict_threshold"),
    number("merge_probability_threshold"),
    number("supersede_probability_threshold"),
    text("rationale"),
    moment("create_time"),
    one_of("basis", DecisionBasis),
    one_of("action", ReconcileAction),
    reference(["fact_id"], "facts", ["fact_id"], "fact", deferred=True),
    Index(None, "project_id", "fact_id"),
)

decision_candidates = Table(
    "decision_candidates",
    metadata,
    project_key(),
    key("decision_id"),
    Column("position", Integer, primary_key=True),
    identifier("fact_id"),
    Column("similarity", Double, nullable=False),
    text("relation", nullable=True),
    document("probabilities"),
    Column("discrepancies", ARRAY(Text), nullable=False),
    text("rationale"),
    Column("chosen", Boolean, nullable=False),
    one_of("relation", Relation),
    reference(["decision_id"], "decisions", ["decision_id"], "decision"),
    reference(["fact_id"], "facts", ["fact_id"], "fact", deferred=True),
    Index(None, "project_id", "fact_id"),
)

request_ids = Table(
    "request_ids",
    metadata,
    project_key(),
    key("request_id"),
    text("method"),
    text("fingerprint"),
    Column("response", LargeBinary, nullable=True),
    Column("fact_ids", ARRAY(Uuid), nullable=False),
    Column("erased", Boolean, nullable=False),
    moment("create_time"),
    _of_project(),
    Index("ix_request_ids_fact_ids", "fact_ids", postgresql_using="gin"),
    Index(None, "project_id", "create_time"),
)

change_log = Table(
    "change_log",
    metadata,
    project_key(),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    identifier("fact_id"),
    text("change"),
    integer("fact_version"),
    moment("time"),
    text("domain"),
    one_of("change", FactChange),
    reference(["fact_id"], "facts", ["fact_id"], "fact"),
)

__all__ = [
    "ONE_OPEN_CONFLICT",
    "REFERENCE_TABLES",
    "change_log",
    "conflict_members",
    "conflicts",
    "decision_candidates",
    "decisions",
    "deployment",
    "entity_aliases",
    "event_tables",
    "fact_tables",
    "metadata",
    "observation_tables",
    "partitions",
    "predicate_tables",
    "projects",
    "request_ids",
    "settings_tables",
    "slot_assertions",
    "slots",
    "spend_tables",
]
