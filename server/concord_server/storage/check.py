"""Whether the database can be used: checked once, at start."""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from concord_server.storage.errors import DatabaseNotReadyError, translated_errors
from concord_server.storage.migrate import known_revisions, schema_revision
from concord_server.storage.tables import deployment

MIN_SERVER_VERSION = 15
MIN_VECTOR_VERSION = (0, 8)

_EMBEDDER_KEY = "embedder_name"


async def check_database(engine: AsyncEngine, *, embedder_name: str, embedding_dimension: int) -> None:
    """Checks that the server, the extension, the schema and the embedder fit; remembers the first embedder.

    Raises:
        DatabaseNotReadyError: something does not fit; the message says what, and what to do.
        UnavailableError: the database cannot be reached.
    """
    with translated_errors():
        async with engine.begin() as connection:
            await _check_server(connection)
            await _check_extension(connection)
            await _check_schema(connection)
            await _check_dimension(connection, embedding_dimension)
            await _check_embedder(connection, embedder_name)


async def _check_server(connection: AsyncConnection) -> None:
    version = int(await _scalar(connection, "SHOW server_version_num")) // 10_000
    if version < MIN_SERVER_VERSION:
        raise DatabaseNotReadyError(
            f"the database server is PostgreSQL {version}", f"use PostgreSQL {MIN_SERVER_VERSION} or later"
        )


async def _check_extension(connection: AsyncConnection) -> None:
    needed = ".".join(map(str, MIN_VECTOR_VERSION))
    installed = await _scalar(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if installed is None:
        raise DatabaseNotReadyError(
            "the database lacks the vector extension", "run `concord migrate`, which creates it"
        )
    if vector_version(installed) < MIN_VECTOR_VERSION:
        raise DatabaseNotReadyError(
            f"the vector extension is {installed}",
            f"install pgvector {needed} or later and run ALTER EXTENSION vector UPDATE in this database",
        )


def vector_version(text: str) -> tuple[int, ...]:
    """Returns a version of the vector extension as numbers that can be compared."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


async def _check_schema(connection: AsyncConnection) -> None:
    stored = await connection.run_sync(schema_revision)
    known = known_revisions()
    if stored == known[0]:
        return
    if stored is None:
        raise DatabaseNotReadyError("the database has no schema yet", "run `concord migrate`")
    if stored in known:
        raise DatabaseNotReadyError(
            f"the schema is at revision {stored}, this service needs {known[0]}", "run `concord migrate`"
        )
    raise DatabaseNotReadyError(
        f"the schema is at revision {stored}, which this service does not know",
        "run the version of the service that the database was migrated with, or a later one",
    )


async def _check_dimension(connection: AsyncConnection, configured: int) -> None:
    stored = await _scalar(
        connection,
        "SELECT atttypmod FROM pg_attribute"
        " WHERE attrelid = 'fact_search'::regclass AND attname = 'embedding' AND NOT attisdropped",
    )
    if stored != configured:
        raise DatabaseNotReadyError(
            f"the database holds vectors of {stored} numbers, the embedder makes {configured}",
            "configure the embedder that the database was made with",
        )


async def _check_embedder(connection: AsyncConnection, configured: str) -> None:
    """Vectors of different models cannot be compared, even where their lengths are equal."""
    first = insert(deployment).values(key=_EMBEDDER_KEY, value=configured)
    query = sa.select(deployment.c.value).where(deployment.c.key == _EMBEDDER_KEY)
    stored = (await connection.execute(query)).scalar()
    if stored is None:
        await connection.execute(first.on_conflict_do_nothing())
        stored = (await connection.execute(query)).scalar_one()
    if stored != configured:
        raise DatabaseNotReadyError(
            f"the database's vectors come from the embedder {stored!r}, configured is {configured!r}",
            f"configure {stored!r}",
        )


async def _scalar(connection: AsyncConnection, query: str) -> Any:  # noqa: ANN401 - one value of whatever type the query has
    return (await connection.execute(sa.text(query))).scalar()
