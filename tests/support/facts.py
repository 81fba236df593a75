"""Facts and what belongs to them, with every field that a test does not care about filled in."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from concord_server.domain.enums import (
    Cardinality,
    EvidenceStance,
    EvolutionType,
    FactChange,
    FactStatus,
    Trust,
    Volatility,
)
from concord_server.domain.model import Claim, Evidence, Fact, Partition, Source
from concord_server.ports.embedder import Vector
from concord_server.ports.ledger import LockedPartition, WriteSession
from uuid_utils.compat import uuid7

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DIMENSION = 384


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def vector(*components: float) -> Vector:
    """Returns the unit vector with these first components."""
    full = np.zeros(DIMENSION, dtype=np.float32)
    full[: len(components)] = components
    return full / np.float32(np.linalg.norm(full))


def a_claim(value: Any = "blue", **fields: Any) -> Claim:
    return Claim(
        **{
            "subject": "Ada",
            "predicate": "favorite_color",
            "value": value,
            "qualifiers": {},
            "cardinality": Cardinality.SINGLE,
            **fields,
        }
    )


def a_fact(**fields: Any) -> Fact:
    text = fields.get("text", "Ada likes blue")
    at = fields.get("create_time", NOON)
    defaults: dict[str, Any] = {
        "fact_id": uuid7(),
        "partition": Partition(),
        "slot_id": uuid7(),
        "status": FactStatus.ACTIVE,
        "text": text,
        "text_raw": text,
        "value_key": digest(text).hex(),
        "claim": None,
        "evolution_type": EvolutionType.ORIGINAL,
        "confidence": 0.7,
        "source_count": 0,
        "corroboration_score": 0.0,
        "reinforcement_count": 0,
        "last_reinforce_time": at,
        "trust": Trust.TRUSTED,
        "volatility": Volatility.STABLE,
        "valid_from": at,
        "valid_to": None,
        "create_time": at,
        "update_time": at,
    }
    return Fact(**(defaults | fields))


def next_version(fact: Fact, **changes: Any) -> Fact:
    changed: dict[str, Any] = {"version": fact.version + 1, "update_time": fact.update_time + minutes(1)}
    return replace(fact, **(changed | changes))


def a_source(fact_id: UUID, **fields: Any) -> Source:
    defaults: dict[str, Any] = {
        "source_id": uuid7(),
        "fact_id": fact_id,
        "source_type": "web",
        "url": "",
        "title": "",
        "external_id": "",
        "credibility": 0.5,
        "extract_time": NOON,
        "trust": Trust.TRUSTED,
        "metadata": {},
        "create_time": NOON,
    }
    return Source(**(defaults | fields))


def a_piece_of_evidence(fact_id: UUID, **fields: Any) -> Evidence:
    defaults: dict[str, Any] = {
        "evidence_id": uuid7(),
        "fact_id": fact_id,
        "source_id": None,
        "stance": EvidenceStance.SUPPORTS,
        "quote": "",
        "locator": "",
        "source_kind": "",
        "source_ref": "",
        "confidence": 0.0,
        "extraction_method": "",
        "create_time": NOON,
    }
    return Evidence(**(defaults | fields))


async def save(
    session: WriteSession,
    fact: Fact,
    change: FactChange = FactChange.CREATED,
    *,
    locked: LockedPartition | None = None,
    embedding: Vector | None = None,
    reason: str = "",
) -> Fact:
    """Stores a fact the way a service does: under its partition's lock, with the lock's revision."""
    held = locked or await session.partitions.lock(fact.partition, fact.update_time)
    stored = replace(fact, partition_revision=held.revision)
    await session.facts.save(
        stored,
        change,
        actor="tester",
        reason=reason,
        partition_id=held.partition_id,
        text_digest=digest(stored.text),
        embedding=embedding,
    )
    return stored


async def save_all(session: WriteSession, facts: Sequence[Fact]) -> list[Fact]:
    return [await save(session, fact) for fact in facts]
