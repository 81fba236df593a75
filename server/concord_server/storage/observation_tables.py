"""Tables of observations, what they rest on, and how far the facts of a group were considered.

How many facts support an observation, and over what period, is never stored: it follows from its source rows.
"""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import CheckConstraint, Column, ForeignKeyConstraint, Index, Integer, LargeBinary, Table, Text
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import ARRAY

from concord_server.domain.enums import ObservationAction, ObservationState
from concord_server.storage.columns import (
    EMBEDDING,
    identifier,
    integer,
    key,
    metadata,
    moment,
    one_of,
    project_key,
    reference,
    text,
)


class MarkerState(StrEnum):
    """How far a fact was considered in its group."""

    CONSIDERED = "CONSIDERED"
    FAILED = "FAILED"


# The facts that may be seen together, and who works them now. A row stays once a fact was in the group.
observation_groups = Table(
    "observation_groups",
    metadata,
    project_key(),
    key("group_id"),
    text("access_scope"),
    text("domain"),
    text("owner_type"),
    text("owner_id"),
    Column("tags", ARRAY(Text), nullable=False),
    # When it was last worked: the group that waits for longest is next.
    moment("turn_time"),
    identifier("lease_owner", nullable=True),
    identifier("lease_run", nullable=True),
    moment("lease_until", nullable=True),
    CheckConstraint("num_nulls(lease_owner, lease_run, lease_until) IN (0, 3)", name="lease"),
    CheckConstraint("(owner_type = '') = (owner_id = '')", name="owner_whole"),
    ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="project"),
    Index(None, "project_id", "turn_time", "group_id"),
    Index(None, "project_id", "owner_type", "owner_id"),
    Index(
        "ix_observation_groups_leases",
        "project_id",
        "lease_owner",
        postgresql_where=sql("lease_owner IS NOT NULL"),
    ),
)

observations = Table(
    "observations",
    metadata,
    project_key(),
    key("observation_id"),
    identifier("group_id"),
    integer("version"),
    text("text"),
    text("state"),
    # Absent where there is no wording.
    Column("embedding", EMBEDDING),
    moment("create_time"),
    moment("update_time"),
    one_of("state", ObservationState),
    CheckConstraint("version >= 1", name="version"),
    reference(["group_id"], "observation_groups", ["group_id"], "group"),
    Index(None, "project_id", "group_id", "state"),
    Index(None, "project_id", "create_time", "observation_id"),
    Index(
        "ix_observations_embedding",
        "embedding",
        postgresql_using="hnsw",
        postgresql_ops={"embedding": "vector_cosine_ops"},
        postgresql_where=sql("state = 'ACTIVE'"),
    ),
)

# Which facts an observation rests on, from which of its versions on, and up to which. The digest says what the fact
# was like when it was considered.
observation_sources = Table(
    "observation_sources",
    metadata,
    project_key(),
    key("observation_id"),
    key("fact_id"),
    Column("attach_version", Integer, primary_key=True, autoincrement=False),
    Column("detach_version", Integer),
    Column("basis", LargeBinary, nullable=False),
    CheckConstraint("detach_version IS NULL OR detach_version > attach_version", name="detach_version"),
    reference(["observation_id"], "observations", ["observation_id"], "observation", deferred=True, cascade=True),
    reference(["fact_id"], "facts", ["fact_id"], "fact", cascade=True),
    Index(None, "project_id", "fact_id"),
    Index(
        "uq_observation_sources_attached",
        "project_id",
        "observation_id",
        "fact_id",
        unique=True,
        postgresql_where=sql("detach_version IS NULL"),
    ),
)

observation_versions = Table(
    "observation_versions",
    metadata,
    project_key(),
    key("observation_id"),
    Column("version", Integer, primary_key=True, autoincrement=False),
    text("text"),
    text("state"),
    text("action"),
    identifier("run_id", nullable=True),
    text("reason"),
    moment("recorded_from"),
    moment("recorded_to", nullable=True),
    one_of("state", ObservationState),
    one_of("action", ObservationAction),
    reference(["observation_id"], "observations", ["observation_id"], "observation", deferred=True, cascade=True),
    reference(["run_id"], "runs", ["run_id"], "run"),
)

observation_markers = Table(
    "observation_markers",
    metadata,
    project_key(),
    key("fact_id"),
    key("group_id"),
    text("state"),
    Column("basis", LargeBinary, nullable=False),
    integer("attempts"),
    text("error_reason"),
    text("error_message"),
    # When a failed fact is taken up again; absent once it is given up.
    moment("retry_time", nullable=True),
    moment("update_time"),
    one_of("state", MarkerState),
    CheckConstraint("retry_time IS NULL OR state = 'FAILED'", name="retry_time"),
    reference(["fact_id"], "facts", ["fact_id"], "fact", cascade=True),
    reference(["group_id"], "observation_groups", ["group_id"], "group"),
    Index(None, "project_id", "group_id"),
    Index("ix_observation_markers_failed", "project_id", "fact_id", postgresql_where=sql("state = 'FAILED'")),
)

# The facts that a run still has before it. A row goes when its fact is considered, by whichever run.
run_facts = Table(
    "run_facts",
    metadata,
    project_key(),
    key("run_id"),
    key("fact_id"),
    identifier("group_id"),
    moment("fact_time"),
    reference(["run_id"], "runs", ["run_id"], "run"),
    reference(["fact_id"], "facts", ["fact_id"], "fact", cascade=True),
    reference(["group_id"], "observation_groups", ["group_id"], "group"),
    Index("ix_run_facts_order", "project_id", "run_id", "group_id", "fact_time", "fact_id"),
    Index(None, "project_id", "fact_id"),
)
