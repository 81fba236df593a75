"""Facts: their partitions and slots, versions, sources, evidence and links."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

JSON = postgresql.JSONB(none_as_null=True)
TIME = sa.DateTime(timezone=True)
DEFERRED: dict[str, Any] = {"deferrable": True, "initially": "DEFERRED"}

FACT_TYPES = (
    "ASSERTION", "OBSERVATION", "MEASUREMENT", "DEFINITION", "RELATIONSHIP", "EVENT", "OPINION", "PREDICTION",
)  # fmt: skip
FACT_STATUSES = ("PENDING", "ACTIVE", "DISPUTED", "SUPERSEDED", "ARCHIVED", "RETRACTED", "DELETED")
EVOLUTION_TYPES = ("ORIGINAL", "CORRECTION", "REFINEMENT", "CONTRADICTION", "EXTENSION", "MERGE")
CHANGES = ("CREATED", "MERGED", "STATUS_CHANGED", "REVISED", "ERASED")
TRUST = ("UNTRUSTED", "THIRD_PARTY", "SEMI_TRUSTED", "TRUSTED")
VOLATILITIES = ("STABLE", "SLOW", "VOLATILE", "EPHEMERAL")
CARDINALITIES = ("SINGLE", "MULTI")


def upgrade() -> None:
    _create_partitions()
    _create_slots()
    _create_facts()
    _create_fact_versions()
    _create_provenance()
    _create_evidence()
    _create_links()


def downgrade() -> None:
    for table in (
        "fact_tags", "fact_contents", "fact_subjects", "evidence", "sources", "evolution_edges",
        "fact_versions", "facts", "slots", "predicates", "partitions", "projects",
    ):  # fmt: skip
        op.drop_table(table)


def _create_partitions() -> None:
    op.create_table(
        "projects",
        _text("project_id"),
        sa.Column("change_sequence", sa.BigInteger, nullable=False),
        _time("create_time"),
        _primary("projects", "project_id"),
    )
    op.create_table(
        "partitions",
        _text("project_id"),
        _uuid("partition_id"),
        *(_text(name) for name in ("access_scope", "domain", "type", "owner_type", "owner_id")),
        sa.Column("revision", sa.BigInteger, nullable=False),
        _time("recorded_time"),
        _one_of("partitions", "type", FACT_TYPES),
        _check("partitions", "owner_whole", "(owner_type = '') = (owner_id = '')"),
        _project("partitions"),
        _primary("partitions", "project_id", "partition_id"),
    )
    op.create_table(
        "predicates",
        _text("project_id"),
        _text("predicate"),
        _text("cardinality"),
        _time("create_time"),
        _one_of("predicates", "cardinality", CARDINALITIES),
        _project("predicates"),
        _primary("predicates", "project_id", "predicate"),
    )


def _create_slots() -> None:
    op.create_table(
        "slots",
        _text("project_id"),
        _uuid("slot_id"),
        _uuid("partition_id"),
        _text("slot_key"),
        _text("subject"),
        _text("predicate"),
        _json("qualifiers"),
        sa.UniqueConstraint(
            "project_id", "partition_id", "slot_key", name="uq_slots_project_id_partition_id_slot_key"
        ),
        _partition("slots"),
        _primary("slots", "project_id", "slot_id"),
    )


def _create_facts() -> None:
    op.create_table(
        "facts",
        _text("project_id"),
        _uuid("fact_id"),
        _integer("version"),
        *_state_columns(),
        sa.Column("text_digest", sa.LargeBinary, nullable=False),
        *_state_checks("facts"),
        _primary("facts", "project_id", "fact_id"),
    )
    _index("facts", "slot_id", name="uq_facts_one_active", unique=True, where="status = 'ACTIVE'")
    _index("facts", "slot_id")
    _index("facts", "partition_id", "text_digest")
    _index("facts", "partition_id", "partition_revision")
    _index("facts", "create_time", "fact_id")
    _index("facts", "owner_type", "owner_id", where="owner_type <> ''")
    _index("facts", "predicate", where="predicate IS NOT NULL")
    _index("facts", "conflict_id", where="conflict_id IS NOT NULL")


def _create_fact_versions() -> None:
    op.create_table(
        "fact_versions",
        _text("project_id"),
        _uuid("fact_id"),
        _integer("version"),
        *_state_columns(),
        *(_json(name) for name in ("subjects", "contents", "tags", "parents")),
        *(_text(name) for name in ("change", "actor", "reason")),
        _time("recorded_from"),
        _time("recorded_to", nullable=True),
        *_state_checks("fact_versions"),
        _one_of("fact_versions", "change", CHANGES),
        _ordered("fact_versions", "recorded_from", "recorded_to"),
        _fact("fact_versions"),
        _primary("fact_versions", "project_id", "fact_id", "version"),
    )
    _index("fact_versions", "recorded_from", "recorded_to")
    _index("fact_versions", "fact_id", name="uq_fact_versions_one_open", unique=True, where="recorded_to IS NULL")


def _create_provenance() -> None:
    op.create_table(
        "evolution_edges",
        _text("project_id"),
        _uuid("child_id"),
        _uuid("parent_id"),
        _text("type"),
        _integer("position"),
        _time("create_time"),
        _one_of("evolution_edges", "type", EVOLUTION_TYPES),
        _check("evolution_edges", "no_loop", "child_id <> parent_id"),
        _reference("evolution_edges", "child", "child_id", "facts", "fact_id", deferred=True),
        _reference("evolution_edges", "parent", "parent_id", "facts", "fact_id", deferred=True),
        _primary("evolution_edges", "project_id", "child_id", "parent_id"),
    )
    _index("evolution_edges", "parent_id")
    op.create_table(
        "sources",
        _text("project_id"),
        _uuid("source_id"),
        _uuid("fact_id"),
        sa.Column("identity_digest", sa.LargeBinary, nullable=False),
        *(_text(name) for name in ("source_type", "url", "title", "external_id")),
        _double("credibility"),
        _time("extract_time"),
        _text("trust"),
        _json("metadata"),
        _time("create_time"),
        _one_of("sources", "trust", TRUST),
        _unit_interval("sources", "credibility"),
        sa.UniqueConstraint(
            "project_id", "fact_id", "identity_digest", name="uq_sources_project_id_fact_id_identity_digest"
        ),
        _fact("sources"),
        _primary("sources", "project_id", "source_id"),
    )


def _create_evidence() -> None:
    op.create_table(
        "evidence",
        _text("project_id"),
        _uuid("evidence_id"),
        _uuid("fact_id"),
        _uuid("source_id", nullable=True),
        sa.Column("content_digest", sa.LargeBinary, nullable=False),
        *(_text(name) for name in ("stance", "quote", "locator", "source_kind", "source_ref")),
        _double("confidence"),
        _text("extraction_method"),
        _time("create_time"),
        _one_of("evidence", "stance", ("SUPPORTS", "CONTRADICTS", "UNCLEAR", "IRRELEVANT", "INVALID")),
        _unit_interval("evidence", "confidence"),
        sa.UniqueConstraint(
            "project_id", "fact_id", "content_digest", name="uq_evidence_project_id_fact_id_content_digest"
        ),
        _fact("evidence"),
        _reference("evidence", "source", "source_id", "sources", "source_id", deferred=True),
        _primary("evidence", "project_id", "evidence_id"),
    )


def _create_links() -> None:
    roles = ("SUBJECT", "OBJECT", "SOURCE", "LOCATION", "PARTICIPANT", "RELATED")
    relationships = ("EXTRACTED_FROM", "REFERENCED_IN", "SUPPORTS", "CONTRADICTS", "RELATED")
    op.create_table(
        "fact_subjects",
        _text("project_id"),
        _uuid("fact_id"),
        *(_text(name) for name in ("entity_type", "entity_id", "role")),
        _integer("position"),
        _one_of("fact_subjects", "role", roles),
        _fact("fact_subjects"),
        _primary("fact_subjects", "project_id", "fact_id", "entity_type", "entity_id", "role"),
    )
    _index("fact_subjects", "entity_type", "entity_id", "fact_id")
    op.create_table(
        "fact_contents",
        _text("project_id"),
        _uuid("fact_id"),
        *(_text(name) for name in ("content_id", "relationship")),
        _integer("position"),
        _one_of("fact_contents", "relationship", relationships),
        _fact("fact_contents"),
        _primary("fact_contents", "project_id", "fact_id", "content_id", "relationship"),
    )
    _index("fact_contents", "content_id", "fact_id")
    op.create_table(
        "fact_tags",
        _text("project_id"),
        _uuid("fact_id"),
        _text("tag"),
        _integer("position"),
        _fact("fact_tags"),
        _primary("fact_tags", "project_id", "fact_id", "tag"),
    )
    _index("fact_tags", "tag", "fact_id")


def _state_columns() -> list[sa.Column[Any]]:
    return [
        _uuid("partition_id"),
        *(_text(name) for name in ("access_scope", "domain", "type", "owner_type", "owner_id")),
        _uuid("slot_id"),
        *(_text(name) for name in ("status", "text", "text_raw", "value_key")),
        _text("claim_subject", nullable=True),
        _text("predicate", nullable=True),
        _json("claim_value", nullable=True),
        _json("qualifiers", nullable=True),
        _text("cardinality", nullable=True),
        _text("evolution_type"),
        _double("confidence"),
        _integer("source_count"),
        _double("corroboration_score"),
        _integer("reinforcement_count"),
        _time("last_reinforce_time"),
        _text("trust"),
        _text("volatility"),
        _time("valid_from"),
        _time("valid_to", nullable=True),
        _time("create_time"),
        _time("update_time"),
        _time("delete_time", nullable=True),
        _uuid("conflict_id", nullable=True),
        sa.Column("off_timeline", sa.Boolean, nullable=False),
        sa.Column("partition_revision", sa.BigInteger, nullable=False),
        _json("metadata"),
    ]


def _state_checks(table: str) -> list[sa.Constraint]:
    return [
        _one_of(table, "type", FACT_TYPES),
        _one_of(table, "status", FACT_STATUSES),
        _one_of(table, "evolution_type", EVOLUTION_TYPES),
        _one_of(table, "trust", TRUST),
        _one_of(table, "volatility", VOLATILITIES),
        _one_of(table, "cardinality", CARDINALITIES),
        _unit_interval(table, "confidence"),
        _unit_interval(table, "corroboration_score"),
        _ordered(table, "valid_from", "valid_to"),
        _check(table, "source_count", "source_count >= 0"),
        _check(table, "reinforcement_count", "reinforcement_count >= 0"),
        _check(table, "version", "version >= 1"),
        _check(table, "claim_whole", "num_nulls(claim_subject, predicate, qualifiers, cardinality) IN (0, 4)"),
        _check(table, "claim_value", "claim_value IS NULL OR predicate IS NOT NULL"),
        _partition(table),
    ]


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable)


def _uuid(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.Uuid, nullable=nullable)


def _time(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, TIME, nullable=nullable)


def _json(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, JSON, nullable=nullable)


def _double(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Double, nullable=False)


def _integer(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, autoincrement=False, nullable=False)


def _primary(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*columns, name=f"pk_{table}")


def _reference(
    table: str, name: str, column: str, target: str, referred: str, *, deferred: bool = False
) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["project_id", column],
        [f"{target}.project_id", f"{target}.{referred}"],
        name=op.f(f"fk_{table}_{name}"),
        **(DEFERRED if deferred else {}),
    )


def _project(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name=op.f(f"fk_{table}_project"))


def _partition(table: str) -> sa.ForeignKeyConstraint:
    return _reference(table, "partition", "partition_id", "partitions", "partition_id")


def _fact(table: str) -> sa.ForeignKeyConstraint:
    return _reference(table, "fact", "fact_id", "facts", "fact_id", deferred=True)


def _check(table: str, name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_{table}_{name}"))


def _one_of(table: str, column: str, values: tuple[str, ...]) -> sa.CheckConstraint:
    members = ", ".join(f"'{value}'" for value in values)
    return _check(table, column, f"{column} IN ({members})")


def _unit_interval(table: str, column: str) -> sa.CheckConstraint:
    return _check(table, column, f"{column} >= 0 AND {column} <= 1")


def _ordered(table: str, start: str, end: str) -> sa.CheckConstraint:
    return _check(table, f"{end}_after_{start}", f"{end} IS NULL OR {end} >= {start}")


def _index(table: str, *columns: str, name: str = "", unique: bool = False, where: str = "") -> None:
    op.create_index(
        name or f"ix_{table}_project_id_{'_'.join(columns)}",
        table,
        ["project_id", *columns],
        unique=unique,
        postgresql_where=sa.text(where) if where else None,
    )
