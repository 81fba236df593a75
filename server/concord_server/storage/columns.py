"""What the tables are built from: column types, and the checks that keep closed vocabularies and ranges."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import Enum
from typing import Any
from uuid import UUID

from pgvector.sqlalchemy import VECTOR
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import JSONB

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(constraint_name)s",
    }
)
"""Every table of the ledger."""

DEFAULT_EMBEDDING_DIMENSION = 384
"""Length of the default embedder's vectors; a deployment may be migrated with another."""

TIMESTAMP = DateTime(timezone=True)
JSON = JSONB(none_as_null=True)
EMBEDDING = VECTOR(DEFAULT_EMBEDDING_DIMENSION)
"""The migration makes the column for the embedder that is configured; values are passed whatever their length."""


def project_key() -> Column[str]:
    """Returns the column that every primary key and unique index starts with."""
    return Column("project_id", Text, primary_key=True)


def key(name: str) -> Column[UUID]:
    """Returns an id column that is part of the primary key."""
    return Column(name, Uuid, primary_key=True)


def text_key(name: str) -> Column[str]:
    """Returns a text column that is part of the primary key."""
    return Column(name, Text, primary_key=True)


def identifier(name: str, *, nullable: bool = False) -> Column[UUID]:
    """Returns an id column."""
    return Column(name, Uuid, nullable=nullable)


def text(name: str, *, nullable: bool = False) -> Column[str]:
    """Returns a text column; what is unknown is the empty string, so that it can be erased in place."""
    return Column(name, Text, nullable=nullable)


def number(name: str) -> Column[float]:
    """Returns a double precision column, which gives back exactly the float that it was given."""
    return Column(name, Double, nullable=False)


def integer(name: str) -> Column[int]:
    """Returns an integer column."""
    return Column(name, Integer, nullable=False)


def counter(name: str) -> Column[int]:
    """Returns a column for a number that only grows."""
    return Column(name, BigInteger, nullable=False)


def moment(name: str, *, nullable: bool = False) -> Column[datetime]:
    """Returns a column for a point in time, kept to the microsecond."""
    return Column(name, TIMESTAMP, nullable=nullable)


def document(name: str, *, nullable: bool = False) -> Column[Any]:
    """Returns a JSON column."""
    return Column(name, JSON, nullable=nullable)


def one_of(column: str, vocabulary: type[Enum], *, names: bool = False) -> CheckConstraint:
    """Returns the check that a column holds a member of an enum.

    Args:
        column: its name.
        vocabulary: the enum; members are stored by value.
        names: whether they are stored by name instead, as those of an ordered enum are.
    """
    members = (member.name if names else member.value for member in vocabulary)
    return CheckConstraint(f"{column} IN ({_quoted(members)})", name=column)


def unit_interval(column: str) -> CheckConstraint:
    """Returns the check that a column is in [0, 1], which NaN is not."""
    return CheckConstraint(f"{column} >= 0 AND {column} <= 1", name=column)


def ordered_interval(start: str, end: str) -> CheckConstraint:
    """Returns the check that an interval does not end before it starts; it may have no end."""
    return CheckConstraint(f"{end} IS NULL OR {end} >= {start}", name=f"{end}_after_{start}")


def reference(
    columns: Iterable[str],
    table: str,
    referred: Iterable[str],
    name: str,
    *,
    deferred: bool = False,
    circular: bool = False,
    cascade: bool = False,
) -> ForeignKeyConstraint:
    """Returns a foreign key within the project.

    Args:
        columns: the referring columns, after the project's.
        table: the table referred to.
        referred: its columns, after the project's.
        name: what the constraint's name ends with.
        deferred: whether it is checked at commit, so that rows may be written in any order.
        circular: whether the table referred to refers back, so that one of both must be made first.
        cascade: whether a row goes with the one that it refers to.
    """
    return ForeignKeyConstraint(
        ["project_id", *columns],
        [f"{table}.project_id", *(f"{table}.{column}" for column in referred)],
        name=name,
        deferrable=True if deferred else None,
        initially="DEFERRED" if deferred else None,
        use_alter=circular,
        ondelete="CASCADE" if cascade else None,
    )


def _quoted(values: Iterable[str]) -> str:
    return ", ".join(f"'{value}'" for value in values)
