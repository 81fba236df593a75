"""The two clients. Their methods are the same, made of the same builders of calls; only the waiting differs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from types import TracebackType
from typing import Self

import grpc
import grpc.aio

from concord import _aio, _sync
from concord import _briefing_calls as briefing
from concord import _consolidate_calls as consolidating
from concord import _entity_calls as entities
from concord import _evolution_calls as evolution
from concord import _observation_calls as observations
from concord import _predicate_calls as predicates
from concord import _project_calls as projects
from concord import _reconcile_calls as reconciling
from concord._bulk import DEFAULT_WINDOW, AnyStatements, Bulk, OnProgress, Statements
from concord._channel import DEFAULT_TARGET
from concord._consolidate_calls import ended
from concord._retry import RetryPolicy
from concord._session import DEFAULT_TIMEOUT, Session
from concord._watch import DEFAULT_MAX_OUTAGE, watch_facts
from concord.enums import RunStage
from concord.events import AppendedEvent, EventInput, Run, RunMessage, RunScope
from concord.inputs import Tls
from concord.results import ReconcileOutcome

DEFAULT_RETRY = RetryPolicy()
"""How clients repeat calls unless told otherwise."""


class Client(_sync.Base):
    """A synchronous client. Threads may share one.

        with Client("localhost:50051", project="acme") as client:
            result = client.reconcile("Alice lives in Paris")

    Every call has a deadline, by default 30 s with all its attempts (a batch: 0.1 s more an item). Writes carry
    a request id, so that a retry never does them twice. Methods raise :class:`concord.ConcordError` or a
    subclass when the call fails, and ``ValueError`` or ``TypeError`` for arguments that cannot be sent at all.

    Args:
        target: host and port of the service.
        project: the project, where the server has authentication off; empty for its default one.
        api_key: the credential. It decides the project where the server has authentication on. Send it over TLS
            only.
        tls: True to secure the connection with the authorities that come with gRPC, or the settings to use.
        timeout: seconds that a unary call may take.
        retry: how calls are repeated.
        channel: a channel to use instead of opening one to ``target``; the caller closes it.
    """

    def __init__(
        self,
        target: str = DEFAULT_TARGET,
        *,
        project: str = "",
        api_key: str = "",
        tls: Tls | bool = False,
        timeout: float = DEFAULT_TIMEOUT,
        retry: RetryPolicy = DEFAULT_RETRY,
        channel: grpc.Channel | None = None,
    ) -> None:
        session = Session.of(project, api_key, timeout, retry)
        self._owns_channel = channel is None
        self._channel = _sync.open_channel(target, tls) if channel is None else channel
        self._executor = _sync.Executor(self._channel, session)

    def close(self) -> None:
        """Closes the channel and ends calls that are still at work."""
        if self._owns_channel:
            self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def watch_run(
        self, run_id: str, *, after_sequence: int = 0, max_outage: float | None = DEFAULT_MAX_OUTAGE
    ) -> Iterator[RunMessage]:
        """Yields what a run tells, after a sequence, until its summary: none missed, none twice.

        A broken connection is made again and the watch goes on where it was. Ending it does not end the run.

        Raises:
            NotFoundError: no such run.
            UnavailableError: the service could not be reached for ``max_outage`` seconds.
        """
        return self._executor.follow_run(run_id, after_sequence, max_outage)

    def consolidate(
        self, scope: RunScope | None = None, *, max_outage: float | None = DEFAULT_MAX_OUTAGE
    ) -> Iterator[RunMessage]:
        """Starts a run and yields what it tells: first the run, last its summary.

        The run goes on when the caller stops: watch it again with ``watch_run``.

        Args:
            scope: what to work on; None for all that waits.
            max_outage: seconds for which to try to reach the service again; None for ever.
        """
        run = self.start_run(scope)
        yield from self._executor.follow_run(run.run_id, 0, max_outage)

    def append_and_wait(
        self, events: Sequence[EventInput], *, max_outage: float | None = DEFAULT_MAX_OUTAGE
    ) -> tuple[tuple[AppendedEvent, ...], Run]:
        """Appends events, runs until all that waits is worked, and returns what became of both."""
        appended = self.append_events(events)
        messages = list(self.consolidate(RunScope(stages=(RunStage.EXTRACT,)), max_outage=max_outage))
        return appended, ended(messages)

    def reconcile_many(
        self,
        statements: Statements,
        *,
        on_progress: OnProgress | None = None,
        window: int = DEFAULT_WINDOW,
        timeout: float | None = None,
    ) -> Iterator[ReconcileOutcome]:
        """Reconciles any number of statements over a stream, and yields what became of each, in order.

        Reads ``statements`` as room is made, at most ``window`` ahead of the answers, so a generator over a
        large file is never held in memory. A broken stream is opened again and goes on where it stopped, doing
        nothing twice.

        Args:
            statements: what to reconcile.
            on_progress: told after each answer, in the caller's thread.
            window: items in flight at most.
            timeout: seconds for the whole stream; None for any number.

        Yields:
            One outcome per statement; a bad one carries its error and harms no other.

        Raises:
            ConcordError: the stream broke and retries did not help.
        """
        return self._executor.stream(Bulk(statements, window, on_progress), statements, timeout)

    reconcile = _sync.unary(reconciling.reconcile)
    batch_reconcile = _sync.unary(reconciling.batch_reconcile)
    withdraw_source = _sync.unary(reconciling.withdraw_source)
    list_conflicts = _sync.items(reconciling.list_conflicts)
    list_conflicts_page = _sync.unary(reconciling.list_conflicts)
    get_conflict = _sync.unary(reconciling.get_conflict)
    resolve_conflict = _sync.unary(reconciling.resolve_conflict)
    get_decision = _sync.unary(reconciling.get_decision)

    append_events = _sync.unary(consolidating.append_events)
    start_run = _sync.unary(consolidating.start_run)
    get_run = _sync.unary(consolidating.get_run)
    list_runs = _sync.items(consolidating.list_runs)
    list_runs_page = _sync.unary(consolidating.list_runs)
    cancel_run = _sync.unary(consolidating.cancel_run)
    get_event = _sync.unary(consolidating.get_event)
    list_events = _sync.items(consolidating.list_events)
    list_events_page = _sync.unary(consolidating.list_events)
    search_events = _sync.unary(consolidating.search_events)
    retry_events = _sync.unary(consolidating.retry_events)

    list_observations = _sync.items(observations.list_observations)
    list_observations_page = _sync.unary(observations.list_observations)
    get_observation = _sync.unary(observations.get_observation)
    list_observation_versions = _sync.items(observations.list_observation_versions)
    list_observation_versions_page = _sync.unary(observations.list_observation_versions)
    search_observations = _sync.unary(observations.search_observations)

    branch = _sync.unary(evolution.branch)
    get_evolution_chain = _sync.unary(evolution.get_evolution_chain)
    get_latest_in_chain = _sync.unary(evolution.get_latest_in_chain)
    get_evolution_tree = _sync.gathered(evolution.get_evolution_tree, evolution.whole_tree)
    get_evolution_tree_page = _sync.unary(evolution.get_evolution_tree)
    list_fact_versions = _sync.items(evolution.list_fact_versions)
    list_fact_versions_page = _sync.unary(evolution.list_fact_versions)
    update_fact = _sync.unary(evolution.update_fact)
    update_fact_status = _sync.unary(evolution.update_fact_status)
    watch_facts = _sync.watched(watch_facts)

    get_entity_briefing = _sync.unary(briefing.get_entity_briefing)
    get_fact = _sync.unary(briefing.get_fact)
    batch_get_facts = _sync.unary(briefing.batch_get_facts)
    list_facts = _sync.items(briefing.list_facts)
    list_facts_page = _sync.unary(briefing.list_facts)
    search_facts = _sync.unary(briefing.search_facts)
    list_noteworthy_facts = _sync.items(briefing.list_noteworthy_facts)
    list_noteworthy_facts_page = _sync.unary(briefing.list_noteworthy_facts)
    check_claim = _sync.unary(briefing.check_claim)

    list_entities = _sync.items(entities.list_entities)
    list_entities_page = _sync.unary(entities.list_entities)
    link_entity = _sync.unary(entities.link_entity)
    unlink_entity = _sync.unary(entities.unlink_entity)
    merge_entities = _sync.unary(entities.merge_entities)

    create_project = _sync.unary(projects.create_project)
    list_projects = _sync.items(projects.list_projects)
    list_projects_page = _sync.unary(projects.list_projects)
    get_project_settings = _sync.unary(projects.get_project_settings)
    update_project_settings = _sync.unary(projects.update_project_settings)

    list_predicates = _sync.items(predicates.list_predicates)
    list_predicates_page = _sync.unary(predicates.list_predicates)
    update_predicate = _sync.unary(predicates.update_predicate)


class AsyncClient(_aio.Base):
    """An asyncio client. Tasks of one event loop may share one; make it inside that loop.

        async with AsyncClient("localhost:50051", project="acme") as client:
            result = await client.reconcile("Alice lives in Paris")
            facts = [fact async for fact in client.list_facts()]

    Same methods, arguments, results and errors as :class:`Client`. Cancelling a task cancels its call.
    """

    def __init__(
        self,
        target: str = DEFAULT_TARGET,
        *,
        project: str = "",
        api_key: str = "",
        tls: Tls | bool = False,
        timeout: float = DEFAULT_TIMEOUT,
        retry: RetryPolicy = DEFAULT_RETRY,
        channel: grpc.aio.Channel | None = None,
    ) -> None:
        session = Session.of(project, api_key, timeout, retry)
        self._owns_channel = channel is None
        self._channel = _aio.open_channel(target, tls) if channel is None else channel
        self._executor = _aio.Executor(self._channel, session)

    async def close(self) -> None:
        """Closes the channel and ends calls that are still at work."""
        if self._owns_channel:
            await self._channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def watch_run(
        self, run_id: str, *, after_sequence: int = 0, max_outage: float | None = DEFAULT_MAX_OUTAGE
    ) -> AsyncIterator[RunMessage]:
        """Yields what a run tells, after a sequence, until its summary: none missed, none twice.

        A broken connection is made again and the watch goes on where it was. Ending it does not end the run.

        Raises:
            NotFoundError: no such run.
            UnavailableError: the service could not be reached for ``max_outage`` seconds.
        """
        return self._executor.follow_run(run_id, after_sequence, max_outage)

    async def consolidate(
        self, scope: RunScope | None = None, *, max_outage: float | None = DEFAULT_MAX_OUTAGE
    ) -> AsyncIterator[RunMessage]:
        """Starts a run and yields what it tells: first the run, last its summary.

        The run goes on when the caller stops: watch it again with ``watch_run``.

        Args:
            scope: what to work on; None for all that waits.
            max_outage: seconds for which to try to reach the service again; None for ever.
        """
        run = await self.start_run(scope)
        async for message in self._executor.follow_run(run.run_id, 0, max_outage):
            yield message

    async def append_and_wait(
        self, events: Sequence[EventInput], *, max_outage: float | None = DEFAULT_MAX_OUTAGE
    ) -> tuple[tuple[AppendedEvent, ...], Run]:
        """Appends events, runs until all that waits is worked, and returns what became of both."""
        appended = await self.append_events(events)
        scope = RunScope(stages=(RunStage.EXTRACT,))
        messages = [message async for message in self.consolidate(scope, max_outage=max_outage)]
        return appended, ended(messages)

    def reconcile_many(
        self,
        statements: AnyStatements,
        *,
        on_progress: OnProgress | None = None,
        window: int = DEFAULT_WINDOW,
        timeout: float | None = None,
    ) -> AsyncIterator[ReconcileOutcome]:
        """Reconciles any number of statements over a stream, and yields what became of each, in order.

        As :meth:`Client.reconcile_many`; ``statements`` may also be an asynchronous iterable.
        """
        return self._executor.stream(Bulk(statements, window, on_progress), statements, timeout)

    reconcile = _aio.unary(reconciling.reconcile)
    batch_reconcile = _aio.unary(reconciling.batch_reconcile)
    withdraw_source = _aio.unary(reconciling.withdraw_source)
    list_conflicts = _aio.items(reconciling.list_conflicts)
    list_conflicts_page = _aio.unary(reconciling.list_conflicts)
    get_conflict = _aio.unary(reconciling.get_conflict)
    resolve_conflict = _aio.unary(reconciling.resolve_conflict)
    get_decision = _aio.unary(reconciling.get_decision)

    append_events = _aio.unary(consolidating.append_events)
    start_run = _aio.unary(consolidating.start_run)
    get_run = _aio.unary(consolidating.get_run)
    list_runs = _aio.items(consolidating.list_runs)
    list_runs_page = _aio.unary(consolidating.list_runs)
    cancel_run = _aio.unary(consolidating.cancel_run)
    get_event = _aio.unary(consolidating.get_event)
    list_events = _aio.items(consolidating.list_events)
    list_events_page = _aio.unary(consolidating.list_events)
    search_events = _aio.unary(consolidating.search_events)
    retry_events = _aio.unary(consolidating.retry_events)

    list_observations = _aio.items(observations.list_observations)
    list_observations_page = _aio.unary(observations.list_observations)
    get_observation = _aio.unary(observations.get_observation)
    list_observation_versions = _aio.items(observations.list_observation_versions)
    list_observation_versions_page = _aio.unary(observations.list_observation_versions)
    search_observations = _aio.unary(observations.search_observations)

    branch = _aio.unary(evolution.branch)
    get_evolution_chain = _aio.unary(evolution.get_evolution_chain)
    get_latest_in_chain = _aio.unary(evolution.get_latest_in_chain)
    get_evolution_tree = _aio.gathered(evolution.get_evolution_tree, evolution.whole_tree)
    get_evolution_tree_page = _aio.unary(evolution.get_evolution_tree)
    list_fact_versions = _aio.items(evolution.list_fact_versions)
    list_fact_versions_page = _aio.unary(evolution.list_fact_versions)
    update_fact = _aio.unary(evolution.update_fact)
    update_fact_status = _aio.unary(evolution.update_fact_status)
    watch_facts = _aio.watched(watch_facts)

    get_entity_briefing = _aio.unary(briefing.get_entity_briefing)
    get_fact = _aio.unary(briefing.get_fact)
    batch_get_facts = _aio.unary(briefing.batch_get_facts)
    list_facts = _aio.items(briefing.list_facts)
    list_facts_page = _aio.unary(briefing.list_facts)
    search_facts = _aio.unary(briefing.search_facts)
    list_noteworthy_facts = _aio.items(briefing.list_noteworthy_facts)
    list_noteworthy_facts_page = _aio.unary(briefing.list_noteworthy_facts)
    check_claim = _aio.unary(briefing.check_claim)

    list_entities = _aio.items(entities.list_entities)
    list_entities_page = _aio.unary(entities.list_entities)
    link_entity = _aio.unary(entities.link_entity)
    unlink_entity = _aio.unary(entities.unlink_entity)
    merge_entities = _aio.unary(entities.merge_entities)

    create_project = _aio.unary(projects.create_project)
    list_projects = _aio.items(projects.list_projects)
    list_projects_page = _aio.unary(projects.list_projects)
    get_project_settings = _aio.unary(projects.get_project_settings)
    update_project_settings = _aio.unary(projects.update_project_settings)

    list_predicates = _aio.items(predicates.list_predicates)
    list_predicates_page = _aio.unary(predicates.list_predicates)
    update_predicate = _aio.unary(predicates.update_predicate)
