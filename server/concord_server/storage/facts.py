"""Facts: reading and storing them, with everything that hangs on them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import LargeBinary, Uuid, any_, bindparam, func, select
from sqlalchemy.dialects.postgresql import ARRAY, insert

from concord_server.domain.enums import EvolutionType, FactChange, FactStatus
from concord_server.domain.model import Evidence, Fact, Source
from concord_server.domain.queries import Cursor, FactFilter, FactOrder, Page
from concord_server.ports.embedder import Vector
from concord_server.ports.ledger import ChangeProbe, SimilarFact, SourceStatistics
from concord_server.storage import holders, nearness, provenance
from concord_server.storage.erasure import ABSORBED, erase_fact
from concord_server.storage.fact_queries import list_facts
from concord_server.storage.fact_rows import fact_columns, fact_from_row
from concord_server.storage.fact_saving import save_fact, set_embedding
from concord_server.storage.fact_tables import fact_wordings, facts
from concord_server.storage.statements import PROJECT, SessionContext

_OF_PROJECT = select(*fact_columns()).where(facts.c.project_id == PROJECT)
_GET = _OF_PROJECT.where(facts.c.fact_id == bindparam("fact"))
_GET_MANY = _OF_PROJECT.where(facts.c.fact_id == any_(bindparam("facts", type_=ARRAY(Uuid))))
_DIGEST = bindparam("digest", type_=LargeBinary)
_PARTITION = bindparam("partition", type_=Uuid)
_OF_WORDING = (
    select(facts.c.fact_id)
    .where(
        facts.c.project_id == PROJECT,
        facts.c.partition_id == _PARTITION,
        facts.c.text_digest == _DIGEST,
    )
    .union(
        select(fact_wordings.c.fact_id).where(
            fact_wordings.c.project_id == PROJECT, fact_wordings.c.text_digest == _DIGEST
        )
    )
)
_BY_TEXT = _OF_PROJECT.where(
    # As an array, so that the few ids are found first, whatever the planner thinks of the table's size.
    facts.c.fact_id == any_(func.array(_OF_WORDING.scalar_subquery(), type_=ARRAY(Uuid))),
    facts.c.partition_id == _PARTITION,
    facts.c.status != FactStatus.DELETED.value,
).order_by((facts.c.text_digest == _DIGEST).desc(), facts.c.create_time.desc(), facts.c.fact_id.desc())
_ADD_WORDING = insert(fact_wordings).on_conflict_do_nothing()


class PostgresFacts:
    """Implements :class:`~concord_server.ports.ledger.FactRepository`."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    async def get(self, fact_id: UUID) -> Fact | None:
        """Returns the fact with its links, also when it is DELETED."""
        row = await self._context.statements.first(_GET, {"project": self._context.project, "fact": fact_id})
        return fact_from_row(row) if row else None

    async def get_many(self, fact_ids: Sequence[UUID]) -> list[Fact]:
        """Returns the facts that exist, in the order asked for."""
        if not fact_ids:
            return []
        parameters = {"project": self._context.project, "facts": list(fact_ids)}
        rows = await self._context.statements.rows(_GET_MANY, parameters)
        found = {row.fact_id: fact_from_row(row) for row in rows}
        return [found[fact_id] for fact_id in fact_ids if fact_id in found]

    async def by_text(self, partition_id: UUID, text_digest: bytes) -> list[Fact]:
        """Returns the facts that are known under that text key in the partition, erased ones left out.

        Facts whose own wording it is come first, then newest first.
        """
        parameters = {"project": self._context.project, "partition": partition_id, "digest": text_digest}
        return [fact_from_row(row) for row in await self._context.statements.rows(_BY_TEXT, parameters)]

    async def add_wording(self, fact_id: UUID, text_digest: bytes) -> None:
        """Stores a wording under which the fact is to be found from now on."""
        values = {"project_id": self._context.project, "fact_id": fact_id, "text_digest": text_digest}
        await self._context.statements.execute(_ADD_WORDING, values)

    async def similar(
        self, partition_id: UUID, vector: Vector, *, min_similarity: float, limit: int
    ) -> list[SimilarFact]:
        """Returns the nearest facts of the partition, erased ones left out, by similarity, newest, id."""
        return await nearness.similar_facts(
            self._context, partition_id, vector, min_similarity=min_similarity, limit=limit
        )

    async def similarities(self, fact_ids: Sequence[UUID], vector: Vector) -> dict[UUID, float]:
        """Returns the cosine of each fact that has an embedding with ``vector``."""
        return await nearness.similarities(self._context, fact_ids, vector)

    async def holding(self, slot_ids: Sequence[UUID], moment: datetime) -> dict[UUID, Fact]:
        """Returns, by slot, the fact that holds at the moment, else the last before it, else the first after."""
        return await holders.holding(self._context, slot_ids, moment)

    async def changed_since(self, partition_id: UUID, revision: int, probe: ChangeProbe) -> bool:
        """Tells whether a fact that the probe would meet changed after ``revision``."""
        return await nearness.changed_since(self._context, partition_id, revision, probe)

    async def save(
        self,
        fact: Fact,
        change: FactChange,
        *,
        actor: str,
        reason: str,
        partition_id: UUID,
        text_digest: bytes,
        embedding: Vector | None = None,
    ) -> None:
        """Stores a state of a fact as its newest version, and puts the change on the log.

        Raises:
            ConcurrentUpdateError: the stored version is not the one before ``fact.version``.
        """
        await save_fact(
            self._context,
            fact,
            change,
            actor=actor,
            reason=reason,
            partition_id=partition_id,
            text_digest=text_digest,
            embedding=embedding,
        )

    async def set_embedding(self, fact_id: UUID, embedding: Vector, revision: int) -> None:
        """Stores the embedding of a known fact; no version, since what the fact says does not change."""
        await set_embedding(self._context, fact_id, embedding, revision)

    async def add_edges(
        self, child_id: UUID, parents: Sequence[UUID], evolution_type: EvolutionType, now: datetime
    ) -> None:
        """Adds edges from ``parents`` (in this order, after existing ones) to the child; existing edges stay."""
        await provenance.add_edges(self._context, child_id, parents, evolution_type, now)

    async def is_ancestor(self, ancestor_id: UUID, fact_id: UUID) -> bool:
        """Tells whether ``ancestor_id`` is ``fact_id`` or above it in the graph."""
        return await provenance.is_ancestor(self._context, ancestor_id, fact_id)

    async def upsert_source(self, source: Source) -> Source:
        """Stores a source under its identity, keeping id and create time of one that is there already."""
        return await provenance.upsert_source(self._context, source)

    async def add_evidence(self, evidence: Sequence[Evidence]) -> None:
        """Stores pieces of evidence; an identical piece of the same fact is stored once."""
        await provenance.add_evidence(self._context, evidence)

    async def sources(self, fact_id: UUID) -> list[Source]:
        """Returns the fact's sources, oldest first."""
        return await provenance.sources_of(self._context, fact_id)

    async def evidence(self, fact_id: UUID) -> list[Evidence]:
        """Returns the fact's evidence, oldest first."""
        return await provenance.evidence_of(self._context, fact_id)

    async def source_statistics(self, fact_id: UUID) -> SourceStatistics:
        """Returns what confidence needs of the fact's sources."""
        return await provenance.source_statistics(self._context, fact_id)

    async def absorbed(self, fact_id: UUID) -> list[Fact]:
        """Returns the facts whose statements all went over to this one, which says the same; oldest first."""
        rows = await self._context.statements.rows(ABSORBED, {"project": self._context.project, "fact": fact_id})
        return [fact_from_row(row) for row in rows]

    async def erase(self, fact_id: UUID) -> None:
        """Removes every word of the fact, wherever it is kept. Ids and times remain."""
        await erase_fact(self._context, fact_id)

    async def list(self, where: FactFilter, order: FactOrder, *, after: Cursor | None, size: int) -> Page[Fact]:
        """Returns a page of facts in a total order, with the count of all that match."""
        return await list_facts(self._context, where, order, after=after, size=size)
