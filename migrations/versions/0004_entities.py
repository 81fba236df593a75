"""Entities that became one, and what facts are filtered by before they are searched."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_LABELS = ("domain", "access_scope")


def upgrade() -> None:
    op.create_table(
        "entity_aliases",
        sa.Column("project_id", sa.Text, nullable=False),
        sa.Column("entity_type", sa.Text, nullable=False),
        sa.Column("entity_id", sa.Text, nullable=False),
        sa.Column("into_id", sa.Text, nullable=False),
        sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("entity_id <> into_id", name=op.f("ck_entity_aliases_no_loop")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name=op.f("fk_entity_aliases_project")),
        sa.PrimaryKeyConstraint("project_id", "entity_type", "entity_id", name="pk_entity_aliases"),
    )
    op.create_index(
        "ix_entity_aliases_project_id_entity_type_into_id",
        "entity_aliases",
        ["project_id", "entity_type", "into_id"],
    )
    op.create_index("ix_slots_project_id_slot_key", "slots", ["project_id", "slot_key"])
    for label in _LABELS:
        op.create_index(
            f"ix_facts_project_id_{label}",
            "facts",
            ["project_id", label],
            postgresql_where=sa.text(f"{label} <> ''"),
        )
    # Parts of identifiers ("4411" of "ORD-4411") are words too.
    op.execute(
        "UPDATE fact_search SET words = to_tsvector('simple', facts.text || ' ' ||"
        " regexp_replace(facts.text, '[^[:alnum:]]+', ' ', 'g')) FROM facts"
        " WHERE facts.project_id = fact_search.project_id AND facts.fact_id = fact_search.fact_id"
    )


def downgrade() -> None:
    op.execute(
        "UPDATE fact_search SET words = to_tsvector('simple', facts.text) FROM facts"
        " WHERE facts.project_id = fact_search.project_id AND facts.fact_id = fact_search.fact_id"
    )
    for label in _LABELS:
        op.drop_index(f"ix_facts_project_id_{label}", "facts")
    op.drop_index("ix_slots_project_id_slot_key", "slots")
    op.drop_table("entity_aliases")
