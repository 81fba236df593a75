"""Other wordings under which a fact is known, so that one that merged by meaning is found again by its words."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "fact_wordings",
        sa.Column("project_id", sa.Text, nullable=False),
        sa.Column("fact_id", sa.Uuid, nullable=False),
        sa.Column("text_digest", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id", "fact_id"],
            ["facts.project_id", "facts.fact_id"],
            name=op.f("fk_fact_wordings_fact"),
            deferrable=True,
            initially="DEFERRED",
        ),
        sa.PrimaryKeyConstraint("project_id", "fact_id", "text_digest", name="pk_fact_wordings"),
    )
    op.create_index("ix_fact_wordings_project_id_text_digest", "fact_wordings", ["project_id", "text_digest"])


def downgrade() -> None:
    op.drop_table("fact_wordings")
