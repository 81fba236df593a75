"""Tables of predicates: what they are called, and what may mean the same.

Names are the schema of the claims, and no words of a statement: erasing a fact leaves them, and nothing else of it is
kept here.
"""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Column, ForeignKeyConstraint, Index, Table

from concord_server.domain.enums import Cardinality
from concord_server.storage.columns import (
    integer,
    metadata,
    moment,
    number,
    one_of,
    project_key,
    reference,
    text,
    text_key,
)


def _of_project() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="project")


predicates = Table(
    "predicates",
    metadata,
    project_key(),
    text_key("predicate"),
    text("cardinality"),
    moment("create_time"),
    moment("update_time"),
    one_of("cardinality", Cardinality),
    _of_project(),
)

# One step leads to the predicate that is meant: `predicate` is no alias itself.
predicate_aliases = Table(
    "predicate_aliases",
    metadata,
    project_key(),
    text_key("alias"),
    text("predicate"),
    Column("learned", Boolean, nullable=False),
    moment("create_time"),
    CheckConstraint("alias <> predicate", name="no_loop"),
    reference(["predicate"], "predicates", ["predicate"], "predicate"),
    Index(None, "project_id", "predicate"),
)

# One row per pair of names, in the order of their characters; it is listed under `predicate`, which is one of them.
predicate_suggestions = Table(
    "predicate_suggestions",
    metadata,
    project_key(),
    text_key("first_name"),
    text_key("second_name"),
    text("predicate"),
    number("similarity"),
    integer("seen_count"),
    moment("last_time"),
    Column("dropped", Boolean, nullable=False),
    CheckConstraint("predicate IN (first_name, second_name) AND first_name <> second_name", name="of_both"),
    _of_project(),
    Index(None, "project_id", "predicate"),
    Index(None, "project_id", "second_name"),
)
