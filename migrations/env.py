"""Where Alembic gets its connection and the tables to compare with.

``concord migrate`` hands over an open connection, which holds the advisory lock. The ``alembic`` command has none
and connects to CONCORD_DATABASE_URL.
"""

from __future__ import annotations

import os

import psycopg
import sqlalchemy as sa
from alembic import context
from alembic.util import CommandError
from concord_server.storage.tables import metadata


def run(connection: sa.Connection) -> None:
    context.configure(
        connection=connection, target_metadata=metadata, compare_type=True, compare_server_default=True
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    database = os.environ.get("CONCORD_DATABASE_URL")
    if not database:
        raise CommandError("set CONCORD_DATABASE_URL, or run `concord migrate`")
    engine = sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(database))
    with engine.connect() as own:
        run(own)
        own.commit()
