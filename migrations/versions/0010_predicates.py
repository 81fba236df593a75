"""Predicates have aliases and suggestions, and slots are found by their subject."""

from __future__ import annotations

import hashlib
import unicodedata

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)
_BATCH = 5_000


def upgrade() -> None:
    _predicates()
    _aliases()
    _suggestions()
    _subjects()


def _predicates() -> None:
    op.add_column("predicates", sa.Column("update_time", _TIME, nullable=True))
    op.execute("UPDATE predicates SET update_time = create_time")
    op.alter_column("predicates", "update_time", nullable=False)


def _aliases() -> None:
    op.create_table(
        "predicate_aliases",
        sa.Column("project_id", sa.Text, nullable=False),
        sa.Column("alias", sa.Text, nullable=False),
        sa.Column("predicate", sa.Text, nullable=False),
        sa.Column("learned", sa.Boolean, nullable=False),
        sa.Column("create_time", _TIME, nullable=False),
        sa.CheckConstraint("alias <> predicate", name=op.f("ck_predicate_aliases_no_loop")),
        sa.ForeignKeyConstraint(
            ["project_id", "predicate"],
            ["predicates.project_id", "predicates.predicate"],
            name=op.f("fk_predicate_aliases_predicate"),
        ),
        sa.PrimaryKeyConstraint("project_id", "alias", name="pk_predicate_aliases"),
    )
    op.create_index("ix_predicate_aliases_project_id_predicate", "predicate_aliases", ["project_id", "predicate"])


def _suggestions() -> None:
    op.create_table(
        "predicate_suggestions",
        sa.Column("project_id", sa.Text, nullable=False),
        sa.Column("first_name", sa.Text, nullable=False),
        sa.Column("second_name", sa.Text, nullable=False),
        sa.Column("predicate", sa.Text, nullable=False),
        sa.Column("similarity", sa.Double, nullable=False),
        sa.Column("seen_count", sa.Integer, nullable=False),
        sa.Column("last_time", _TIME, nullable=False),
        sa.Column("dropped", sa.Boolean, nullable=False),
        sa.CheckConstraint(
            "predicate IN (first_name, second_name) AND first_name <> second_name",
            name=op.f("ck_predicate_suggestions_of_both"),
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.project_id"], name=op.f("fk_predicate_suggestions_project")
        ),
        sa.PrimaryKeyConstraint("project_id", "first_name", "second_name", name="pk_predicate_suggestions"),
    )
    for column in ("predicate", "second_name"):
        op.create_index(
            f"ix_predicate_suggestions_project_id_{column}", "predicate_suggestions", ["project_id", column]
        )


def _subjects() -> None:
    """Slots get the digest of their subject, made the way claims compare subjects."""
    op.add_column("slots", sa.Column("subject_key", sa.Text, nullable=True))
    connection = op.get_bind()
    slots = sa.table(
        "slots",
        sa.column("project_id", sa.Text),
        sa.column("slot_id", sa.Uuid),
        sa.column("subject", sa.Text),
        sa.column("subject_key", sa.Text),
    )
    identity = sa.tuple_(slots.c.project_id, slots.c.slot_id)
    page = sa.select(slots.c.project_id, slots.c.slot_id, slots.c.subject).order_by(
        slots.c.project_id, slots.c.slot_id
    )
    store = (
        sa.update(slots)
        .where(slots.c.project_id == sa.bindparam("of_project"), slots.c.slot_id == sa.bindparam("of_slot"))
        .values(subject_key=sa.bindparam("made_key"))
    )
    rows = connection.execute(page.limit(_BATCH)).all()
    while rows:
        connection.execute(
            store,
            [
                {"of_project": row.project_id, "of_slot": row.slot_id, "made_key": _subject_key(row.subject)}
                for row in rows
            ],
        )
        last = (rows[-1].project_id, rows[-1].slot_id)
        rows = connection.execute(page.where(identity > sa.tuple_(*map(sa.literal, last))).limit(_BATCH)).all()
    op.alter_column("slots", "subject_key", nullable=False)
    op.create_index(
        "ix_slots_project_id_partition_id_subject_key_predicate",
        "slots",
        ["project_id", "partition_id", "subject_key", "predicate"],
    )
    op.create_index("ix_slots_project_id_predicate", "slots", ["project_id", "predicate"])


def _subject_key(subject: str) -> str:
    folded = " ".join(unicodedata.normalize("NFC", subject).split()).casefold()
    return hashlib.sha256(unicodedata.normalize("NFC", folded).encode("utf-8")).hexdigest()


def downgrade() -> None:
    op.drop_index("ix_slots_project_id_predicate", "slots")
    op.drop_index("ix_slots_project_id_partition_id_subject_key_predicate", "slots")
    op.drop_column("slots", "subject_key")
    op.drop_table("predicate_suggestions")
    op.drop_table("predicate_aliases")
    op.drop_column("predicates", "update_time")
