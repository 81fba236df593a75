"""Use cases that answer as a test says, and a server in front of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

import grpc
from concord.v1.admin_service_pb2_grpc import AdminServiceStub
from concord.v1.briefing_service_pb2_grpc import BriefingServiceStub
from concord.v1.consolidate_service_pb2_grpc import ConsolidateServiceStub
from concord.v1.evolution_service_pb2_grpc import EvolutionServiceStub
from concord.v1.reconcile_service_pb2_grpc import ReconcileServiceStub
from concord_server.api.admin_usecases import AdminUseCases
from concord_server.api.briefing_usecases import BriefingUseCases
from concord_server.api.consolidate_usecases import ConsolidateUseCases
from concord_server.api.evolution_usecases import EvolutionUseCases
from concord_server.api.usecases import UseCases
from concord_server.domain.enums import Cardinality
from concord_server.domain.errors import ConcordError
from concord_server.domain.lineage import FamilyPage
from concord_server.domain.observations import FoundObservation
from concord_server.domain.predicates import Predicate, PredicateSuggestion
from concord_server.domain.project_settings import ProjectSettings
from concord_server.domain.projects import Project
from concord_server.domain.queries import ConflictSummary, Page
from concord_server.services.batch import BatchItem
from concord_server.services.batch_get_facts import FoundFacts
from concord_server.services.branch import Branched
from concord_server.services.context import CallContext
from concord_server.services.events import Requeued
from concord_server.services.merge_entities import MergeReceipt
from concord_server.services.results import FactDetails
from concord_server.services.withdraw_source import Withdrawal
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from tests.contract.briefing_values import BRIEFING, CHECK, ENTITY, FOUND, RANKED
from tests.contract.event_values import APPENDED, EVENT, MATCH, MESSAGES, RUN
from tests.contract.ledger_values import CONFLICT, DECISION, FACT, NOW, RESULT, VERSION
from tests.contract.observation_values import OBSERVATION, OBSERVATION_VERSION
from tests.support.watching import FakeTiming, MemoryLog

Answer = Callable[..., Awaitable[Any]]

PROJECT = Project("acme", "Acme Ltd.", NOW)
PREDICATE = Predicate(
    "favorite_color",
    Cardinality.SINGLE,
    ("preferred_color",),
    (PredicateSuggestion("car_color", 0.75, 3, NOW),),
    7,
    NOW,
    NOW,
)


class FixedClock:
    """A clock that stands."""

    def now(self) -> datetime:
        """Returns always the same time."""
        return NOW


class Scripted:
    """A use case that answers with what it was given, raises it if it is an error, or awaits it if callable.

    Attributes:
        calls: the arguments of every call.
    """

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.calls: list[tuple[Any, ...]] = []

    async def execute(self, *arguments: Any, **named: Any) -> Any:
        """Answers."""
        self.calls.append((*arguments, *named.values()))
        if isinstance(self.answer, BaseException):
            raise self.answer
        if callable(self.answer):
            return await self.answer(*arguments, **named)
        return self.answer


class Waiting:
    """An answer that never comes; knows that it was waited for and that the wait was cancelled."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.release = asyncio.Event()

    async def __call__(self, *_arguments: Any) -> Any:
        """Waits until released."""
        self.started.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return RESULT


class ScriptedBatch:
    """A batch that answers every item by a function of its own; errors pass through in place.

    Attributes:
        windows: how many items each call had.
    """

    def __init__(self, outcome: Answer | None = None) -> None:
        self.outcome = outcome
        self.windows: list[int] = []
        self.contexts: list[CallContext] = []

    async def execute(self, context: CallContext, items: Sequence[BatchItem], /) -> AsyncIterator[Any]:
        """Answers in order."""
        self.windows.append(len(items))
        self.contexts.append(context)
        for item in items:
            if isinstance(item, ConcordError):
                yield item
            elif self.outcome is None:
                yield RESULT
            else:
                yield await self.outcome(item)


class ScriptedLinks:
    """Links and unlinks as a test says."""

    def __init__(self) -> None:
        self.linking = Scripted(FACT)
        self.unlinking = Scripted(FACT)

    async def link(self, *arguments: Any) -> Any:
        """Answers."""
        return await self.linking.execute(*arguments)

    async def unlink(self, *arguments: Any) -> Any:
        """Answers."""
        return await self.unlinking.execute(*arguments)


@dataclass
class BriefingScript:
    """What the use cases of BriefingService answer."""

    search_observations: Scripted = field(default_factory=lambda: Scripted([FoundObservation(OBSERVATION, 0.75)]))
    search_facts: Scripted = field(default_factory=lambda: Scripted([FOUND]))
    get_entity_briefing: Scripted = field(default_factory=lambda: Scripted(BRIEFING))
    list_noteworthy_facts: Scripted = field(default_factory=lambda: Scripted(Page([RANKED], None, 1)))
    check_claim: Scripted = field(default_factory=lambda: Scripted(CHECK))
    list_entities: Scripted = field(default_factory=lambda: Scripted(Page([ENTITY], None, 1)))
    change_links: ScriptedLinks = field(default_factory=ScriptedLinks)
    merge_entities: Scripted = field(default_factory=lambda: Scripted(MergeReceipt(2, (CONFLICT,))))
    recompute_confidence: Scripted = field(default_factory=lambda: Scripted([FACT]))

    def use_cases(self) -> BriefingUseCases:
        """Returns the use cases for a server."""
        return BriefingUseCases(**{each.name: getattr(self, each.name) for each in fields(self)})


class ScriptedStart(Scripted):
    """Starting and planning runs."""

    def __init__(self) -> None:
        super().__init__(RUN)
        self.planning = Scripted(list(MESSAGES))
        self.storing = Scripted(RUN)

    async def plan(self, *arguments: Any) -> Any:
        """Answers."""
        return await self.planning.execute(*arguments)

    async def plan_stored(self, *arguments: Any) -> Any:
        """Answers."""
        return await self.storing.execute(*arguments)


class ScriptedRunWatch(Scripted):
    """A watch that tells what it was given after the sequence asked for."""

    def __init__(self) -> None:
        super().__init__(MESSAGES)

    async def execute(self, *arguments: Any, **named: Any) -> Any:
        """Answers with a stream."""
        messages = await super().execute(*arguments, **named)
        return self._told([message for message in messages if message.sequence > arguments[-1]])

    async def _told(self, messages: Sequence[Any]) -> AsyncIterator[Any]:
        for message in messages:
            yield message


@dataclass
class ConsolidateScript:
    """What the use cases of ConsolidateService answer."""

    append_events: Scripted = field(default_factory=lambda: Scripted([APPENDED]))
    start_run: ScriptedStart = field(default_factory=ScriptedStart)
    get_run: Scripted = field(default_factory=lambda: Scripted(RUN))
    list_runs: Scripted = field(default_factory=lambda: Scripted(Page([RUN], None, 1)))
    cancel_run: Scripted = field(default_factory=lambda: Scripted(RUN))
    watch_run: ScriptedRunWatch = field(default_factory=ScriptedRunWatch)
    get_event: Scripted = field(default_factory=lambda: Scripted(EVENT))
    list_events: Scripted = field(default_factory=lambda: Scripted(Page([EVENT], None, 1)))
    search_events: Scripted = field(default_factory=lambda: Scripted([MATCH]))
    retry_events: Scripted = field(default_factory=lambda: Scripted(Requeued(3, 2)))
    list_observations: Scripted = field(default_factory=lambda: Scripted(Page([OBSERVATION], None, 1)))
    get_observation: Scripted = field(default_factory=lambda: Scripted((OBSERVATION, [FACT])))
    list_observation_versions: Scripted = field(
        default_factory=lambda: Scripted(Page([OBSERVATION_VERSION], None, 1))
    )

    def use_cases(self) -> ConsolidateUseCases:
        """Returns the use cases for a server."""
        return ConsolidateUseCases(**{each.name: getattr(self, each.name) for each in fields(self)})


@dataclass
class ScriptedSettings:
    """What projects go by."""

    answer: ProjectSettings | Exception = field(default_factory=ProjectSettings)

    async def of(self, project: str) -> ProjectSettings:
        """Answers."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class AdminScript:
    """What the use cases of AdminService answer."""

    create_project: Scripted = field(default_factory=lambda: Scripted(PROJECT))
    list_projects: Scripted = field(default_factory=lambda: Scripted(Page([PROJECT], None, 1)))
    get_project_settings: Scripted = field(default_factory=lambda: Scripted(ProjectSettings()))
    update_project_settings: Scripted = field(default_factory=lambda: Scripted(ProjectSettings()))
    list_predicates: Scripted = field(default_factory=lambda: Scripted(Page([PREDICATE], None, 1)))
    update_predicate: Scripted = field(default_factory=lambda: Scripted(PREDICATE))

    def use_cases(self) -> AdminUseCases:
        """Returns the use cases for a server."""
        return AdminUseCases(**{each.name: getattr(self, each.name) for each in fields(self)})


@dataclass
class Script:
    """What every use case answers; a test changes what it is about."""

    reconcile: Scripted = field(default_factory=lambda: Scripted(RESULT))
    batch_reconcile: ScriptedBatch = field(default_factory=ScriptedBatch)
    get_decision: Scripted = field(default_factory=lambda: Scripted(DECISION))
    list_conflicts: Scripted = field(
        default_factory=lambda: Scripted((Page([CONFLICT], None, 1), ConflictSummary(0, None)))
    )
    get_conflict: Scripted = field(default_factory=lambda: Scripted(CONFLICT))
    resolve_conflict: Scripted = field(default_factory=lambda: Scripted(CONFLICT))
    get_fact: Scripted = field(default_factory=lambda: Scripted(FactDetails(FACT, (), ())))
    list_facts: Scripted = field(default_factory=lambda: Scripted(Page([FACT], None, 1)))
    update_fact_status: Scripted = field(default_factory=lambda: Scripted(FACT))
    briefing: BriefingScript = field(default_factory=BriefingScript)
    consolidate: ConsolidateScript = field(default_factory=ConsolidateScript)
    admin: AdminScript = field(default_factory=AdminScript)
    settings: ScriptedSettings = field(default_factory=ScriptedSettings)
    branch: Scripted = field(default_factory=lambda: Scripted(Branched(FACT)))
    get_evolution_chain: Scripted = field(default_factory=lambda: Scripted([FACT]))
    get_latest_in_chain: Scripted = field(default_factory=lambda: Scripted(FACT))
    get_evolution_tree: Scripted = field(default_factory=lambda: Scripted(FamilyPage([FACT], [], None, 1)))
    list_fact_versions: Scripted = field(default_factory=lambda: Scripted(Page([VERSION], None, 1)))
    update_fact: Scripted = field(default_factory=lambda: Scripted(FACT))
    withdraw_source: Scripted = field(default_factory=lambda: Scripted(Withdrawal(1, ())))
    batch_get_facts: Scripted = field(default_factory=lambda: Scripted(FoundFacts((FACT,), ())))
    log: MemoryLog = field(default_factory=MemoryLog)
    timing: FakeTiming = field(default_factory=FakeTiming)

    def use_cases(self) -> UseCases:
        """Returns the use cases for a server."""
        return UseCases(
            clock=FixedClock(),
            project_settings=self.settings,
            reconcile=self.reconcile,
            batch_reconcile=self.batch_reconcile,
            get_decision=self.get_decision,
            list_conflicts=self.list_conflicts,
            get_conflict=self.get_conflict,
            resolve_conflict=self.resolve_conflict,
            get_fact=self.get_fact,
            list_facts=self.list_facts,
            update_fact_status=self.update_fact_status,
            briefing=self.briefing.use_cases(),
            consolidate=self.consolidate.use_cases(),
            evolution=self._evolution(),
            admin=self.admin.use_cases(),
            watch_facts=self.log.watch_facts(self.timing),
        )

    def _evolution(self) -> EvolutionUseCases:
        return EvolutionUseCases(
            branch=self.branch,
            get_evolution_chain=self.get_evolution_chain,
            get_latest_in_chain=self.get_latest_in_chain,
            get_evolution_tree=self.get_evolution_tree,
            list_fact_versions=self.list_fact_versions,
            update_fact=self.update_fact,
            withdraw_source=self.withdraw_source,
            batch_get_facts=self.batch_get_facts,
        )


@dataclass
class Edge:
    """A running server's stubs, and the script behind it."""

    script: Script
    channel: grpc.aio.Channel
    address: str

    @property
    def raw(self) -> Any:
        """Calls any method with bytes."""
        return self.channel

    @property
    def reconcile(self) -> Any:
        """Calls ReconcileService."""
        return ReconcileServiceStub(self.channel)

    @property
    def briefing(self) -> Any:
        """Calls BriefingService."""
        return BriefingServiceStub(self.channel)

    @property
    def admin(self) -> Any:
        """Calls AdminService."""
        return AdminServiceStub(self.channel)

    @property
    def consolidate(self) -> Any:
        """Calls ConsolidateService."""
        return ConsolidateServiceStub(self.channel)

    @property
    def evolution(self) -> Any:
        """Calls EvolutionService."""
        return EvolutionServiceStub(self.channel)


@dataclass(frozen=True)
class Failure:
    """A failed call, with its details unpacked."""

    code: grpc.StatusCode
    message: str
    reasons: tuple[str, ...]
    domains: tuple[str, ...]
    fields: tuple[str, ...]
    retries: int


async def failure(call: Awaitable[Any]) -> Failure:
    """Returns how a call fails.

    Raises:
        AssertionError: it does not fail.
    """
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        return _unpacked(error)
    raise AssertionError(f"the call was answered: {answer}")


def _unpacked(error: grpc.aio.AioRpcError) -> Failure:
    details = dict(error.trailing_metadata() or {}).get("grpc-status-details-bin", b"")
    assert isinstance(details, bytes)
    status = status_pb2.Status.FromString(details)
    infos = unpacked(status, error_details_pb2.ErrorInfo)
    bad = unpacked(status, error_details_pb2.BadRequest)
    if details:
        assert status.code == error.code().value[0]
        assert status.message == error.details()
    return Failure(
        code=error.code(),
        message=error.details() or "",
        reasons=tuple(info.reason for info in infos),
        domains=tuple(info.domain for info in infos),
        fields=tuple(violation.field for request in bad for violation in request.field_violations),
        retries=len(unpacked(status, error_details_pb2.RetryInfo)),
    )


def unpacked(status: Any, kind: Any) -> list[Any]:
    """Returns the details of one kind in a status."""
    found = []
    for packed in status.details:
        message = kind()
        if packed.Unpack(message):
            found.append(message)
    return found
