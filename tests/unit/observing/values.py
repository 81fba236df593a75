"""Facts and observations for tests of what observations are formed by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from concord_server.domain.enums import EvolutionType, FactStatus, ObservationState, Trust, Volatility
from concord_server.domain.model import Fact, Partition
from concord_server.domain.observations import Group, Observation, Support

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def moment(day: float) -> datetime:
    """So many days after the first one."""
    return NOW + timedelta(days=day)


def fact(number: int, text: str = "", day: float = 0, sources: int = 1) -> Fact:
    """A fact whose id is its number."""
    return Fact(
        fact_id=UUID(int=number),
        partition=Partition(owner_type="User", owner_id="u1"),
        slot_id=UUID(int=1000 + number),
        status=FactStatus.ACTIVE,
        text=text or f"fact {number}",
        text_raw=text,
        value_key="",
        claim=None,
        evolution_type=EvolutionType.ORIGINAL,
        confidence=0.7,
        source_count=sources,
        corroboration_score=0.0,
        reinforcement_count=0,
        last_reinforce_time=moment(day),
        trust=Trust.TRUSTED,
        volatility=Volatility.STABLE,
        valid_from=moment(day),
        valid_to=None,
        create_time=moment(day),
        update_time=moment(day),
    )


def observation(number: int, text: str, *support: Fact, created: float = 0) -> Observation:
    """An observation over facts, whose id is its number."""
    return Observation(
        observation_id=UUID(int=number),
        group=Group(owner_type="User", owner_id="u1"),
        text=text,
        state=ObservationState.ACTIVE,
        support=tuple(Support(each.fact_id, each.valid_from) for each in support),
        create_time=moment(created),
        update_time=moment(created),
    )


def at(days: Sequence[float]) -> tuple[Support, ...]:
    """Support from so many days before the first one."""
    return tuple(Support(UUID(int=n), moment(-day)) for n, day in enumerate(days))


def retagged(given: Fact, *tags: str) -> Fact:
    """The fact with other tags."""
    return replace(given, tags=tags)
