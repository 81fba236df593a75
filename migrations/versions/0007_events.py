"""Events, and the runs that turn them into facts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
JSON = postgresql.JSONB(none_as_null=True)
TEXTS = postgresql.ARRAY(sa.Text)

TRUST = ("UNTRUSTED", "THIRD_PARTY", "SEMI_TRUSTED", "TRUSTED")
EVENT_STATES = ("PENDING", "RUNNING", "DONE", "FAILED", "DEAD")
OUTCOMES = (
    "DUPLICATE",
    "REINFORCED",
    "SUPERSEDED",
    "CONFLICTED",
    "CREATED",
    "REJECTED",
    "SUPPRESSED",
    "HISTORICAL",
)
RUN_STATES = ("QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "RATE_LIMITED")
MESSAGES = ("RUN", "PROGRESS", "OUTCOME", "SUMMARY")
COUNTS = (
    "total",
    "processed",
    "created",
    "reinforced",
    "superseded",
    "historical",
    "conflicted",
    "suppressed",
    "duplicate",
    "rejected",
    "failed",
    "model_calls",
    "input_tokens",
    "output_tokens",
)
TABLES = ("run_messages", "run_events", "runs", "event_candidates", "event_subjects", "events")


def upgrade() -> None:
    _create_events()
    _create_event_subjects()
    _create_event_candidates()
    _create_runs()
    _create_run_events()
    _create_run_messages()


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)


def _create_events() -> None:
    op.create_table(
        "events",
        _text("project_id"),
        _id("event_id"),
        *(_text(name) for name in ("subject_type", "subject_id", "kind", "text")),
        _json("payload"),
        _json("messages"),
        _time("occur_time"),
        *(_text(name) for name in ("trust", "access_scope", "domain")),
        _json("source", nullable=True),
        sa.Column("tags", TEXTS, nullable=False),
        _text("idempotency_key"),
        _text("digest"),
        _json("candidates"),
        _text("state"),
        sa.Column("attempts", sa.Integer, nullable=False),
        _id("run_id", nullable=True),
        _text("error_reason"),
        _text("error_message"),
        _time("retry_time", nullable=True),
        _time("create_time"),
        _time("update_time"),
        _time("delete_time", nullable=True),
        _one_of("events", "trust", TRUST),
        _one_of("events", "state", EVENT_STATES),
        _check("events", "retry_time", "(state = 'FAILED') = (retry_time IS NOT NULL)"),
        _check("events", "run", "state <> 'RUNNING' OR run_id IS NOT NULL"),
        _of_project("events"),
        sa.PrimaryKeyConstraint("project_id", "event_id", name="pk_events"),
    )
    op.create_index(
        "uq_events_idempotency_key",
        "events",
        ["project_id", "idempotency_key"],
        unique=True,
        postgresql_where=sa.text("idempotency_key <> ''"),
    )
    op.create_index(
        "ix_events_waiting",
        "events",
        ["project_id", "occur_time", "event_id"],
        postgresql_where=sa.text("state <> 'DONE' AND state <> 'DEAD'"),
    )
    op.create_index(
        "ix_events_subject", "events", ["project_id", "subject_type", "subject_id", "occur_time", "event_id"]
    )
    op.create_index(
        "ix_events_project_id_create_time_event_id", "events", ["project_id", "create_time", "event_id"]
    )
    op.create_index(
        "ix_events_running", "events", ["project_id", "run_id"], postgresql_where=sa.text("state = 'RUNNING'")
    )


def _create_event_subjects() -> None:
    op.create_table(
        "event_subjects",
        _text("project_id"),
        _text("subject_type"),
        _text("subject_id"),
        _id("lease_owner", nullable=True),
        _time("lease_until", nullable=True),
        _check("event_subjects", "lease", "(lease_owner IS NULL) = (lease_until IS NULL)"),
        _of_project("event_subjects"),
        sa.PrimaryKeyConstraint("project_id", "subject_type", "subject_id", name="pk_event_subjects"),
    )
    op.create_index(
        "ix_event_subjects_leases",
        "event_subjects",
        ["project_id", "lease_owner"],
        postgresql_where=sa.text("lease_owner IS NOT NULL"),
    )


def _create_event_candidates() -> None:
    op.create_table(
        "event_candidates",
        _text("project_id"),
        _id("event_id"),
        sa.Column("position", sa.Integer, nullable=False),
        _text("candidate_key"),
        _text("outcome"),
        _text("reason"),
        _id("fact_id", nullable=True),
        _time("create_time"),
        _one_of("event_candidates", "outcome", OUTCOMES),
        _reference("event_candidates", "event", "events", "event_id"),
        _reference("event_candidates", "fact", "facts", "fact_id", deferred=True),
        sa.PrimaryKeyConstraint("project_id", "event_id", "position", name="pk_event_candidates"),
    )
    op.create_index(
        "uq_event_candidates_applied",
        "event_candidates",
        ["project_id", "event_id", "candidate_key"],
        unique=True,
        postgresql_where=sa.text("outcome <> 'DUPLICATE' AND outcome <> 'REJECTED'"),
    )
    op.create_index(
        "ix_event_candidates_project_id_fact_id",
        "event_candidates",
        ["project_id", "fact_id"],
        postgresql_where=sa.text("fact_id IS NOT NULL"),
    )


def _create_runs() -> None:
    op.create_table(
        "runs",
        _text("project_id"),
        _id("run_id"),
        _text("actor"),
        _text("state"),
        sa.Column("stages", TEXTS, nullable=False),
        _text("subject_type"),
        _text("subject_id"),
        _text("domain"),
        sa.Column("max_events", sa.Integer, nullable=False),
        sa.Column("validate_only", sa.Boolean, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in COUNTS),
        _text("error_reason"),
        _text("error_message"),
        _time("retry_time", nullable=True),
        _time("create_time"),
        _time("start_time", nullable=True),
        _time("end_time", nullable=True),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        _time("progress_time", nullable=True),
        sa.Column("told", sa.Boolean, nullable=False),
        _one_of("runs", "state", RUN_STATES),
        _check("runs", "subject_whole", "(subject_type = '') = (subject_id = '')"),
        _check("runs", "end_time", "(end_time IS NULL) = (state = 'QUEUED' OR state = 'RUNNING')"),
        _check("runs", "told", "NOT told OR end_time IS NOT NULL"),
        _of_project("runs"),
        sa.PrimaryKeyConstraint("project_id", "run_id", name="pk_runs"),
    )
    op.create_index("ix_runs_project_id_create_time_run_id", "runs", ["project_id", "create_time", "run_id"])
    op.create_index("ix_runs_open", "runs", ["project_id", "create_time"], postgresql_where=sa.text("NOT told"))


def _create_run_events() -> None:
    op.create_table(
        "run_events",
        _text("project_id"),
        _id("run_id"),
        _id("event_id"),
        _text("subject_type"),
        _text("subject_id"),
        _time("occur_time"),
        sa.Column("has_candidates", sa.Boolean, nullable=False),
        _reference("run_events", "run", "runs", "run_id"),
        _reference("run_events", "event", "events", "event_id"),
        sa.PrimaryKeyConstraint("project_id", "run_id", "event_id", name="pk_run_events"),
    )
    op.create_index("ix_run_events_order", "run_events", ["project_id", "run_id", "occur_time", "event_id"])
    op.create_index(
        "ix_run_events_subject",
        "run_events",
        ["project_id", "run_id", "subject_type", "subject_id", "occur_time", "event_id"],
    )
    op.create_index("ix_run_events_project_id_event_id", "run_events", ["project_id", "event_id"])


def _create_run_messages() -> None:
    op.create_table(
        "run_messages",
        _text("project_id"),
        _id("run_id"),
        sa.Column("sequence", sa.BigInteger, autoincrement=False, nullable=False),
        _text("kind"),
        _json("payload"),
        _time("create_time"),
        _one_of("run_messages", "kind", MESSAGES),
        _reference("run_messages", "run", "runs", "run_id"),
        sa.PrimaryKeyConstraint("project_id", "run_id", "sequence", name="pk_run_messages"),
    )


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _id(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.Uuid, nullable=nullable)


def _time(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, TIME, nullable=nullable)


def _json(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, JSON, nullable=nullable)


def _check(table: str, name: str, rule: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(rule, name=op.f(f"ck_{table}_{name}"))


def _one_of(table: str, column: str, values: tuple[str, ...]) -> sa.CheckConstraint:
    quoted = ", ".join(f"'{value}'" for value in values)
    return _check(table, column, f"{column} IN ({quoted})")


def _of_project(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name=op.f(f"fk_{table}_project"))


def _reference(table: str, name: str, to: str, column: str, *, deferred: bool = False) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["project_id", column],
        [f"{to}.project_id", f"{to}.{column}"],
        name=op.f(f"fk_{table}_{name}"),
        deferrable=True if deferred else None,
        initially="DEFERRED" if deferred else None,
    )
