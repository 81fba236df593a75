"""Tables of events and of the runs that work them.

What a run tells is kept as ids and counts; the words come from the events and facts themselves when it is read, so
that erasing those erases them everywhere.
"""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    Table,
    Text,
    false,
)
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import ARRAY, TSVECTOR

from concord_server.domain.enums import CandidateOutcome, EventState, RunState, Trust
from concord_server.domain.runs import COUNTS, OBSERVE_COUNTS, MessageKind
from concord_server.storage.columns import (
    EMBEDDING,
    document,
    identifier,
    integer,
    key,
    metadata,
    moment,
    one_of,
    project_key,
    reference,
    text,
    text_key,
)

OBSERVE_COLUMNS = tuple(f"observe_{name}" for name in OBSERVE_COUNTS)
"""Names of the columns with the counts of the stage OBSERVE, in the order of the counts."""


def _of_project() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="project")


events = Table(
    "events",
    metadata,
    project_key(),
    key("event_id"),
    text("subject_type"),
    text("subject_id"),
    text("kind"),
    text("text"),
    document("payload"),
    document("messages"),
    moment("occur_time"),
    text("trust"),
    text("access_scope"),
    text("domain"),
    document("source", nullable=True),
    Column("tags", ARRAY(Text), nullable=False),
    text("idempotency_key"),
    text("digest"),
    document("candidates"),
    # Derived: whether a model's answer about it was cut off.
    Column("partial", Boolean, nullable=False, server_default=false()),
    # What a model took from it, until it is done: words, so whoever erases an event empties this too.
    document("extraction", nullable=True),
    # Derived: where the event is on its way. `run_id` is the run that has taken it up.
    text("state"),
    integer("attempts"),
    identifier("run_id", nullable=True),
    text("error_reason"),
    text("error_message"),
    moment("retry_time", nullable=True),
    moment("create_time"),
    moment("update_time"),
    moment("delete_time", nullable=True),
    one_of("trust", Trust, names=True),
    one_of("state", EventState),
    CheckConstraint("(state = 'FAILED') = (retry_time IS NOT NULL)", name="retry_time"),
    CheckConstraint("state <> 'RUNNING' OR run_id IS NOT NULL", name="run"),
    _of_project(),
    Index(
        "uq_events_idempotency_key",
        "project_id",
        "idempotency_key",
        unique=True,
        postgresql_where=sql("idempotency_key <> ''"),
    ),
    Index(
        "ix_events_waiting",
        "project_id",
        "occur_time",
        "event_id",
        postgresql_where=sql("state <> 'DONE' AND state <> 'DEAD'"),
    ),
    Index("ix_events_subject", "project_id", "subject_type", "subject_id", "occur_time", "event_id"),
    Index(None, "project_id", "create_time", "event_id"),
    Index("ix_events_running", "project_id", "run_id", postgresql_where=sql("state = 'RUNNING'")),
)


class EventSearchStep(StrEnum):
    """What is to be done next so that an event is found."""

    WORDS = "WORDS"
    EMBEDDING = "EMBEDDING"
    DONE = "DONE"


# What an event is found by, filled in the background. Apart from events, whose state changes, for the reasons that
# facts have theirs apart. Who erases an event deletes its row, so that nobody who has read it already fills it again.
event_search = Table(
    "event_search",
    metadata,
    project_key(),
    key("event_id"),
    text("step"),
    moment("taken_until", nullable=True),
    Column("embedding", EMBEDDING),
    Column("words", TSVECTOR),
    one_of("step", EventSearchStep),
    reference(["event_id"], "events", ["event_id"], "event"),
    Index("ix_event_search_step", "project_id", "step", "event_id", postgresql_where=sql("step <> 'DONE'")),
    Index(
        "ix_event_search_embedding",
        "embedding",
        postgresql_using="hnsw",
        postgresql_ops={"embedding": "vector_cosine_ops"},
    ),
    Index("ix_event_search_words", "words", postgresql_using="gin"),
)

# Who works a subject's events now. One row for every subject that has events.
event_subjects = Table(
    "event_subjects",
    metadata,
    project_key(),
    text_key("subject_type"),
    text_key("subject_id"),
    identifier("lease_owner", nullable=True),
    moment("lease_until", nullable=True),
    CheckConstraint("(lease_owner IS NULL) = (lease_until IS NULL)", name="lease"),
    _of_project(),
    Index(
        "ix_event_subjects_leases", "project_id", "lease_owner", postgresql_where=sql("lease_owner IS NOT NULL")
    ),
)

event_candidates = Table(
    "event_candidates",
    metadata,
    project_key(),
    key("event_id"),
    Column("position", Integer, primary_key=True),
    text("candidate_key"),
    text("outcome"),
    text("reason"),
    # The words of what a model took from the event and no fact carries; others are with the fact, or the event.
    Column("text", Text, nullable=False, server_default=""),
    identifier("fact_id", nullable=True),
    moment("create_time"),
    one_of("outcome", CandidateOutcome),
    reference(["event_id"], "events", ["event_id"], "event"),
    reference(["fact_id"], "facts", ["fact_id"], "fact", deferred=True),
    Index(
        "uq_event_candidates_applied",
        "project_id",
        "event_id",
        "candidate_key",
        unique=True,
        postgresql_where=sql("outcome <> 'DUPLICATE' AND outcome <> 'REJECTED'"),
    ),
    Index(None, "project_id", "fact_id", postgresql_where=sql("fact_id IS NOT NULL")),
)

runs = Table(
    "runs",
    metadata,
    project_key(),
    key("run_id"),
    text("actor"),
    text("state"),
    Column("stages", ARRAY(Text), nullable=False),
    text("subject_type"),
    text("subject_id"),
    text("domain"),
    integer("max_events"),
    Column("validate_only", Boolean, nullable=False),
    *(Column(name, BigInteger, nullable=False) for name in COUNTS),
    # Whether its stage OBSERVE has begun, and that stage's counts.
    Column("observing", Boolean, nullable=False),
    *(Column(name, BigInteger, nullable=False) for name in OBSERVE_COLUMNS),
    text("error_reason"),
    text("error_message"),
    moment("retry_time", nullable=True),
    moment("create_time"),
    moment("start_time", nullable=True),
    moment("end_time", nullable=True),
    # Of its last message, and of its last one about progress. `told` is set with the summary.
    Column("sequence", BigInteger, nullable=False),
    moment("progress_time", nullable=True),
    Column("told", Boolean, nullable=False),
    one_of("state", RunState),
    CheckConstraint("(subject_type = '') = (subject_id = '')", name="subject_whole"),
    CheckConstraint("(end_time IS NULL) = (state = 'QUEUED' OR state = 'RUNNING')", name="end_time"),
    CheckConstraint("NOT told OR end_time IS NOT NULL", name="told"),
    _of_project(),
    Index(None, "project_id", "create_time", "run_id"),
    Index("ix_runs_open", "project_id", "create_time", postgresql_where=sql("NOT told")),
)

# The events that a run still has before it. A row goes when its event is settled, by whichever run.
run_events = Table(
    "run_events",
    metadata,
    project_key(),
    key("run_id"),
    key("event_id"),
    text("subject_type"),
    text("subject_id"),
    moment("occur_time"),
    Column("has_candidates", Boolean, nullable=False),
    reference(["run_id"], "runs", ["run_id"], "run"),
    reference(["event_id"], "events", ["event_id"], "event"),
    Index("ix_run_events_order", "project_id", "run_id", "occur_time", "event_id"),
    Index("ix_run_events_subject", "project_id", "run_id", "subject_type", "subject_id", "occur_time", "event_id"),
    Index(None, "project_id", "event_id"),
)

run_messages = Table(
    "run_messages",
    metadata,
    project_key(),
    key("run_id"),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    text("kind"),
    document("payload"),
    moment("create_time"),
    one_of("kind", MessageKind),
    reference(["run_id"], "runs", ["run_id"], "run"),
)
