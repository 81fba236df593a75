"""Edges are found by their parent first, so that no step through a family reads a whole project."""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ix_evolution_edges_project_id_parent_id", "evolution_edges")
    op.create_index("ix_evolution_edges_parent_id_project_id", "evolution_edges", ["parent_id", "project_id"])


def downgrade() -> None:
    op.drop_index("ix_evolution_edges_parent_id_project_id", "evolution_edges")
    op.create_index("ix_evolution_edges_project_id_parent_id", "evolution_edges", ["project_id", "parent_id"])
