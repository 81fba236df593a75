"""Connections to Postgres: how they are made, pooled and checked."""

from __future__ import annotations

import select
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import AdaptedConnection, event, exc
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from concord_server.storage.errors import DatabaseNotReadyError

_DIALECT = "postgresql+psycopg://"


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How a process uses the database; times in seconds.

    Attributes:
        pool_size: most connections at once.
        pool_timeout: how long a call waits for a free connection.
        connect_timeout: how long making a connection may take, per host.
        statement_timeout: longest time of one statement.
        lock_timeout: longest wait for a lock; at most ``statement_timeout`` makes sense.
        idle_in_transaction_timeout: after which the server ends a transaction whose client is silent.
    """

    application_name: str = "concord"
    pool_size: int = 10
    pool_timeout: float = 10.0
    connect_timeout: int = 5
    statement_timeout: float = 30.0
    lock_timeout: float = 10.0
    idle_in_transaction_timeout: float = 60.0

    def session_settings(self) -> dict[str, str]:
        """Returns the settings that every connection starts with."""
        return {
            "timezone": "UTC",
            "statement_timeout": _milliseconds(self.statement_timeout),
            "lock_timeout": _milliseconds(self.lock_timeout),
            "idle_in_transaction_session_timeout": _milliseconds(self.idle_in_transaction_timeout),
            # Compiling a plan takes longer than any statement here runs.
            "jit": "off",
            # Otherwise filters are applied after the index has given its few nearest rows.
            "hnsw.iterative_scan": "relaxed_order",
            "hnsw.ef_search": "100",
        }


def create_engine(database: str, options: EngineOptions | None = None) -> AsyncEngine:
    """Returns an engine with a pool; nothing is connected yet.

    Args:
        database: a connection URL or string as libpq takes it: several hosts, ``target_session_attrs`` and
            directories of Unix sockets included. What it sets goes before ``options``.
        options: defaults of :class:`EngineOptions` when ``None``.

    Raises:
        DatabaseNotReadyError: ``database`` is malformed.
    """
    options = options or EngineOptions()
    arguments = connection_arguments(database, options)

    async def connect() -> psycopg.AsyncConnection[Any]:
        # Prepared statements would keep plans that were made for other vectors and sizes.
        return await psycopg.AsyncConnection.connect(prepare_threshold=None, **arguments)

    engine = create_async_engine(
        _DIALECT,
        async_creator=connect,
        isolation_level="READ COMMITTED",
        pool_size=options.pool_size,
        max_overflow=0,
        pool_timeout=options.pool_timeout,
        pool_use_lifo=True,
        hide_parameters=True,
        use_native_hstore=False,
    )
    event.listen(engine.sync_engine, "checkout", _refuse_ended)
    return engine


def connection_arguments(database: str, options: EngineOptions) -> Mapping[str, Any]:
    """Returns what to pass to psycopg's ``connect``.

    Raises:
        DatabaseNotReadyError: ``database`` is malformed.
    """
    try:
        given = conninfo_to_dict(database)
    except psycopg.ProgrammingError:
        raise DatabaseNotReadyError(
            "the database URL is malformed",  # it may hold a password, so it is not repeated
            "give one like postgresql://user:password@host:5432/database",
        ) from None
    settings = " ".join(f"-c {name}={value}" for name, value in options.session_settings().items())
    defaults: dict[str, Any] = {
        "fallback_application_name": options.application_name,
        "connect_timeout": options.connect_timeout,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
    }
    chosen = defaults | {name: value for name, value in given.items() if value is not None}
    chosen["options"] = f"{settings} {given.get('options') or ''}".strip()
    return chosen


def _refuse_ended(
    connection: AdaptedConnection, record: ConnectionPoolEntry, proxy: PoolProxiedConnection
) -> None:
    """Makes the pool replace a connection that the server ended while it was idle.

    An idle connection has nothing to read unless the server said goodbye. Looking costs microseconds, where
    asking the server costs a round trip with every session.
    """
    del record, proxy
    driver = connection.driver_connection
    poll = select.poll()
    poll.register(driver.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
    if driver.closed or poll.poll(0):
        raise exc.DisconnectionError("the server ended the connection")


def _milliseconds(seconds: float) -> str:
    return str(round(seconds * 1000))
