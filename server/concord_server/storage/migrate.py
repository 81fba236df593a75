"""Brings the schema up to date, one process at a time."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import psycopg
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.pool import NullPool

from concord_server.storage.columns import DEFAULT_EMBEDDING_DIMENSION
from concord_server.storage.engine import EngineOptions, connection_arguments
from concord_server.storage.errors import DatabaseNotReadyError, translated_errors

_ADVISORY_LOCK = 0x436F6E636F7264  # "Concord": any constant that other programs will hardly use
_INSUFFICIENT_PRIVILEGE = "42501"
_UNDEFINED_FILE = "58P01"


def migrate(database: str, *, embedding_dimension: int = DEFAULT_EMBEDDING_DIMENSION) -> str:
    """Applies every migration that the database lacks, or none; returns the schema's revision.

    Processes that migrate at once wait for each other. Blocks: run it before the event loop or in a thread.

    Args:
        database: a connection URL or string as libpq takes it.
        embedding_dimension: length of the vectors, when the schema is new.

    Raises:
        DatabaseNotReadyError: the vector extension is missing and cannot be made.
        UnavailableError: the database cannot be reached.
    """
    # Building an index may take longer than any statement of a request may.
    options = EngineOptions(application_name="concord migrate", statement_timeout=0, lock_timeout=60)
    arguments = connection_arguments(database, options)
    engine = sa.create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(**arguments), poolclass=NullPool
    )
    with translated_errors(), closing(engine.connect()) as connection:
        connection.execute(sa.text("SELECT pg_advisory_lock(:lock)"), {"lock": _ADVISORY_LOCK})
        connection.commit()
        ensure_vector_extension(connection)
        config = alembic_config()
        config.attributes["connection"] = connection
        config.attributes["embedding_dimension"] = embedding_dimension
        command.upgrade(config, "head")
        connection.commit()
        return schema_revision(connection) or ""


def ensure_vector_extension(connection: sa.Connection) -> None:
    """Makes the vector extension if the database lacks it.

    Raises:
        DatabaseNotReadyError: it is not installed on the server, or this role must not make it.
    """
    if connection.scalar(sa.text("SELECT 1 FROM pg_extension WHERE extname = 'vector'")):
        return
    try:
        connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS vector"))
        connection.commit()
    except sa.exc.DBAPIError as error:
        code = error.orig.sqlstate if isinstance(error.orig, psycopg.Error) else None
        if code == _INSUFFICIENT_PRIVILEGE:
            raise DatabaseNotReadyError(
                "the database lacks the vector extension and this role must not create it",
                "let an administrator run CREATE EXTENSION vector in this database",
            ) from error
        if code == _UNDEFINED_FILE:
            raise DatabaseNotReadyError(
                "the database server lacks the vector extension", "install pgvector 0.8 or later on the server"
            ) from error
        raise


def schema_revision(connection: sa.Connection) -> str | None:
    """Returns the revision that the schema is at, ``None`` when it was never migrated."""
    return MigrationContext.configure(connection).get_current_revision()


def known_revisions() -> tuple[str, ...]:
    """Returns the revisions that this version of the service knows, the one that it needs first."""
    scripts = ScriptDirectory.from_config(alembic_config()).walk_revisions()
    return tuple(script.revision for script in scripts)


def alembic_config() -> Config:
    """Returns Alembic's configuration with the migrations of this version of the service."""
    config = Config()
    config.set_main_option("script_location", str(_migrations()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _migrations() -> Path:
    package = Path(__file__).resolve().parents[1]
    for candidate in (package / "_migrations", package.parents[1] / "migrations"):
        if (candidate / "env.py").is_file():
            return candidate
    raise FileNotFoundError("the migrations are not part of this installation")
