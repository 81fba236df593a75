"""Copies many facts into a database, with everything that reads need of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
import psycopg
from concord_server.domain.enums import FactType
from concord_server.domain.model import Partition
from concord_server.domain.queries import FactFilter
from concord_server.storage.partitions import partition_id_of
from pgvector.psycopg import register_vector
from uuid_utils.compat import uuid7

PROJECT = "bench"
DOMAINS = tuple(f"domain-{number}" for number in range(100))
"""Every fact is of one of these, so that a filter by domain passes 1 %."""

WIDE_DOMAINS = frozenset(DOMAINS[::10])
"""Facts of these are in the access scope "wide", so that a filter by it passes 10 %."""

SMALL, LARGE = 50, 1000
"""Facts of an ordinary entity, and of a much discussed one."""

_INDEXES = ("ix_fact_search_embedding", "ix_fact_search_words")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was loaded: ids, vectors and domains of the facts, in one order, and some entities by name."""

    project: str
    ids: Sequence[UUID]
    vectors: npt.NDArray[np.float32]
    domains: Sequence[str]
    entities: dict[str, list[str]]

    def passing(self, where: FactFilter) -> npt.NDArray[np.int64]:
        """Returns the positions of the facts that pass a filter by domain or scope."""
        passing = [
            index
            for index, domain in enumerate(self.domains)
            if (not where.domain or domain == where.domain)
            and (where.access_scope is None or scope_of(domain) == where.access_scope)
        ]
        return np.array(passing)


def scope_of(domain: str) -> str:
    """Returns the access scope of a domain's facts."""
    return "wide" if domain in WIDE_DOMAINS else ""


def load(
    connection: psycopg.Connection[Any], size: int, texts: Sequence[str], vectors: npt.NDArray[np.float32]
) -> Loaded:
    """Stores ``size`` current facts; their indexes are made afterwards, as a restored backup would."""
    ids = [uuid7() for _ in range(size)]
    domains = [DOMAINS[(index * 37) % len(DOMAINS)] for index in range(size)]
    definitions = [
        row[0]
        for row in connection.execute(
            "SELECT indexdef FROM pg_indexes WHERE indexname = ANY(%s)", (list(_INDEXES),)
        )
    ]
    for name in _INDEXES:
        connection.execute(f"DROP INDEX {name}")
    _copy(connection, ids, domains, texts, vectors)
    _spread(connection)
    connection.commit()
    connection.execute("SET maintenance_work_mem = '1GB'")
    for definition in definitions:
        connection.execute(definition)
    connection.commit()
    connection.autocommit = True
    connection.execute("VACUUM ANALYZE")
    small = [f"small-{number}" for number in range(min(size // SMALL, 200))]
    large = [f"large-{number}" for number in range(min(size // LARGE, 200))]
    entities = {f"entity of {SMALL}": small, f"entity of {LARGE}": (large * 200)[:200]}
    return Loaded(PROJECT, ids, vectors, domains, entities)


def _copy(
    connection: psycopg.Connection[Any],
    ids: Sequence[UUID],
    domains: Sequence[str],
    texts: Sequence[str],
    vectors: npt.NDArray[np.float32],
) -> None:
    register_vector(connection)
    connection.execute(
        "CREATE TEMP TABLE staged (position int, fact_id uuid, partition_id uuid, domain text, scope text, text text,"
        " embedding vector)"
    )
    partitions = {d: partition_id_of(Partition(scope_of(d), d, FactType.ASSERTION)) for d in DOMAINS}
    with connection.cursor().copy("COPY staged FROM STDIN WITH (FORMAT BINARY)") as copy:
        copy.set_types(["int4", "uuid", "uuid", "text", "text", "text", "vector"])
        for index, (fact_id, domain) in enumerate(zip(ids, domains, strict=True)):
            text = f"{texts[index % len(texts)]}, entry {index}"
            row = (index, fact_id, partitions[domain], domain, scope_of(domain), text, vectors[index])
            copy.write_row(row)


_STATE = (
    "partition_id, access_scope, domain, type, owner_type, owner_id, slot_id, status, text, text_raw, value_key,"
    " evolution_type, confidence, source_count, corroboration_score, reinforcement_count, last_reinforce_time, trust,"
    " volatility, valid_from, create_time, update_time, off_timeline, partition_revision, metadata"
)
_VALUES = (
    "partition_id, scope, domain, 'ASSERTION', '', '', fact_id, 'ACTIVE', text, text, position::text,"
    " 'ORIGINAL', 0.7 + (position %% 30) / 100.0, position %% 6, 0, 0, now() - position * interval '1 minute',"
    " 'TRUSTED', 'STABLE', now() - interval '400 days', now(), now(), false, 1, '{}'"
).replace("%%", "%")


def _spread(connection: psycopg.Connection[Any]) -> None:
    """Stores the rows of every table from what was copied."""
    for statement in (
        f"INSERT INTO projects (project_id, change_sequence, create_time) VALUES ('{PROJECT}', 0, now())",
        "INSERT INTO partitions (project_id, partition_id, access_scope, domain, type, owner_type, owner_id, revision,"
        f" recorded_time) SELECT DISTINCT '{PROJECT}', partition_id, scope, domain, 'ASSERTION', '', '', 1, now()"
        " FROM staged",
        f"INSERT INTO facts (project_id, fact_id, version, text_digest, {_STATE})"
        f" SELECT '{PROJECT}', fact_id, 1, sha256(text::bytea), {_VALUES} FROM staged",
        "INSERT INTO fact_versions (project_id, fact_id, version, subjects, contents, tags, parents, change, actor,"
        f" reason, recorded_from, {_STATE}) SELECT '{PROJECT}', fact_id, 1, '[]', '[]', '[]', '[]', 'CREATED',"
        f" 'bench', '', now(), {_VALUES} FROM staged",
        "INSERT INTO fact_search (project_id, fact_id, partition_id, create_time, embedding, words)"
        f" SELECT '{PROJECT}', fact_id, partition_id, now(), embedding, to_tsvector('simple', text || ' ' ||"
        " regexp_replace(text, '[^[:alnum:]]+', ' ', 'g')) FROM staged",
        "INSERT INTO fact_subjects (project_id, fact_id, entity_type, entity_id, role, position)"
        f" SELECT '{PROJECT}', fact_id, 'Person', name || '-' || position / size, 'SUBJECT', 1 FROM staged,"
        f" (VALUES ('small', {SMALL}), ('large', {LARGE})) AS sizes (name, size)",
    ):
        connection.execute(statement)
