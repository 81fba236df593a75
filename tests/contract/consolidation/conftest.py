"""ConsolidateService as its callers see it: a real server on a real port, over the real database and embedder.

Nothing works runs or makes events findable until a test says so.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import grpc
import pytest
from concord.v1 import consolidate_service_pb2 as pb
from concord.v1 import consolidation_pb2, enums_pb2, resources_pb2
from concord.v1.consolidate_service_pb2_grpc import ConsolidateServiceStub
from concord_server.api.server import GrpcServer
from concord_server.bootstrap.consolidation import start_workers
from concord_server.bootstrap.wiring import listen_for_changes, load_judge, use_cases
from concord_server.config import Settings
from concord_server.providers.embedders.onnx import OnnxEmbedder
from concord_server.services.index_events import IndexEvents
from concord_server.services.judging.project_judge import ProjectJudge
from concord_server.services.settings_cache import CachedSettings
from concord_server.services.signals import ChangeSignals
from concord_server.storage.sessions import PostgresLedger
from concord_server.worker.worker import Doorbell
from google.protobuf.timestamp_pb2 import Timestamp
from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.integration.conftest import database, database_url, engine, ledger
from tests.support.event_search import OneProject

__all__ = ["database", "database_url", "engine", "ledger"]

USER = resources_pb2.EntityRef(entity_type="User", entity_id="ada")
OTHER = resources_pb2.EntityRef(entity_type="User", entity_id="bea")
SUPERSEDE = enums_pb2.CANDIDATE_ACTION_SUPERSEDE


def at(day: int) -> Timestamp:
    """Noon of a day of 2026."""
    stamp = Timestamp()
    stamp.FromDatetime(datetime(2026, 1, day, 12, tzinfo=UTC))
    return stamp


def note(text: str, **fields: Any) -> consolidation_pb2.EventInput:
    """An event that says something."""
    return consolidation_pb2.EventInput(**{"subject": USER, "text": text, **fields})


def moved(city: str, day: int, **fields: Any) -> consolidation_pb2.EventInput:
    """An event that says where its subject lives from a day on."""
    claim = resources_pb2.Claim(subject="ada", predicate="city")
    claim.value.string_value = city
    candidate = consolidation_pb2.EventCandidate(claim=claim, action=SUPERSEDE)
    return note(f"I moved to {city}", occur_time=at(day), candidates=[candidate], **fields)


class Caller:
    """Calls the service in one project."""

    def __init__(self, channel: grpc.aio.Channel, project: str) -> None:
        self._stub: Any = ConsolidateServiceStub(channel)
        self.project = project
        self._metadata = (("x-concord-project", project),)

    def __getattr__(self, method: str) -> Any:
        return lambda request: getattr(self._stub, method)(request, metadata=self._metadata)

    async def append(self, *events: consolidation_pb2.EventInput, request_id: str = "") -> list[str]:
        """Appends events and returns their ids."""
        request = pb.AppendEventsRequest(events=events, request_id=request_id)
        return [result.event_id for result in (await self.AppendEvents(request)).results]

    async def start(self, **fields: Any) -> str:
        """Starts a run and returns its id."""
        return str((await self.StartRun(pb.StartRunRequest(**fields))).run.run_id)

    async def told(self, run_id: str, after: int = 0) -> list[pb.WatchRunResponse]:
        """Returns what a run tells until its summary."""
        call = self.WatchRun(pb.WatchRunRequest(run_id=run_id, after_sequence=after))
        return [message async for message in call]

    async def events(self, **fields: Any) -> list[consolidation_pb2.Event]:
        """Returns a page of events."""
        return list((await self.ListEvents(pb.ListEventsRequest(**fields))).events)


@dataclass(frozen=True)
class Service:
    """A running server, and what goes on behind it when a test wants it to."""

    channel: grpc.aio.Channel
    ledger: PostgresLedger
    engine: AsyncEngine
    embedder: OnnxEmbedder
    judge: ProjectJudge
    bell: Doorbell

    def caller(self, project: str = "") -> Caller:
        """Calls in a project, by default in a new one."""
        return Caller(self.channel, project or f"test-{uuid4()}")

    @asynccontextmanager
    async def workers(self) -> AsyncIterator[None]:
        """Has runs executed for the length of a block."""
        settings = Settings(workers=1, grace_seconds=5)
        at_work = start_workers(
            settings, self.ledger, self.embedder, self.judge, self.bell, CachedSettings(self.ledger)
        )
        try:
            yield
        finally:
            await at_work.close()

    async def index(self, *callers: Caller) -> None:
        """Makes what was appended in these callers' projects findable."""
        for caller in callers:
            await IndexEvents(self.ledger, OneProject(caller.project, self.ledger), self.embedder).execute()

    async def mark(self, event_id: str, state: str) -> None:
        """Lets an event be FAILED or DEAD."""
        retry = "now() + interval '1 hour'" if state == "FAILED" else "NULL"
        failed = (
            f"UPDATE events SET state = '{state}', retry_time = {retry}, attempts = 5, error_reason = 'INTERNAL',"
            " error_message = 'a test' WHERE event_id = :event"
        )
        async with self.engine.begin() as connection:
            await connection.execute(sql(failed), {"event": event_id})


@pytest.fixture(scope="session")
async def service(ledger: PostgresLedger, engine: AsyncEngine, database_url: str) -> AsyncIterator[Service]:
    embedder, bell, signals = OnnxEmbedder.load(), Doorbell(), ChangeSignals()
    listener = listen_for_changes(database_url, signals)
    settings = CachedSettings(ledger)
    judge = ProjectJudge(load_judge(), None, settings)
    server = GrpcServer(use_cases(ledger, embedder, judge, signals, bell, settings))
    address = await server.start("127.0.0.1:0")
    server.set_ready(True)
    async with grpc.aio.insecure_channel(address) as channel:
        yield Service(channel, ledger, engine, embedder, judge, bell)
    await server.stop(0)
    await listener.close()
    await embedder.close()


@pytest.fixture
def caller(service: Service) -> Caller:
    return service.caller()
