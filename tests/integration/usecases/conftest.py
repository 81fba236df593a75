"""The use cases over the real database, embedder and judge; only the clock is a fake."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from concord_server.domain.commands import ReconcileCommand
from concord_server.domain.enums import FactStatus
from concord_server.domain.model import Fact
from concord_server.domain.project_settings import OwnSettings
from concord_server.domain.queries import FactFilter, FactOrder
from concord_server.ports.embedder import Embedder, EmbedderUnavailableError, Vector
from concord_server.ports.judge import Judge
from concord_server.providers.embedders.onnx import OnnxEmbedder
from concord_server.providers.judges.local import LocalJudge
from concord_server.providers.system import TimeOrderedIds
from concord_server.services.batch import BatchReconcile
from concord_server.services.conflicts import ListConflicts
from concord_server.services.context import CallContext, Replay
from concord_server.services.facts import GetFact, ListFacts
from concord_server.services.matching import Matcher
from concord_server.services.propose_predicates import PredicateProposer
from concord_server.services.reconcile import Reconcile
from concord_server.services.resolve_conflict import ResolveConflict
from concord_server.services.results import ReconcileResult
from concord_server.services.settings_cache import CachedSettings
from concord_server.services.statuses import UpdateFactStatus
from concord_server.storage.sessions import PostgresLedger

from tests.support.runs import Bench

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


@dataclass
class FakeClock:
    """A clock that tests move."""

    time: datetime = NOON

    def now(self) -> datetime:
        self.time += timedelta(milliseconds=1)
        return self.time


@dataclass
class SwitchableEmbedder:
    """The real embedder behind a switch."""

    real: Embedder
    down: bool = False
    asked: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.real.name

    @property
    def dimension(self) -> int:
        return self.real.dimension

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.asked.extend(texts)
        if self.down:
            raise EmbedderUnavailableError("switched off")
        return await self.real.embed(texts)


class Desk:
    """Everything that a caller can do, in one project."""

    def __init__(
        self,
        ledger: PostgresLedger,
        embedder: Embedder,
        judge: Judge,
        project: str,
        fallback: Judge | None = None,
    ) -> None:
        self.ledger = ledger
        self.context = CallContext(project, actor="tester")
        self.clock = FakeClock()
        self.embedder = SwitchableEmbedder(embedder)
        ids = TimeOrderedIds()
        matcher = Matcher(ledger, self.embedder, judge, fallback or judge)
        self.settings = CachedSettings(ledger, kept_seconds=0.0)
        self.proposer = PredicateProposer(ledger, self.embedder, judge, fallback or judge, self.clock)
        self.reconciles = Reconcile(ledger, matcher, self.embedder, self.clock, ids, self.settings, self.proposer)
        self.batches = BatchReconcile(self.reconciles, self.embedder)
        self.statuses = UpdateFactStatus(ledger, self.clock, ids)
        self.resolves = ResolveConflict(ledger, self.clock, ids)
        self.gets = GetFact(ledger)
        self.lists = ListFacts(ledger)
        self.lists_conflicts = ListConflicts(ledger)

    async def say(self, text: str, /, **fields: object) -> ReconcileResult:
        """Reconciles a statement."""
        result = await self.reconciles.execute(self.context, ReconcileCommand(text=text, **fields))  # type: ignore[arg-type]
        assert not isinstance(result, Replay)
        return result

    async def settle(self, own: OwnSettings) -> None:
        """Sets what the project goes by from now on."""
        async with self.ledger.write(self.context.project) as session:
            await session.settings.lock()
            await session.settings.save(own)

    async def move(self, fact: Fact, status: FactStatus, reason: str = "a test") -> Fact:
        """Changes a fact's status."""
        changed = await self.statuses.execute(self.context, fact.fact_id, status, reason)
        assert isinstance(changed, Fact)
        return changed

    async def read(self, fact: Fact) -> Fact:
        """Returns a fact as it is now."""
        return (await self.gets.execute(self.context, fact.fact_id)).fact

    async def facts(self, where: FactFilter | None = None) -> list[Fact]:
        """Returns the facts that match, oldest first."""
        order = FactOrder("valid_from", descending=False)
        page = await self.lists.execute(self.context, where or FactFilter(), order, None, 500)
        return list(page.items)


@pytest.fixture(scope="session")
async def real_embedder() -> AsyncIterator[OnnxEmbedder]:
    embedder = OnnxEmbedder.load()
    yield embedder
    await embedder.close()


@pytest.fixture(scope="session")
def judge() -> LocalJudge:
    return LocalJudge.load()


@pytest.fixture
def desk(ledger: PostgresLedger, real_embedder: OnnxEmbedder, judge: LocalJudge, project: str) -> Desk:
    return Desk(ledger, real_embedder, judge, project)


@pytest.fixture
def bench(ledger: PostgresLedger, project: str) -> Bench:
    return Bench(ledger, project)
