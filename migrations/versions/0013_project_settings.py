"""Projects have settings, and a name for people."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

THRESHOLDS = (
    "similarity_threshold",
    "conflict_threshold",
    "merge_probability_threshold",
    "supersede_probability_threshold",
)
PROMPTS = ("extraction_prompt", "judge_prompt", "observation_prompt")
HORIZONS = ("slow_horizon", "volatile_horizon", "ephemeral_horizon")
POLICIES = "('SUPERSEDE', 'CONFLICT')"


def upgrade() -> None:
    op.create_table(
        "project_settings",
        sa.Column("project_id", sa.Text, nullable=False),
        *(sa.Column(name, sa.Double, nullable=True) for name in THRESHOLDS),
        *(
            sa.Column(name, sa.Text, nullable=True)
            for name in ("contradiction_policy", "candidate_policy", "judge")
        ),
        *(sa.Column(name, sa.Text, nullable=True) for name in PROMPTS),
        sa.Column("max_facts_per_event", sa.Integer, nullable=True),
        sa.Column("max_model_calls_per_run", sa.Integer, nullable=True),
        sa.Column("daily_token_budget", sa.BigInteger, nullable=True),
        *(sa.Column(name, sa.Interval, nullable=True) for name in HORIZONS),
        sa.Column("update_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revision", sa.BigInteger, nullable=False),
        *(_check(name, f"{name} >= 0 AND {name} <= 1") for name in THRESHOLDS),
        _check("thresholds_ordered", "conflict_threshold <= similarity_threshold"),
        _check("contradiction_policy", f"contradiction_policy IN {POLICIES}"),
        _check("candidate_policy", f"candidate_policy IN {POLICIES}"),
        _check("judge", "judge IN ('LOCAL', 'MODEL', 'LOCAL_THEN_MODEL')"),
        *(_check(name, f"octet_length({name}) <= 32768") for name in PROMPTS),
        _check("max_facts_per_event", "max_facts_per_event > 0"),
        _check("max_model_calls_per_run", "max_model_calls_per_run >= 0"),
        _check("daily_token_budget", "daily_token_budget >= 0"),
        *(_check(name, f"{name} > '0'::interval") for name in HORIZONS),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name=op.f("fk_project_settings_project")),
        sa.PrimaryKeyConstraint("project_id", name="pk_project_settings"),
    )
    op.add_column("projects", sa.Column("display_name", sa.Text, nullable=False, server_default=""))
    op.create_index("ix_projects_create_time_project_id", "projects", ["create_time", "project_id"])


def downgrade() -> None:
    op.drop_index("ix_projects_create_time_project_id", "projects")
    op.drop_column("projects", "display_name")
    op.drop_table("project_settings")


def _check(name: str, rule: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(rule, name=op.f(f"ck_project_settings_{name}"))
