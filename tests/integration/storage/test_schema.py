"""The schema in the database is the one that the code speaks of, and can be spread by project."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from concord_server.domain.values import subject_key
from concord_server.storage.migrate import alembic_config, known_revisions, migrate
from concord_server.storage.tables import REFERENCE_TABLES, metadata

from tests.integration.storage.conftest import Query

OF_VECTORS = "FROM pg_attribute WHERE attrelid = 'fact_search'::regclass AND attname = 'embedding'"


@pytest.fixture
def connection(extended_url: str) -> Iterator[sa.Connection]:
    """A connection to the new database."""
    engine = sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(extended_url))
    with engine.connect() as opened:
        yield opened
    engine.dispose()


def tables_of(connection: sa.Connection) -> set[str]:
    return set(sa.inspect(connection).get_table_names())


def test_migrations_from_nothing_make_the_tables_that_the_code_speaks_of(
    extended_url: str, connection: sa.Connection
) -> None:
    assert migrate(extended_url) == known_revisions()[0]
    context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
    assert compare_metadata(context, metadata) == []


def test_migrations_make_the_checks_that_the_code_speaks_of(extended_url: str, connection: sa.Connection) -> None:
    """Alembic does not compare checks, nor where a partial index applies, nor when a key is checked."""
    migrate(extended_url)
    migrated = _rules(connection)
    connection.execute(sa.text("CREATE SCHEMA from_metadata"))
    connection.execute(sa.text("SET LOCAL search_path = from_metadata, public"))
    metadata.create_all(connection, checkfirst=False)
    assert migrated == _rules(connection)
    connection.rollback()


def _rules(connection: sa.Connection) -> set[tuple[str, str, str]]:
    """Returns every constraint and index of the current schema, as the server defines it."""
    constraints = connection.execute(
        sa.text(
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE connamespace = current_schema()::regnamespace AND contype <> 'n'"
        )
    )
    indexes = connection.execute(
        sa.text(
            "SELECT tablename, indexname, replace(indexdef, current_schema() || '.', '') FROM pg_indexes"
            " WHERE schemaname = current_schema()"
        )
    )
    found = {tuple(map(str, row)) for row in (*constraints, *indexes)}
    return {(table, name, rule) for table, name, rule in found if table != "alembic_version"}


def test_every_migration_can_be_taken_back(extended_url: str, connection: sa.Connection) -> None:
    migrate(extended_url)
    config = alembic_config()
    config.attributes["connection"] = connection
    for revision in [*known_revisions()[1:], "base"]:
        command.downgrade(config, revision)
    connection.commit()
    assert tables_of(connection) == {"alembic_version"}
    assert migrate(extended_url) == known_revisions()[0]


def test_migrating_again_changes_nothing(extended_url: str, connection: sa.Connection) -> None:
    migrate(extended_url)
    before = _rules(connection)
    assert migrate(extended_url) == known_revisions()[0]
    assert _rules(connection) == before


@pytest.mark.parametrize("dimension", [3, 2000])
def test_vectors_have_the_length_that_the_schema_was_made_with(
    extended_url: str, connection: sa.Connection, dimension: int
) -> None:
    migrate(extended_url, embedding_dimension=dimension)
    for table in ("fact_search", "event_search"):
        column = (
            f"SELECT atttypmod FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attname = 'embedding'"
        )
        assert connection.scalar(sa.text(column)) == dimension


@pytest.mark.parametrize("dimension", [-1, 2001])
def test_a_length_that_cannot_be_indexed_is_refused_and_nothing_is_made(
    extended_url: str, connection: sa.Connection, dimension: int
) -> None:
    with pytest.raises(ValueError, match="embedding dimension"):
        migrate(extended_url, embedding_dimension=dimension)
    assert tables_of(connection) == set()


@pytest.mark.parametrize("table", ["fact_search", "event_search"])
def test_vectors_lie_within_their_rows(extended_url: str, connection: sa.Connection, table: str) -> None:
    migrate(extended_url)
    storage = f"SELECT attstorage FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attname = 'embedding'"
    assert connection.scalar(sa.text(storage)) == "p"


def test_events_from_before_they_could_be_searched_become_findable(
    extended_url: str, connection: sa.Connection
) -> None:
    migrate(extended_url)
    config = alembic_config()
    config.attributes["connection"] = connection
    command.downgrade(config, "0008")
    connection.execute(sa.text("INSERT INTO projects VALUES ('p', 0, now())"))
    columns = (
        "project_id, event_id, subject_type, subject_id, kind, text, payload, messages, occur_time, trust,"
        " access_scope, domain, tags, idempotency_key, digest, candidates, state, attempts, error_reason,"
        " error_message, create_time, update_time, delete_time"
    )
    for number, erased in ((1, "NULL"), (2, "now()")):
        connection.execute(
            sa.text(
                f"INSERT INTO events ({columns}) VALUES ('p', '00000000-0000-7000-8000-00000000000{number}', 'User',"
                " 'ada', '', 'Tea', '{}', '[]', now(), 'TRUSTED', '', '', '{}', '', '', '[]', 'PENDING', 0, '', '',"
                f" now(), now(), {erased})"
            )
        )
    command.upgrade(config, "head")
    waiting = connection.execute(sa.text("SELECT right(event_id::text, 1), step, words FROM event_search")).all()
    assert waiting == [("1", "WORDS", None)]


def test_slots_from_before_they_were_found_by_subject_get_their_key(
    extended_url: str, connection: sa.Connection
) -> None:
    migrate(extended_url)
    config = alembic_config()
    config.attributes["connection"] = connection
    command.downgrade(config, "0009")
    connection.execute(
        sa.text("INSERT INTO projects (project_id, change_sequence, create_time) VALUES ('p', 0, now())")
    )
    partition = "00000000-0000-8000-8000-000000000000"
    connection.execute(
        sa.text(f"INSERT INTO partitions VALUES ('p', '{partition}', '', '', 'ASSERTION', '', '', 1, now())")
    )
    subjects = ["Ada", "  STRASSE\tNorth ", "Straße north", "İstanbul", "東京"]
    for number, subject in enumerate(subjects):
        connection.execute(
            sa.text("INSERT INTO slots VALUES ('p', gen_random_uuid(), :partition, :key, :subject, 'city', '{}')"),
            {"partition": partition, "key": str(number), "subject": subject},
        )
    command.upgrade(config, "head")
    found = connection.execute(sa.text("SELECT subject, subject_key FROM slots")).all()
    assert dict(map(tuple, found)) == {subject: subject_key(subject) for subject in subjects}


class TestSpreadByProject:
    """Each rule holds for the tables in the code and for those in the database."""

    def test_keys_and_unique_indexes_start_with_the_project_in_the_code(self) -> None:
        for table in metadata.sorted_tables:
            if table.name in REFERENCE_TABLES:
                continue
            unique = [list(table.primary_key.columns)]
            unique += [list(c.columns) for c in table.constraints if isinstance(c, sa.UniqueConstraint)]
            unique += [list(index.columns) for index in table.indexes if index.unique]
            assert {columns[0].name for columns in unique} == {"project_id"}, table.name
            for key in table.foreign_keys:
                assert key.constraint is not None
                columns = list(key.constraint.columns)
                assert columns[0].name == key.constraint.elements[0].column.name == "project_id", table.name

    async def test_keys_and_unique_indexes_start_with_the_project_in_the_database(self, query: Query) -> None:
        rows = await query(
            "SELECT i.indrelid::regclass::text, i.indexrelid::regclass::text, a.attname"
            " FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid"
            " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]"
            " WHERE i.indisunique AND t.relnamespace = 'public'::regnamespace AND t.relkind = 'r'"
        )
        keyed = {table for table, _, _ in rows}
        assert keyed >= set(metadata.tables)
        for table, index, first in rows:
            assert first == "project_id" or table in REFERENCE_TABLES, index

    async def test_references_stay_within_the_project_in_the_database(self, query: Query) -> None:
        rows = await query(
            "SELECT c.conname, a.attname, r.attname FROM pg_constraint c"
            " JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]"
            " JOIN pg_attribute r ON r.attrelid = c.confrelid AND r.attnum = c.confkey[1]"
            " WHERE c.contype = 'f' AND c.connamespace = 'public'::regnamespace"
        )
        assert len(rows) > 20
        for name, referring, referred in rows:
            assert (referring, referred) == ("project_id", "project_id"), name
