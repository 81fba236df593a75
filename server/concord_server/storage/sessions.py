"""The ledger in Postgres: sessions, and the one place where they commit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from concord_server.domain.errors import UnavailableError
from concord_server.ports.agenda import Agenda, WorkRepository
from concord_server.ports.briefing import BriefingRepository
from concord_server.ports.entities import EntityRepository
from concord_server.ports.event_search import EventAgenda, EventSearchRepository
from concord_server.ports.events import EventRepository, LeaseRepository, RunQueue, RunRepository
from concord_server.ports.ledger import (
    ConflictRepository,
    DecisionRepository,
    FactRepository,
    PartitionRepository,
    ReadSession,
    RequestRepository,
    SlotRepository,
    WriteSession,
)
from concord_server.ports.lineage import HistoryRepository, LineageRepository
from concord_server.ports.model_spend import ModelSpendRepository
from concord_server.ports.observations import ObservationRepository, ObserveRepository
from concord_server.ports.predicates import PredicateRepository
from concord_server.ports.project_settings import SettingsRepository
from concord_server.ports.projects import ProjectRepository
from concord_server.ports.search import SearchRepository
from concord_server.ports.sources import SourceRepository
from concord_server.ports.upkeep import UpkeepAgenda
from concord_server.ports.watch import ChangeLogRepository
from concord_server.storage.agenda import PostgresAgenda, PostgresWork
from concord_server.storage.briefing import PostgresBriefings
from concord_server.storage.change_feed import PostgresChangeLog
from concord_server.storage.changes import APPEND
from concord_server.storage.conflicts import PostgresConflicts
from concord_server.storage.decisions import PostgresDecisions
from concord_server.storage.detaching import detach
from concord_server.storage.entities import PostgresEntities
from concord_server.storage.errors import translated_errors
from concord_server.storage.event_search import PostgresEventSearch
from concord_server.storage.events import PostgresEvents
from concord_server.storage.facts import PostgresFacts
from concord_server.storage.history import PostgresHistory
from concord_server.storage.leases import PostgresLeases
from concord_server.storage.lineage import PostgresLineage
from concord_server.storage.model_spend import PostgresModelSpend
from concord_server.storage.notifications import ChangeAnnouncer
from concord_server.storage.observations import PostgresObservations
from concord_server.storage.observing import PostgresObserving
from concord_server.storage.partitions import PostgresPartitions
from concord_server.storage.predicates import PostgresPredicates
from concord_server.storage.projects import PostgresProjects
from concord_server.storage.requests import PostgresRequests
from concord_server.storage.run_queue import PostgresRunQueue
from concord_server.storage.runs import PostgresRuns
from concord_server.storage.search import PostgresSearch
from concord_server.storage.settings import PostgresSettings
from concord_server.storage.slots import PostgresSlots
from concord_server.storage.sources import PostgresSources
from concord_server.storage.statements import SessionContext, Statements
from concord_server.storage.tables import projects
from concord_server.storage.upkeep import PostgresUpkeepAgenda


class PostgresSession:
    """Implements :class:`~concord_server.ports.ledger.ReadSession` and ``WriteSession``."""

    def __init__(self, context: SessionContext) -> None:
        self.partitions: PartitionRepository = PostgresPartitions(context)
        self.facts: FactRepository = PostgresFacts(context)
        self.slots: SlotRepository = PostgresSlots(context)
        self.predicates: PredicateRepository = PostgresPredicates(context)
        self.conflicts: ConflictRepository = PostgresConflicts(context)
        self.decisions: DecisionRepository = PostgresDecisions(context)
        self.requests: RequestRepository = PostgresRequests(context)
        self.lineage: LineageRepository = PostgresLineage(context)
        self.history: HistoryRepository = PostgresHistory(context)
        self.sources: SourceRepository = PostgresSources(context)
        self.work: WorkRepository = PostgresWork(context)
        self.change_log: ChangeLogRepository = PostgresChangeLog(context)
        self.search: SearchRepository = PostgresSearch(context)
        self.briefings: BriefingRepository = PostgresBriefings(context)
        self.entities: EntityRepository = PostgresEntities(context)
        self.events: EventRepository = PostgresEvents(context)
        self.event_search: EventSearchRepository = PostgresEventSearch(context)
        self.runs: RunRepository = PostgresRuns(context)
        self.leases: LeaseRepository = PostgresLeases(context)
        self.model_spend: ModelSpendRepository = PostgresModelSpend(context)
        self.settings: SettingsRepository = PostgresSettings(context)
        self.projects: ProjectRepository = PostgresProjects(context)
        self.observations: ObservationRepository = PostgresObservations(context)
        self.observing: ObserveRepository = PostgresObserving(context)


class PostgresLedger:
    """Implements :class:`~concord_server.ports.ledger.Ledger`."""

    def __init__(self, engine: AsyncEngine) -> None:
        """Takes an engine of :func:`~concord_server.storage.engine.create_engine`."""
        self._engine = engine
        self._reading = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._known_projects: set[str] = set()
        self._announcer = ChangeAnnouncer(self._reading)

    async def close(self) -> None:
        """Closes every connection; sessions must have ended."""
        await self._announcer.close()
        await self._engine.dispose()

    @property
    def agenda(self) -> Agenda:
        """Finds background work across projects, over the same connections."""
        return PostgresAgenda(self._engine)

    @property
    def event_agenda(self) -> EventAgenda:
        """Finds events that cannot be found yet across projects, over the same connections."""
        return PostgresAgenda(self._engine)

    @property
    def upkeep_agenda(self) -> UpkeepAgenda:
        """Finds what is kept for too long across projects, over the same connections."""
        return PostgresUpkeepAgenda(self._reading)

    @property
    def run_queue(self) -> RunQueue:
        """Finds open runs across projects, over the same connections."""
        return PostgresRunQueue(self._reading)

    async def ping(self) -> bool:
        """Tells whether the database answers."""
        try:
            with translated_errors():
                async with self._reading.connect() as connection:
                    await connection.execute(select(1))
        except UnavailableError:
            return False
        return True

    @asynccontextmanager
    async def read(self, project: str) -> AsyncIterator[ReadSession]:
        """Opens a session that reads; each statement sees what is committed when it starts.

        Raises:
            UnavailableError: the database cannot be reached.
        """
        async with _connected(self._reading) as connection:
            yield PostgresSession(SessionContext(project, Statements(connection)))

    @asynccontextmanager
    async def write(self, project: str) -> AsyncIterator[WriteSession]:
        """Opens a transaction; it commits when the block ends without an error, and is rolled back otherwise.

        Raises:
            UnavailableError: the database cannot be reached. When the connection is lost during the commit, it
                is unknown whether the transaction took place.
            ConcurrentUpdateError: the transaction lost to another; nothing was written.
        """
        await self._ensure_project(project)
        async with _connected(self._engine) as connection:
            context = SessionContext(project, Statements(connection))
            yield PostgresSession(context)
            context.statements.raise_failure()
            await detach(context, context.changes.facts)
            if context.changes.entries:
                await context.statements.execute(APPEND, context.changes.parameters(project))
            await context.statements.commit()
            if context.changes.entries or context.changes.announce:
                self._announcer.changed(project)

    async def _ensure_project(self, project: str) -> None:
        """Makes the project's row at its first use, in a transaction of its own.

        Within the caller's transaction, every other first use would wait until that one ends.
        """
        if project in self._known_projects:
            return
        row = insert(projects).values(project_id=project, change_sequence=0, create_time=func.now())
        async with _connected(self._reading) as connection:
            await Statements(connection).execute(row.on_conflict_do_nothing())
        self._known_projects.add(project)


@asynccontextmanager
async def _connected(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """Opens a connection for the block, whose own errors it does not touch; what is not committed is undone."""
    async with AsyncExitStack() as stack:
        with translated_errors():
            connection = await stack.enter_async_context(engine.connect())
        yield connection
