"""What models cost is counted; what a model took from an event is told though no fact carries it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

COUNTS = ("calls", "input_tokens", "output_tokens")
AMOUNTS = "calls >= 0 AND input_tokens >= 0 AND output_tokens >= 0 AND cost >= 0"


def upgrade() -> None:
    op.create_table(
        "model_spend",
        sa.Column("project_id", sa.Text, nullable=False),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("stage", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        *_amounts("model_spend"),
        sa.PrimaryKeyConstraint("project_id", "day", "stage", "model", name="pk_model_spend"),
    )
    op.create_table(
        "run_spend",
        sa.Column("project_id", sa.Text, nullable=False),
        sa.Column("run_id", sa.Uuid, nullable=False),
        *_amounts("run_spend"),
        sa.ForeignKeyConstraint(
            ["project_id", "run_id"], ["runs.project_id", "runs.run_id"], name=op.f("fk_run_spend_run")
        ),
        sa.PrimaryKeyConstraint("project_id", "run_id", name="pk_run_spend"),
    )
    # The words of what was taken from an event by a model and is carried by no fact.
    op.add_column("event_candidates", sa.Column("text", sa.Text, nullable=False, server_default=""))
    op.add_column("events", sa.Column("partial", sa.Boolean, nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column("events", "partial")
    op.drop_column("event_candidates", "text")
    op.drop_table("run_spend")
    op.drop_table("model_spend")


def _amounts(table: str) -> list[sa.schema.SchemaItem]:
    return [
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in COUNTS),
        sa.Column("cost", sa.Double, nullable=False),
        sa.CheckConstraint(AMOUNTS, name=op.f(f"ck_{table}_amounts")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name=op.f(f"fk_{table}_project")),
    ]
