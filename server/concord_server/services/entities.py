"""Entities: listing them, and linking them to facts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from concord_server.domain.commands import ReconcileCommand
from concord_server.domain.confidence import confidence
from concord_server.domain.entities import EntityOrder, EntitySummary
from concord_server.domain.enums import FactChange, FactStatus, SubjectRole
from concord_server.domain.errors import IllegalStatusTransitionError
from concord_server.domain.model import EntityRef, Fact
from concord_server.domain.queries import Cursor, Page
from concord_server.ports.clock import Clock
from concord_server.ports.entities import EntityKey
from concord_server.ports.ledger import Ledger, WriteSession
from concord_server.services import idempotency as repeats
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.locking import lock_fact
from concord_server.services.statuses import check_etag
from concord_server.services.timeline_writer import text_digest


class ListEntities:
    """Lists the entities that facts are about."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def execute(
        self, context: CallContext, entity_type: str, order: EntityOrder, after: Cursor | None, size: int
    ) -> Page[EntitySummary]:
        """Returns a page of the entities of a type, of all types where it is empty."""
        async with self._ledger.read(context.project) as session:
            return await session.entities.list(entity_type, order, after=after, size=size)


@dataclass(frozen=True, slots=True)
class LinkChange:
    """A link to make or to remove.

    Attributes:
        role: ``None`` removes the entity in every role.
        etag: of the fact as the caller read it; empty is no check.
    """

    fact_id: UUID
    entity: EntityKey
    role: SubjectRole | None
    etag: str = ""


class ChangeLinks:
    """Links entities to facts, and removes links."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    async def link(
        self, context: CallContext, change: LinkChange, idempotency: Idempotency[Fact] | None
    ) -> Fact | Replay:
        """Returns the fact with the link; unchanged where it has it already.

        Raises:
            FactNotFoundError: no such fact.
            EtagMismatchError: the fact changed since the caller read it.
            IllegalStatusTransitionError: the fact is erased.
        """
        return await self._change(context, change, idempotency, removes=False)

    async def unlink(
        self, context: CallContext, change: LinkChange, idempotency: Idempotency[Fact] | None
    ) -> Fact | Replay:
        """Returns the fact without the link; unchanged where it has none. Ownership is no link, and stays.

        Raises:
            FactNotFoundError: no such fact.
            EtagMismatchError: the fact changed since the caller read it.
            IllegalStatusTransitionError: the fact is erased.
        """
        return await self._change(context, change, idempotency, removes=True)

    async def _change(
        self, context: CallContext, change: LinkChange, idempotency: Idempotency[Fact] | None, *, removes: bool
    ) -> Fact | Replay:
        known = await repeats.find(self._ledger, context.project, idempotency)
        if known is not None:
            return known
        now = self._clock.now()
        async with self._ledger.write(context.project) as session:
            known = await repeats.claim(session, idempotency, now)
            if known is not None:
                return known
            merged = await session.entities.hold([change.entity])
            entity_type, entity_id = change.entity
            entity = EntityRef(entity_type, merged.get(change.entity, entity_id))
            locked, fact = await lock_fact(session, change.fact_id, now)
            check_etag(change.etag, fact.etag)
            if fact.status is FactStatus.DELETED:
                raise IllegalStatusTransitionError(fact.status.value, "a fact with other links")
            subjects = _without(fact, entity, change.role) if removes else _with(fact, entity, change.role)
            if subjects != fact.subjects:
                fact = replace(fact, subjects=subjects, version=fact.version + 1, update_time=locked.recorded_time)
                verb = "unlinked" if removes else "linked"
                fact = await save_revision(
                    session,
                    fact,
                    locked.partition_id,
                    context.actor,
                    f"{verb} {entity.entity_type} {entity.entity_id}",
                )
            await repeats.complete(session, idempotency, fact, [fact.fact_id])
            return fact


async def save_revision(session: WriteSession, fact: Fact, partition_id: UUID, actor: str, reason: str) -> Fact:
    """Stores a state of a known fact that changes nothing on its timeline, and returns it.

    Args:
        fact: with the version and update time that it is to have; its confidence is computed for that time.
    """
    sources = await session.facts.source_statistics(fact.fact_id)
    score = confidence(sources.credibilities, sources.newest_time, fact.corroboration_score, fact.update_time)
    fact = replace(fact, confidence=score)
    await session.facts.save(
        fact,
        FactChange.REVISED,
        actor=actor,
        reason=reason,
        partition_id=partition_id,
        text_digest=text_digest(fact.text),
    )
    return fact


def entities_of(command: ReconcileCommand) -> set[EntityKey]:
    """Returns the entities that a statement names."""
    owner = (command.owner,) if command.owner else ()
    return {(entity.entity_type, entity.entity_id) for entity in (*owner, *command.subjects)}


def with_entities(command: ReconcileCommand, merged: Mapping[EntityKey, str]) -> ReconcileCommand:
    """Returns a statement about the entities that those which it names were merged into."""
    if not merged:
        return command
    return replace(
        command,
        owner=renamed(command.owner, merged) if command.owner else None,
        subjects=tuple(renamed(subject, merged) for subject in command.subjects),
    )


def renamed(entity: EntityRef, merged: Mapping[EntityKey, str]) -> EntityRef:
    """Returns a reference to the entity that another was merged into, itself where it was not."""
    into = merged.get((entity.entity_type, entity.entity_id))
    return entity if into is None else replace(entity, entity_id=into)


def renamed_all(entities: Collection[EntityRef], merged: Mapping[EntityKey, str]) -> tuple[EntityRef, ...]:
    """Returns references to the entities that others were merged into, each once."""
    return tuple(dict.fromkeys(renamed(entity, merged) for entity in entities))


def _with(fact: Fact, entity: EntityRef, role: SubjectRole | None) -> tuple[EntityRef, ...]:
    link = replace(entity, role=role or SubjectRole.SUBJECT)
    return fact.subjects if link in fact.subjects else (*fact.subjects, link)


def _without(fact: Fact, entity: EntityRef, role: SubjectRole | None) -> tuple[EntityRef, ...]:
    def goes(link: EntityRef) -> bool:
        same = (link.entity_type, link.entity_id) == (entity.entity_type, entity.entity_id)
        return same and role in (None, link.role)

    return tuple(link for link in fact.subjects if not goes(link))
