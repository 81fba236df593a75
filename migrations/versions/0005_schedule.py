"""What is due: scheduled facts by their time, and the facts that a source supports."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_facts_scheduled",
        "facts",
        ["project_id", "valid_from"],
        postgresql_where=sa.text("status = 'PENDING' AND conflict_id IS NULL"),
    )
    # Digests, because a name may be longer than an index can hold.
    op.create_index(
        "ix_sources_external_id",
        "sources",
        ["project_id", sa.text("md5(external_id)")],
        postgresql_where=sa.text("external_id <> ''"),
    )
    op.create_index(
        "ix_sources_url", "sources", ["project_id", sa.text("md5(url)")], postgresql_where=sa.text("url <> ''")
    )


def downgrade() -> None:
    op.drop_index("ix_sources_url", "sources")
    op.drop_index("ix_sources_external_id", "sources")
    op.drop_index("ix_facts_scheduled", "facts")
