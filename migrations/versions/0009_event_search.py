"""Events have embeddings and words, so that they can be searched."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import VECTOR
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "event_search",
        sa.Column("project_id", sa.Text, nullable=False),
        sa.Column("event_id", sa.Uuid, nullable=False),
        sa.Column("step", sa.Text, nullable=False),
        sa.Column("taken_until", sa.DateTime(timezone=True)),
        sa.Column("embedding", VECTOR(_dimension())),
        sa.Column("words", postgresql.TSVECTOR),
        sa.CheckConstraint("step IN ('WORDS', 'EMBEDDING', 'DONE')", name=op.f("ck_event_search_step")),
        sa.ForeignKeyConstraint(
            ["project_id", "event_id"],
            ["events.project_id", "events.event_id"],
            name=op.f("fk_event_search_event"),
        ),
        sa.PrimaryKeyConstraint("project_id", "event_id", name="pk_event_search"),
    )
    # Within the row, so that an exact scan of a subject's events reads no second table.
    op.execute("ALTER TABLE event_search ALTER COLUMN embedding SET STORAGE PLAIN")
    op.execute(
        "INSERT INTO event_search (project_id, event_id, step)"
        " SELECT project_id, event_id, 'WORDS' FROM events WHERE delete_time IS NULL"
    )
    op.create_index(
        "ix_event_search_step",
        "event_search",
        ["project_id", "step", "event_id"],
        postgresql_where=sa.text("step <> 'DONE'"),
    )
    op.create_index(
        "ix_event_search_embedding",
        "event_search",
        ["embedding"],
        postgresql_using="hnsw",
        postgresql_ops={"embedding": "vector_cosine_ops"},
    )
    op.create_index("ix_event_search_words", "event_search", ["words"], postgresql_using="gin")


def downgrade() -> None:
    op.drop_table("event_search")


def _dimension() -> int:
    """Returns the length of the vectors that facts have: events are embedded by the same model."""
    of_facts = sa.text(
        "SELECT atttypmod FROM pg_attribute WHERE attrelid = 'fact_search'::regclass AND attname = 'embedding'"
    )
    return int(op.get_bind().execute(of_facts).scalar_one())
