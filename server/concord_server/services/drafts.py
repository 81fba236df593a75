"""New facts and new sources, before they are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from concord_server.domain.commands import ReconcileCommand
from concord_server.domain.enums import EvolutionType, FactStatus, Trust, Volatility
from concord_server.domain.model import (
    Claim,
    EntityRef,
    Evidence,
    Fact,
    Source,
)
from concord_server.ports.clock import Ids

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a new fact comes from; its child inherits the parents' subjects."""

    evolution_type: EvolutionType = EvolutionType.ORIGINAL
    parents: tuple[Fact, ...] = ()


UNRELATED = Lineage()
"""The lineage of a fact that begins a line of its own."""


def draft_fact(
    command: ReconcileCommand,
    fact_id: UUID,
    slot_id: UUID,
    *,
    claim: Claim | None,
    value_key: str,
    trust: Trust,
    start: datetime,
    lineage: Lineage,
) -> Fact:
    """Returns the new fact that a statement becomes; its timeline and version are filled in when it is written."""
    volatility = command.volatility or next((p.volatility for p in lineage.parents), Volatility.STABLE)
    inherited = (subject for parent in lineage.parents for subject in parent.subjects)
    return Fact(
        fact_id=fact_id,
        partition=command.partition,
        slot_id=slot_id,
        status=FactStatus.ACTIVE,
        text=command.text,
        text_raw=command.text,
        value_key=value_key,
        claim=claim,
        evolution_type=lineage.evolution_type,
        confidence=0.0,
        source_count=0,
        corroboration_score=command.corroboration_score,
        reinforcement_count=0,
        last_reinforce_time=start,
        trust=trust,
        volatility=volatility,
        valid_from=start,
        valid_to=command.valid_to,
        create_time=start,
        update_time=start,
        version=0,
        metadata=dict(command.metadata),
        parent_ids=tuple(parent.fact_id for parent in lineage.parents),
        subjects=merged([*_own_subjects(command), *inherited]),
        contents=merged(command.contents),
        tags=merged(command.tags),
    )


def corroborated(fact: Fact, command: ReconcileCommand) -> Fact:
    """Returns a known fact with what a corroborating statement adds to it: its wording stays."""
    return replace(
        fact,
        text_raw=command.text,
        corroboration_score=max(fact.corroboration_score, command.corroboration_score),
        volatility=command.volatility or fact.volatility,
        metadata={**fact.metadata, **command.metadata},
        subjects=merged([*fact.subjects, *_own_subjects(command)]),
        contents=merged([*fact.contents, *command.contents]),
        tags=merged([*fact.tags, *command.tags]),
    )


def draft_source(command: ReconcileCommand, fact_id: UUID, trust: Trust, ids: Ids, now: datetime) -> Source | None:
    """Returns the statement's source as it is stored with a fact, ``None`` when it has none."""
    given = command.source
    if given is None:
        return None
    return Source(
        source_id=ids.new(),
        fact_id=fact_id,
        source_type=given.source_type,
        url=given.url,
        title=given.title,
        external_id=given.external_id,
        credibility=given.effective_credibility,
        extract_time=given.extract_time or now,
        trust=trust,
        metadata=dict(given.metadata),
        create_time=now,
    )


def draft_evidence(
    command: ReconcileCommand, fact_id: UUID, source: Source | None, ids: Ids, now: datetime
) -> list[Evidence]:
    """Returns the statement's evidence as it is stored with a fact."""
    return [
        Evidence(
            evidence_id=ids.new(),
            fact_id=fact_id,
            source_id=source.source_id if source else None,
            stance=item.stance,
            quote=item.quote,
            locator=item.locator,
            source_kind=item.source_kind,
            source_ref=item.source_ref,
            confidence=item.confidence,
            extraction_method=item.extraction_method,
            create_time=now,
        )
        for item in command.evidence
    ]


def merged(items: Iterable[T]) -> tuple[T, ...]:
    """Returns the items without repeats, in the order of their first occurrence."""
    seen: list[T] = []
    for item in items:
        if item not in seen:
            seen.append(item)
    return tuple(seen)


def _own_subjects(command: ReconcileCommand) -> Sequence[EntityRef]:
    """The entities that a statement names: its subjects, and its owner as a subject."""
    owner = [EntityRef(command.owner.entity_type, command.owner.entity_id)] if command.owner else []
    return [*command.subjects, *owner]
