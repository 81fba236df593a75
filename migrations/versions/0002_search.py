"""Search: what facts are found by, and the embedder that their vectors come from."""

from __future__ import annotations

import os

import sqlalchemy as sa
from alembic import context, op
from pgvector.sqlalchemy import VECTOR
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

DEFAULT_DIMENSION = 384
HNSW_MAX_DIMENSION = 2000


def upgrade() -> None:
    dimension = _dimension()
    op.create_table(
        "deployment",
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_deployment"),
    )
    op.create_table(
        "fact_search",
        sa.Column("project_id", sa.Text, nullable=False),
        sa.Column("fact_id", sa.Uuid, nullable=False),
        sa.Column("partition_id", sa.Uuid, nullable=False),
        sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("embedding", VECTOR(dimension)),
        sa.Column("words", postgresql.TSVECTOR, nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id", "fact_id"],
            ["facts.project_id", "facts.fact_id"],
            name=op.f("fk_fact_search_fact"),
            deferrable=True,
            initially="DEFERRED",
        ),
        sa.ForeignKeyConstraint(
            ["project_id", "partition_id"],
            ["partitions.project_id", "partitions.partition_id"],
            name=op.f("fk_fact_search_partition"),
        ),
        sa.PrimaryKeyConstraint("project_id", "fact_id", name="pk_fact_search"),
    )
    # Within the row, so that an exact scan of a partition reads no second table.
    op.execute("ALTER TABLE fact_search ALTER COLUMN embedding SET STORAGE PLAIN")
    op.create_index("ix_fact_search_project_id_partition_id", "fact_search", ["project_id", "partition_id"])
    op.create_index(
        "ix_fact_search_pending",
        "fact_search",
        ["project_id", "create_time"],
        postgresql_where=sa.text("embedding IS NULL"),
    )
    op.create_index(
        "ix_fact_search_embedding",
        "fact_search",
        ["embedding"],
        postgresql_using="hnsw",
        postgresql_ops={"embedding": "vector_cosine_ops"},
    )
    op.create_index("ix_fact_search_words", "fact_search", ["words"], postgresql_using="gin")


def downgrade() -> None:
    op.drop_table("fact_search")
    op.drop_table("deployment")


def _dimension() -> int:
    """Returns the length of the vectors, which the database keeps until it is migrated to another embedder."""
    configured = context.config.attributes.get("embedding_dimension")
    dimension = int(configured or os.environ.get("CONCORD_EMBEDDING_DIMENSION") or DEFAULT_DIMENSION)
    if not 1 <= dimension <= HNSW_MAX_DIMENSION:
        raise ValueError(f"embedding dimension {dimension} is not in 1..{HNSW_MAX_DIMENSION}, as its index needs")
    return dimension
