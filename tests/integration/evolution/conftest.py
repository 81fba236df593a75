"""Use cases over the real database, with a clock, an embedder and a judge that do as they are told."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from concord_server.domain.commands import ClaimInput, ReconcileCommand
from concord_server.domain.enums import DecisionBasis, EvolutionType, FactStatus
from concord_server.domain.judgement import Judgement, Relation
from concord_server.domain.model import Fact, FactVersion, Partition, SourceInput
from concord_server.domain.queries import FactFilter, FactOrder
from concord_server.domain.settlement import Timeline
from concord_server.ports.agenda import DueSlot, UnembeddedFact
from concord_server.ports.embedder import EmbedderUnavailableError, Vector
from concord_server.ports.judge import JudgePair
from concord_server.ports.sources import SourceName
from concord_server.providers.system import TimeOrderedIds
from concord_server.services.branch import Branch, BranchCommand, Branched
from concord_server.services.catch_up import CatchUp
from concord_server.services.context import CallContext, Replay
from concord_server.services.facts import GetFact, ListFacts
from concord_server.services.history import ListFactVersions
from concord_server.services.lineage import GetEvolutionChain, GetEvolutionTree, GetLatestInChain
from concord_server.services.matching import Matcher
from concord_server.services.reconcile import Reconcile
from concord_server.services.resolve_conflict import ResolveConflict
from concord_server.services.results import FactDetails, ReconcileResult
from concord_server.services.schedule import ActivateScheduled
from concord_server.services.settings_cache import CachedSettings
from concord_server.services.statuses import UpdateFactStatus
from concord_server.services.update_fact import FactUpdate, UpdateFact
from concord_server.services.withdraw_source import Withdrawal, WithdrawSource
from concord_server.storage.sessions import PostgresLedger
from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncEngine

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
DIMENSION = 384


def day(number: float) -> datetime:
    """A moment so many days after noon of the first day."""
    return NOON + timedelta(days=number)


@dataclass
class TestClock:
    """A clock that starts a month after noon of the first day and that tests move.

    It ticks with each look at it, so that nothing happens at once.
    """

    __test__ = False
    time: datetime = NOON + timedelta(days=30)

    def now(self) -> datetime:
        self.time += timedelta(milliseconds=1)
        return self.time


class ScriptedEmbedder:
    """Gives texts unrelated vectors, but for those that are said to be alike."""

    name = "scripted"
    dimension = DIMENSION

    def __init__(self) -> None:
        self.down = False
        self.topics: dict[str, str] = {}

    def alike(self, *texts: str) -> None:
        """Makes the vectors of these texts equal."""
        for text in texts:
            self.topics[text] = texts[0]

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.down:
            raise EmbedderUnavailableError("told to be down")
        return [self._vector(self.topics.get(text, text)) for text in texts]

    def _vector(self, topic: str) -> Vector:
        seed = int.from_bytes(hashlib.sha256(topic.encode()).digest()[:8])
        drawn = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
        return drawn / np.float32(np.linalg.norm(drawn))


class ScriptedJudge:
    """Says of each pair what it was told, and that all others are about other matters."""

    name = "scripted"

    def __init__(self) -> None:
        self.verdicts: dict[tuple[str, str], Relation] = {}

    def rule(self, statement: str, known: str, relation: Relation) -> None:
        """Tells what a statement is to a known one."""
        self.verdicts[statement, known] = relation

    async def judge(self, pairs: Sequence[JudgePair]) -> list[Judgement]:
        return [self._judgement(self.verdicts.get((p.statement, p.known), Relation.DISTINCT)) for p in pairs]

    def _judgement(self, verdict: Relation) -> Judgement:
        return Judgement({relation: 0.95 if relation is verdict else 0.01 for relation in Relation})


@dataclass
class World:
    """Everything that a caller can do, in one project."""

    ledger: PostgresLedger
    engine: AsyncEngine
    project: str
    clock: TestClock = field(default_factory=TestClock)
    embedder: ScriptedEmbedder = field(default_factory=ScriptedEmbedder)
    judge: ScriptedJudge = field(default_factory=ScriptedJudge)
    ids: TimeOrderedIds = field(default_factory=TimeOrderedIds)

    def __post_init__(self) -> None:
        self.context = CallContext(self.project, actor="tester")
        self.matcher = Matcher(self.ledger, self.embedder, self.judge, self.judge)
        self.reconciles = Reconcile(self.ledger, self.matcher, self.embedder, self.clock, self.ids)
        self.branches = Branch(self.ledger, self.embedder, self.clock, self.ids)
        self.updates = UpdateFact(self.ledger, self.clock, self.ids)
        self.statuses = UpdateFactStatus(self.ledger, self.clock, self.ids)
        self.resolves = ResolveConflict(self.ledger, self.clock, self.ids)
        self.withdraws = WithdrawSource(self.ledger, self.clock, self.ids)

    async def say(self, text: str, /, **fields: Any) -> ReconcileResult:
        """Reconciles a statement; ``claim`` may be (subject, predicate, value), ``source`` an address."""
        result = await self.reconciles.execute(self.context, ReconcileCommand(text=text, **_fields(fields)))
        assert not isinstance(result, Replay)
        return result

    async def claim(self, value: Any, at: float, /, **fields: Any) -> ReconcileResult:
        """States where Priya lives since a day."""
        spoken = json.dumps(value)
        return await self.say(
            f"Priya lives in {spoken}", claim=("Priya", "city", value), observe_time=day(at), **fields
        )

    async def branch(
        self, text: str, *parents: Fact, how: EvolutionType = EvolutionType.EXTENSION, **fields: Any
    ) -> Branched:
        """Derives a fact."""
        command = BranchCommand(
            tuple(parent.fact_id for parent in parents),
            how,
            ReconcileCommand(text=text, **_fields(fields)),
            type_given="type" in fields,
        )
        result = await self.branches.execute(self.context, command)
        assert not isinstance(result, Replay)
        return result

    async def update(self, fact: Fact, /, *, reason: str = "a test", etag: str = "", **fields: Any) -> Fact:
        """Changes fields of a fact."""
        change = FactUpdate(mask=frozenset(fields), **fields)
        result = await self.updates.execute(self.context, fact.fact_id, change, reason, etag)
        assert isinstance(result, Fact)
        return result

    async def move(self, fact: Fact, status: FactStatus, reason: str = "a test", etag: str = "") -> Fact:
        """Changes a fact's status."""
        result = await self.statuses.execute(self.context, fact.fact_id, status, reason, etag)
        assert isinstance(result, Fact)
        return result

    async def withdraw(self, url: str = "", *, external_id: str = "", reason: str = "") -> Withdrawal:
        """Withdraws a source."""
        result = await self.withdraws.execute(self.context, SourceName(external_id, url), reason)
        assert isinstance(result, Withdrawal)
        return result

    async def details(self, fact: Fact) -> FactDetails:
        """Returns a fact with what it rests on."""
        return await GetFact(self.ledger).execute(self.context, fact.fact_id)

    async def read(self, fact: Fact) -> Fact:
        """Returns a fact as it is now."""
        return (await self.details(fact)).fact

    async def facts(self, **where: Any) -> list[Fact]:
        """Returns the facts that match, in order of valid time."""
        order = FactOrder("valid_from", descending=False)
        page = await ListFacts(self.ledger).execute(self.context, FactFilter(**where), order, None, 500)
        return list(page.items)

    async def values(self, **where: Any) -> list[Any]:
        """Returns the values of the facts that match, in order of valid time."""
        return [fact.claim.value if fact.claim else fact.text for fact in await self.facts(**where)]

    async def versions(self, fact: Fact) -> list[FactVersion]:
        """Returns every recorded state of a fact."""
        page = await ListFactVersions(self.ledger).execute(self.context, fact.fact_id, None, 500)
        return list(page.items)

    async def chain(self, fact: Fact) -> list[UUID]:
        """Returns the ids of a line, root first."""
        return [f.fact_id for f in await GetEvolutionChain(self.ledger).execute(self.context, fact.fact_id)]

    async def latest(self, fact: Fact) -> UUID:
        """Returns the id of what a fact has become."""
        return (await GetLatestInChain(self.ledger).execute(self.context, fact.fact_id)).fact_id

    async def tree(self, fact: Fact) -> list[UUID]:
        """Returns the ids of a family, breadth-first."""
        page = await GetEvolutionTree(self.ledger).execute(self.context, fact.fact_id, None, 500)
        return [f.fact_id for f in page.facts]

    async def timeline(self, fact: Fact) -> Timeline:
        """Returns the timeline that a fact is on."""
        async with self.ledger.read(self.project) as session:
            return await session.slots.timeline(fact.slot_id)

    async def rows(self, query: str, **parameters: Any) -> list[Any]:
        """Runs SQL beside the ledger."""
        async with self.engine.connect() as connection:
            found = await connection.execute(sql(query), {"project": self.project, **parameters})
            return list(found.all())


def _fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    given = dict(fields)
    if isinstance(given.get("claim"), tuple):
        given["claim"] = ClaimInput(*given["claim"])
    if isinstance(given.get("source"), str):
        given["source"] = SourceInput(url=given["source"], credibility=0.9)
    return given


class OwnAgenda:
    """The agenda of one project: what other tests have left is nobody's business here."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._agenda = world.ledger.agenda

    async def due_slots(self, now: datetime, *, after: DueSlot | None, limit: int) -> list[DueSlot]:
        start = after or DueSlot(self._world.project, UUID(int=0), Partition())
        found = await self._agenda.due_slots(now, after=start, limit=limit)
        return [slot for slot in found if slot.project == self._world.project]

    async def next_due(self, now: datetime) -> datetime | None:
        facts = await self._world.facts(statuses=(FactStatus.PENDING,))
        return min((f.valid_from for f in facts if f.conflict_id is None and f.valid_from > now), default=None)

    async def unembedded(self, *, after: UnembeddedFact | None, limit: int) -> list[UnembeddedFact]:
        first = UnembeddedFact(self._world.project, UUID(int=0), Partition(), "", undecided=False)
        found = await self._agenda.unembedded(after=after or first, limit=limit)
        return [fact for fact in found if fact.project == self._world.project]


async def said_while_down(world: World, text: str, **fields: Any) -> Fact:
    """Reconciles a statement while the embedder is unavailable."""
    world.embedder.down = True
    result = await world.say(text, **fields)
    world.embedder.down = False
    assert result.decision.basis is DecisionBasis.EMBEDDER_UNAVAILABLE
    assert result.warnings
    return result.fact


def catching_up(world: World) -> CatchUp:
    """One process that takes up what waits for its embedding."""
    settings = CachedSettings(world.ledger, kept_seconds=0.0)
    return CatchUp(world.ledger, OwnAgenda(world), world.matcher, world.embedder, world.clock, world.ids, settings)


def scheduling(world: World) -> ActivateScheduled:
    """One process that activates what is due."""
    return ActivateScheduled(world.ledger, OwnAgenda(world), world.clock, world.ids)


@pytest.fixture
def world(ledger: PostgresLedger, engine: AsyncEngine, project: str) -> World:
    return World(ledger, engine, project)


@pytest.fixture
def catch_up(world: World) -> CatchUp:
    return catching_up(world)


@pytest.fixture
def activate(world: World) -> ActivateScheduled:
    return scheduling(world)
