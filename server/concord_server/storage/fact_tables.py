"""Tables of facts, their versions, what they rest on and what they are linked to."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Constraint,
    Index,
    Integer,
    LargeBinary,
    Table,
    UniqueConstraint,
)
from sqlalchemy import (
    text as sql,
)
from sqlalchemy.dialects.postgresql import TSVECTOR

from concord_server.domain.enums import (
    Cardinality,
    ContentRelationship,
    EvidenceStance,
    EvolutionType,
    FactChange,
    FactStatus,
    FactType,
    SubjectRole,
    Trust,
    Volatility,
)
from concord_server.storage.columns import (
    EMBEDDING,
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
    unit_interval,
)

ONE_ACTIVE_FACT = "uq_facts_one_active"
"""Name of the index that is the last guard of the rule that a slot has at most one ACTIVE fact."""


def _state_columns() -> list[Column[Any]]:
    """Returns the columns that a fact and each of its versions have in common.

    The partition's fields are repeated from ``partitions``, so that filters and orders need no join.
    """
    return [
        identifier("partition_id"),
        text("access_scope"),
        text("domain"),
        text("type"),
        text("owner_type"),
        text("owner_id"),
        identifier("slot_id"),
        text("status"),
        text("text"),
        text("text_raw"),
        text("value_key"),
        text("claim_subject", nullable=True),
        text("predicate", nullable=True),
        document("claim_value", nullable=True),
        document("qualifiers", nullable=True),
        text("cardinality", nullable=True),
        text("evolution_type"),
        number("confidence"),
        integer("source_count"),
        number("corroboration_score"),
        integer("reinforcement_count"),
        moment("last_reinforce_time"),
        text("trust"),
        text("volatility"),
        moment("valid_from"),
        moment("valid_to", nullable=True),
        moment("create_time"),
        moment("update_time"),
        moment("delete_time", nullable=True),
        identifier("conflict_id", nullable=True),
        Column("off_timeline", Boolean, nullable=False),
        counter("partition_revision"),
        document("metadata"),
    ]


def _state_checks() -> list[Constraint]:
    return [
        one_of("type", FactType),
        one_of("status", FactStatus),
        one_of("evolution_type", EvolutionType),
        one_of("trust", Trust, names=True),
        one_of("volatility", Volatility),
        one_of("cardinality", Cardinality),
        unit_interval("confidence"),
        unit_interval("corroboration_score"),
        ordered_interval("valid_from", "valid_to"),
        CheckConstraint("source_count >= 0", name="source_count"),
        CheckConstraint("reinforcement_count >= 0", name="reinforcement_count"),
        CheckConstraint("version >= 1", name="version"),
        CheckConstraint(
            "num_nulls(claim_subject, predicate, qualifiers, cardinality) IN (0, 4)", name="claim_whole"
        ),
        CheckConstraint("claim_value IS NULL OR predicate IS NOT NULL", name="claim_value"),
        reference(["partition_id"], "partitions", ["partition_id"], "partition"),
        reference(["conflict_id"], "conflicts", ["conflict_id"], "conflict", deferred=True, circular=True),
    ]


STATE_COLUMNS = tuple(column.name for column in _state_columns())
"""Names of the columns that a fact and each of its versions have in common, ``version`` aside."""

facts = Table(
    "facts",
    metadata,
    project_key(),
    key("fact_id"),
    integer("version"),
    *_state_columns(),
    Column("text_digest", LargeBinary, nullable=False),
    *_state_checks(),
    Index(ONE_ACTIVE_FACT, "project_id", "slot_id", unique=True, postgresql_where=sql("status = 'ACTIVE'")),
    Index(None, "project_id", "slot_id"),
    Index(None, "project_id", "partition_id", "text_digest"),
    Index(None, "project_id", "partition_id", "partition_revision"),
    Index(None, "project_id", "create_time", "fact_id"),
    Index(None, "project_id", "owner_type", "owner_id", postgresql_where=sql("owner_type <> ''")),
    Index(None, "project_id", "predicate", postgresql_where=sql("predicate IS NOT NULL")),
    Index(None, "project_id", "domain", postgresql_where=sql("domain <> ''")),
    Index(None, "project_id", "access_scope", postgresql_where=sql("access_scope <> ''")),
    Index(None, "project_id", "conflict_id", postgresql_where=sql("conflict_id IS NOT NULL")),
    Index(
        "ix_facts_scheduled",
        "project_id",
        "valid_from",
        postgresql_where=sql("status = 'PENDING' AND conflict_id IS NULL"),
    ),
)

fact_versions = Table(
    "fact_versions",
    metadata,
    project_key(),
    key("fact_id"),
    Column("version", Integer, primary_key=True),
    *_state_columns(),
    document("subjects"),
    document("contents"),
    document("tags"),
    document("parents"),
    text("change"),
    text("actor"),
    text("reason"),
    moment("recorded_from"),
    moment("recorded_to", nullable=True),
    *_state_checks(),
    one_of("change", FactChange),
    ordered_interval("recorded_from", "recorded_to"),
    reference(["fact_id"], "facts", ["fact_id"], "fact", deferred=True),
    Index(None, "project_id", "recorded_from", "recorded_to"),
    Index(
        "uq_fact_versions_one_open",
        "project_id",
        "fact_id",
        unique=True,
        postgresql_where=sql("recorded_to IS NULL"),
    ),
)

# Apart from facts, because what changes there with almost every statement (status, bounds, counts) would
# otherwise write its vector and words anew, to the row as well as to the two large indexes.
fact_search = Table(
    "fact_search",
    metadata,
    project_key(),
    key("fact_id"),
    identifier("partition_id"),
    moment("create_time"),
    Column("embedding", EMBEDDING),
    Column("words", TSVECTOR, nullable=False),
    reference(["fact_id"], "facts", ["fact_id"], "fact", deferred=True),
    reference(["partition_id"], "partitions", ["partition_id"], "partition"),
    Index(None, "project_id", "partition_id"),
    Index("ix_fact_search_pending", "project_id", "create_time", postgresql_where=sql("embedding IS NULL")),
    Index(
        "ix_fact_search_embedding",
        "embedding",
        postgresql_using="hnsw",
        postgresql_ops={"embedding": "vector_cosine_ops"},
    ),
    Index("ix_fact_search_words", "words", postgresql_using="gin"),
)

evolution_edges = Table(
    "evolution_edges",
    metadata,
    project_key(),
    key("child_id"),
    key("parent_id"),
    text("type"),
    integer("position"),
    moment("create_time"),
    one_of("type", EvolutionType),
    CheckConstraint("child_id <> parent_id", name="no_loop"),
    reference(["child_id"], "facts", ["fact_id"], "child", deferred=True),
    reference(["parent_id"], "facts", ["fact_id"], "parent", deferred=True),
    # The parent comes first: where most projects have few edges, the planner takes an index that begins with the
    # project for as good as the primary key, and each step up a large family would read the whole project.
    Index(None, "parent_id", "project_id"),
)

sources = Table(
    "sources",
    metadata,
    project_key(),
    key("source_id"),
    identifier("fact_id"),
    Column("identity_digest", LargeBinary, nullable=False),
    text("source_type"),
    text("url"),
    text("title"),
    text("external_id"),
    number("credibility"),
    moment("extract_time"),
    text("trust"),
    document("metadata"),
    moment("create_time"),
    one_of("trust", Trust, names=True),
    unit_interval("credibility"),
    UniqueConstraint("project_id", "fact_id", "identity_digest"),
    reference(["fact_id"], "facts", ["fact_id"], "fact", deferred=True),
    # Digests, because a name may be longer than an index can hold.
    Index(
        "ix_sources_external_id",
        "project_id",
        sql("md5(external_id)"),
        postgresql_where=sql("external_id <> ''"),
    ),
    Index("ix_sources_url", "project_id", sql("md5(url)"), postgresql_where=sql("url <> ''")),
)

evidence = Table(
    "evidence",
    metadata,
    project_key(),
    key("evidence_id"),
    identifier("fact_id"),
    identifier("source_id", nullable=True),
    Column("content_digest", LargeBinary, nullable=False),
    text("stance"),
    text("quote"),
    text("locator"),
    text("source_kind"),
    text("source_ref"),
    number("confidence"),
    text("extraction_method"),
    moment("create_time"),
    one_of("stance", EvidenceStance),
    unit_interval("confidence"),
    UniqueConstraint("project_id", "fact_id", "content_digest"),
    reference(["fact_id"], "facts", ["fact_id"], "fact", deferred=True),
    reference(["source_id"], "sources", ["source_id"], "source", deferred=True),
)

fact_subjects = Table(
    "fact_subjects",
    metadata,
    project_key(),
    key("fact_id"),
    text_key("entity_type"),
    text_key("entity_id"),
    text_key("role"),
    integer("position"),
    one_of("role", SubjectRole),
    reference(["fact_id"], "facts", ["fact_id"], "fact", deferred=True),
    Index(None, "project_id", "entity_type", "entity_id", "fact_id"),
)

fact_contents = Table(
    "fact_contents",
    metadata,
    project_key(),
    key("fact_id"),
    text_key("content_id"),
    text_key("relationship"),
    integer("position"),
    one_of("relationship", ContentRelationship),
    reference(["fact_id"], "facts", ["fact_id"], "fact", deferred=True),
    Index(None, "project_id", "content_id", "fact_id"),
)

fact_wordings = Table(
    "fact_wordings",
    metadata,
    project_key(),
    key("fact_id"),
    Column("text_digest", LargeBinary, primary_key=True),
    reference(["fact_id"], "facts", ["fact_id"], "fact", deferred=True),
    Index(None, "project_id", "text_digest"),
)
"""Digests of wordings that merged into a fact by meaning; its own wording is in ``facts``."""

fact_tags = Table(
    "fact_tags",
    metadata,
    project_key(),
    key("fact_id"),
    text_key("tag"),
    integer("position"),
    reference(["fact_id"], "facts", ["fact_id"], "fact", deferred=True),
    Index(None, "project_id", "tag", "fact_id"),
)
