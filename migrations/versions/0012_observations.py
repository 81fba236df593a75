"""Observations, what they rest on, and their versions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import VECTOR
from sqlalchemy.dialects import postgresql

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
TEXTS = postgresql.ARRAY(sa.Text)

STATES = ("ACTIVE", "RETIRED")
ACTIONS = ("CREATED", "UPDATED", "MERGED", "RETIRED", "KEPT")
MARKERS = ("CONSIDERED", "FAILED")
MESSAGES_BEFORE = ("RUN", "PROGRESS", "OUTCOME", "SUMMARY")
MESSAGES = ("RUN", "PROGRESS", "OUTCOME", "OBSERVATION", "SUMMARY")
COUNTS = (
    "observe_total",
    "observe_processed",
    "observe_failed",
    "observe_rejected",
    "observe_observations_created",
    "observe_observations_updated",
    "observe_observations_merged",
    "observe_observations_retired",
    "observe_model_calls",
    "observe_input_tokens",
    "observe_output_tokens",
)
TABLES = (
    "run_facts",
    "observation_markers",
    "observation_versions",
    "observation_sources",
    "observations",
    "observation_groups",
)


def upgrade() -> None:
    _extend_runs()
    _create_groups()
    _create_observations()
    _create_sources()
    _create_versions()
    _create_markers()
    _create_run_facts()


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
    op.execute("DELETE FROM run_messages WHERE kind = 'OBSERVATION'")
    _set_message_kinds(MESSAGES_BEFORE)
    for name in (*COUNTS, "observing"):
        op.drop_column("runs", name)


def _extend_runs() -> None:
    op.add_column("runs", sa.Column("observing", sa.Boolean, nullable=False, server_default=sa.false()))
    op.alter_column("runs", "observing", server_default=None)
    for name in COUNTS:
        op.add_column("runs", sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
        op.alter_column("runs", name, server_default=None)
    _set_message_kinds(MESSAGES)


def _set_message_kinds(kinds: tuple[str, ...]) -> None:
    op.drop_constraint(op.f("ck_run_messages_kind"), "run_messages")
    quoted = ", ".join(f"'{kind}'" for kind in kinds)
    op.create_check_constraint(op.f("ck_run_messages_kind"), "run_messages", f"kind IN ({quoted})")


def _create_groups() -> None:
    table = "observation_groups"
    op.create_table(
        table,
        _text("project_id"),
        _id("group_id"),
        *(_text(name) for name in ("access_scope", "domain", "owner_type", "owner_id")),
        sa.Column("tags", TEXTS, nullable=False),
        _time("turn_time"),
        _id("lease_owner", nullable=True),
        _id("lease_run", nullable=True),
        _time("lease_until", nullable=True),
        _check(table, "lease", "num_nulls(lease_owner, lease_run, lease_until) IN (0, 3)"),
        _check(table, "owner_whole", "(owner_type = '') = (owner_id = '')"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name=op.f(f"fk_{table}_project")),
        sa.PrimaryKeyConstraint("project_id", "group_id", name=f"pk_{table}"),
    )
    _index(table, "project_id", "turn_time", "group_id")
    _index(table, "project_id", "owner_type", "owner_id")
    op.create_index(
        "ix_observation_groups_leases",
        table,
        ["project_id", "lease_owner"],
        postgresql_where=sa.text("lease_owner IS NOT NULL"),
    )


def _create_observations() -> None:
    table = "observations"
    op.create_table(
        table,
        _text("project_id"),
        _id("observation_id"),
        _id("group_id"),
        sa.Column("version", sa.Integer, nullable=False),
        _text("text"),
        _text("state"),
        sa.Column("embedding", VECTOR(_dimension())),
        _time("create_time"),
        _time("update_time"),
        _one_of(table, "state", STATES),
        _check(table, "version", "version >= 1"),
        _reference(table, "group", "observation_groups", "group_id"),
        sa.PrimaryKeyConstraint("project_id", "observation_id", name=f"pk_{table}"),
    )
    _index(table, "project_id", "group_id", "state")
    _index(table, "project_id", "create_time", "observation_id")
    op.create_index(
        "ix_observations_embedding",
        table,
        ["embedding"],
        postgresql_using="hnsw",
        postgresql_ops={"embedding": "vector_cosine_ops"},
        postgresql_where=sa.text("state = 'ACTIVE'"),
    )


def _dimension() -> int:
    """Returns the length of the vectors of facts, which a migration before this one chose."""
    length = (
        "SELECT atttypmod FROM pg_attribute WHERE attrelid = 'fact_search'::regclass AND attname = 'embedding'"
    )
    return int(op.get_bind().scalar(sa.text(length)))


def _create_sources() -> None:
    table = "observation_sources"
    op.create_table(
        table,
        _text("project_id"),
        _id("observation_id"),
        _id("fact_id"),
        sa.Column("attach_version", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("detach_version", sa.Integer),
        sa.Column("basis", sa.LargeBinary, nullable=False),
        _check(table, "detach_version", "detach_version IS NULL OR detach_version > attach_version"),
        _reference(table, "observation", "observations", "observation_id", deferred=True, cascade=True),
        _reference(table, "fact", "facts", "fact_id", cascade=True),
        sa.PrimaryKeyConstraint("project_id", "observation_id", "fact_id", "attach_version", name=f"pk_{table}"),
    )
    _index(table, "project_id", "fact_id")
    op.create_index(
        "uq_observation_sources_attached",
        table,
        ["project_id", "observation_id", "fact_id"],
        unique=True,
        postgresql_where=sa.text("detach_version IS NULL"),
    )


def _create_versions() -> None:
    table = "observation_versions"
    op.create_table(
        table,
        _text("project_id"),
        _id("observation_id"),
        sa.Column("version", sa.Integer, autoincrement=False, nullable=False),
        *(_text(name) for name in ("text", "state", "action")),
        _id("run_id", nullable=True),
        _text("reason"),
        _time("recorded_from"),
        _time("recorded_to", nullable=True),
        _one_of(table, "state", STATES),
        _one_of(table, "action", ACTIONS),
        _reference(table, "observation", "observations", "observation_id", deferred=True, cascade=True),
        _reference(table, "run", "runs", "run_id"),
        sa.PrimaryKeyConstraint("project_id", "observation_id", "version", name=f"pk_{table}"),
    )


def _create_markers() -> None:
    table = "observation_markers"
    op.create_table(
        table,
        _text("project_id"),
        _id("fact_id"),
        _id("group_id"),
        _text("state"),
        sa.Column("basis", sa.LargeBinary, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        _text("error_reason"),
        _text("error_message"),
        _time("retry_time", nullable=True),
        _time("update_time"),
        _one_of(table, "state", MARKERS),
        _check(table, "retry_time", "retry_time IS NULL OR state = 'FAILED'"),
        _reference(table, "fact", "facts", "fact_id", cascade=True),
        _reference(table, "group", "observation_groups", "group_id"),
        sa.PrimaryKeyConstraint("project_id", "fact_id", "group_id", name=f"pk_{table}"),
    )
    _index(table, "project_id", "group_id")
    op.create_index(
        "ix_observation_markers_failed",
        table,
        ["project_id", "fact_id"],
        postgresql_where=sa.text("state = 'FAILED'"),
    )


def _create_run_facts() -> None:
    table = "run_facts"
    op.create_table(
        table,
        _text("project_id"),
        _id("run_id"),
        _id("fact_id"),
        _id("group_id"),
        _time("fact_time"),
        _reference(table, "run", "runs", "run_id"),
        _reference(table, "fact", "facts", "fact_id", cascade=True),
        _reference(table, "group", "observation_groups", "group_id"),
        sa.PrimaryKeyConstraint("project_id", "run_id", "fact_id", name=f"pk_{table}"),
    )
    op.create_index("ix_run_facts_order", table, ["project_id", "run_id", "group_id", "fact_time", "fact_id"])
    _index(table, "project_id", "fact_id")


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _id(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.Uuid, nullable=nullable)


def _time(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, TIME, nullable=nullable)


def _check(table: str, name: str, rule: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(rule, name=op.f(f"ck_{table}_{name}"))


def _one_of(table: str, column: str, values: tuple[str, ...]) -> sa.CheckConstraint:
    quoted = ", ".join(f"'{value}'" for value in values)
    return _check(table, column, f"{column} IN ({quoted})")


def _reference(
    table: str, name: str, to: str, column: str, *, deferred: bool = False, cascade: bool = False
) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["project_id", column],
        [f"{to}.project_id", f"{to}.{column}"],
        name=op.f(f"fk_{table}_{name}"),
        deferrable=True if deferred else None,
        initially="DEFERRED" if deferred else None,
        ondelete="CASCADE" if cascade else None,
    )
