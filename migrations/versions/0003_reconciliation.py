"""What reconciling leaves behind: assertions, conflicts, decisions, answered requests and the change log."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

JSON = postgresql.JSONB(none_as_null=True)
TIME = sa.DateTime(timezone=True)
DEFERRED: dict[str, Any] = {"deferrable": True, "initially": "DEFERRED"}

CHANGES = ("CREATED", "MERGED", "STATUS_CHANGED", "REVISED", "ERASED")
TRUST = ("UNTRUSTED", "THIRD_PARTY", "SEMI_TRUSTED", "TRUSTED")


def upgrade() -> None:
    _create_conflicts()
    _create_conflict_members()
    _create_assertions()
    _create_decisions()
    _create_requests()
    _create_change_log()
    for table in ("facts", "fact_versions"):
        op.create_foreign_key(
            op.f(f"fk_{table}_conflict"),
            table,
            "conflicts",
            ["project_id", "conflict_id"],
            ["project_id", "conflict_id"],
            **DEFERRED,
        )


def downgrade() -> None:
    for table in ("facts", "fact_versions"):
        op.drop_constraint(f"fk_{table}_conflict", table)
    for table in (
        "change_log", "request_ids", "decision_candidates", "decisions", "slot_assertions", "conflict_members",
        "conflicts",
    ):  # fmt: skip
        op.drop_table(table)


def _create_conflicts() -> None:
    op.create_table(
        "conflicts",
        _text("project_id"),
        _uuid("conflict_id"),
        _uuid("slot_id"),
        _uuid("partition_id"),
        _text("state"),
        _text("reason"),
        _time("create_time"),
        _time("resolve_time", nullable=True),
        _uuid("kept_fact_id", nullable=True),
        _text("resolution_note"),
        _integer("version"),
        _one_of("conflicts", "state", ("OPEN", "RESOLVED")),
        _check("conflicts", "resolve_time", "(state = 'RESOLVED') = (resolve_time IS NOT NULL)"),
        _partition("conflicts"),
        _reference("conflicts", "kept_fact", "kept_fact_id", "facts", "fact_id", deferred=True),
        _primary("conflicts", "project_id", "conflict_id"),
    )
    _index("conflicts", "slot_id", name="uq_conflicts_one_open", unique=True, where="state = 'OPEN'")
    _index("conflicts", "create_time", "conflict_id")


def _create_conflict_members() -> None:
    op.create_table(
        "conflict_members",
        _text("project_id"),
        _uuid("conflict_id"),
        _uuid("fact_id"),
        _time("joined_time"),
        _time("left_time", nullable=True),
        sa.Column("is_incumbent", sa.Boolean, nullable=False),
        _ordered("conflict_members", "joined_time", "left_time"),
        _reference("conflict_members", "conflict", "conflict_id", "conflicts", "conflict_id"),
        _fact("conflict_members"),
        _primary("conflict_members", "project_id", "conflict_id", "fact_id", "joined_time"),
    )
    _index(
        "conflict_members",
        "conflict_id",
        "fact_id",
        name="uq_conflict_members_current",
        unique=True,
        where="left_time IS NULL",
    )
    _index("conflict_members", "fact_id")


def _create_assertions() -> None:
    op.create_table(
        "slot_assertions",
        _text("project_id"),
        *(_uuid(name) for name in ("assertion_id", "slot_id", "partition_id", "fact_id")),
        _time("time"),
        _text("value_key"),
        _json("value", nullable=True),
        *(_text(name) for name in ("kind", "trust", "state")),
        _time("end", nullable=True),
        sa.Column("ends", sa.Boolean, nullable=False),
        _uuid("source_id", nullable=True),
        _time("create_time"),
        _time("update_time"),
        _one_of("slot_assertions", "kind", ("STATE", "PATCH", "CORRECT", "AMEND")),
        _one_of("slot_assertions", "trust", TRUST),
        _one_of("slot_assertions", "state", ("ADMITTED", "QUARANTINED", "SUSPENDED", "WITHDRAWN", "OVERRULED")),
        _partition("slot_assertions"),
        _fact("slot_assertions"),
        _reference("slot_assertions", "source", "source_id", "sources", "source_id", deferred=True),
        _primary("slot_assertions", "project_id", "assertion_id"),
    )
    _index("slot_assertions", "slot_id")
    _index("slot_assertions", "fact_id")
    _index("slot_assertions", "source_id", where="source_id IS NOT NULL")


def _create_decisions() -> None:
    bases = (
        "EXACT_TEXT", "EXACT_CLAIM", "SLOT", "NO_CANDIDATE", "ABOVE_THRESHOLD", "JUDGED", "JUDGE_UNAVAILABLE",
        "EMBEDDER_UNAVAILABLE",
    )  # fmt: skip
    relations = ("same", "refinement", "contradiction", "correction", "extension", "distinct")
    thresholds = ("similarity", "conflict", "merge_probability", "supersede_probability")
    op.create_table(
        "decisions",
        _text("project_id"),
        _uuid("decision_id"),
        _uuid("fact_id", nullable=True),
        *(_text(name) for name in ("basis", "judge", "action")),
        *(_double(f"{name}_threshold") for name in thresholds),
        _text("rationale"),
        _time("create_time"),
        _one_of("decisions", "basis", bases),
        _one_of("decisions", "action", ("CREATED", "MERGED", "BRANCHED", "CONFLICTED", "SUPPRESSED")),
        _fact("decisions"),
        _primary("decisions", "project_id", "decision_id"),
    )
    _index("decisions", "fact_id")
    op.create_table(
        "decision_candidates",
        _text("project_id"),
        _uuid("decision_id"),
        _integer("position"),
        _uuid("fact_id"),
        _double("similarity"),
        _text("relation", nullable=True),
        _json("probabilities"),
        sa.Column("discrepancies", postgresql.ARRAY(sa.Text), nullable=False),
        _text("rationale"),
        sa.Column("chosen", sa.Boolean, nullable=False),
        _one_of("decision_candidates", "relation", relations),
        _reference("decision_candidates", "decision", "decision_id", "decisions", "decision_id"),
        _fact("decision_candidates"),
        _primary("decision_candidates", "project_id", "decision_id", "position"),
    )
    _index("decision_candidates", "fact_id")


def _create_requests() -> None:
    op.create_table(
        "request_ids",
        _text("project_id"),
        _uuid("request_id"),
        _text("method"),
        _text("fingerprint"),
        sa.Column("response", sa.LargeBinary),
        sa.Column("fact_ids", postgresql.ARRAY(sa.Uuid), nullable=False),
        sa.Column("erased", sa.Boolean, nullable=False),
        _time("create_time"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name=op.f("fk_request_ids_project")),
        _primary("request_ids", "project_id", "request_id"),
    )
    op.create_index("ix_request_ids_fact_ids", "request_ids", ["fact_ids"], postgresql_using="gin")
    _index("request_ids", "create_time")


def _create_change_log() -> None:
    op.create_table(
        "change_log",
        _text("project_id"),
        sa.Column("sequence", sa.BigInteger, autoincrement=False, nullable=False),
        _uuid("fact_id"),
        _text("change"),
        _integer("fact_version"),
        _time("time"),
        _text("domain"),
        _one_of("change_log", "change", CHANGES),
        _reference("change_log", "fact", "fact_id", "facts", "fact_id"),
        _primary("change_log", "project_id", "sequence"),
    )


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


def _partition(table: str) -> sa.ForeignKeyConstraint:
    return _reference(table, "partition", "partition_id", "partitions", "partition_id")


def _fact(table: str) -> sa.ForeignKeyConstraint:
    return _reference(table, "fact", "fact_id", "facts", "fact_id", deferred=True)


def _check(table: str, name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_{table}_{name}"))


def _one_of(table: str, column: str, values: tuple[str, ...]) -> sa.CheckConstraint:
    members = ", ".join(f"'{value}'" for value in values)
    return _check(table, column, f"{column} IN ({members})")


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
