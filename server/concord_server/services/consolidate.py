"""Consolidate: turns one event into facts, or plans what would become of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from concord_server.domain.commands import ReconcileCommand
from concord_server.domain.consolidation import MAX_ATTEMPTS, setback
from concord_server.domain.enums import Trust
from concord_server.domain.errors import ConcurrentUpdateError, LeaseLostError, OverloadedError, UnavailableError
from concord_server.domain.events import Event, Failure
from concord_server.domain.runs import Interruption
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.embedder import Embedder
from concord_server.ports.events import Extraction, ExtractionError, Extractor, Lease
from concord_server.ports.language_model import ModelError, Usage
from concord_server.ports.ledger import Ledger, WriteSession
from concord_server.ports.project_settings import DefaultSettings, SettingsOfProjects
from concord_server.services.apply_event import (
    Applied,
    EventApplier,
    OvertakenError,
    PreparedEvent,
    UnplaceableError,
    prepare,
)
from concord_server.services.context import CallContext
from concord_server.services.embedding import embed_all
from concord_server.services.interruptions import interruption_of
from concord_server.services.propose_predicates import PredicateProposer

MAX_PLANS = 50
"""How often an event is planned anew when others keep changing what it meets; each loss is another's progress."""

ACTOR = "consolidation"
"""Who is recorded with what runs change."""

FAILURES = (UnavailableError, OverloadedError, ConcurrentUpdateError, ExtractionError)
"""What fails an attempt: it may be different next time."""


class _DryRun(Exception):  # noqa: N818 - it carries a plan out of a transaction that must not commit
    def __init__(self, planned: list[list[Applied]]) -> None:
        super().__init__()
        self.planned = planned


@dataclass(frozen=True, slots=True)
class Planned:
    """What would become of one event: of its candidates, or why none could be taken from it.

    Attributes:
        usage: what the model's answer about it cost.
    """

    event: Event
    applied: tuple[Applied, ...] = ()
    usage: Usage = field(default_factory=Usage)
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Planning:
    """What would become of events, in their order; those that an interruption left out are missing."""

    planned: tuple[Planned, ...]
    interruption: Interruption | None = None


class ConsolidateEvent:
    """The unit of every run: one event, all of its candidates, in one transaction."""

    def __init__(
        self,
        ledger: Ledger,
        embedder: Embedder,
        clock: Clock,
        ids: Ids,
        extractor: Extractor | None = None,
        settings: SettingsOfProjects | None = None,
        proposer: PredicateProposer | None = None,
    ) -> None:
        """Builds the use case.

        Args:
            extractor: takes candidates from events that have none; without it such events wait.
            settings: of projects; the defaults where they are not given.
            proposer: finds which predicate a claim by a new name means; without it names mean themselves.
        """
        self._ledger = ledger
        self._embedder = embedder
        self._clock = clock
        self._extractor = extractor
        self._settings = settings or DefaultSettings()
        self._proposer = proposer
        self._applier = EventApplier(ids)

    @property
    def has_model(self) -> bool:
        """Whether events without candidates can be worked."""
        return self._extractor is not None

    async def execute(self, project: str, lease: Lease, event: Event) -> None:
        """Works an event that was taken up under a lease.

        Its facts, conflicts, changes and state are committed together. Where something fails that may be different
        next time, the attempt is recorded as failed. Where the model asks to wait, refuses, or may not be asked any
        more, the run ends and the event waits as before.

        Raises:
            LeaseLostError: somebody else has the event now; nothing was written.
            UnavailableError: not even the failure could be recorded; the event is taken up again when the lease is
                over.
        """
        if event.attempts > MAX_ATTEMPTS:
            gone = Failure("UNAVAILABLE", "its worker ended each time that it was taken up")
            await self.record_failure(project, lease, event, gone)
            return
        try:
            await self._work(project, lease, event)
        except LeaseLostError:
            raise
        except ModelError as error:
            interruption = interruption_of(error, self._clock.now())
            if interruption is None:
                await self.record_failure(project, lease, event, _failure(error))
            else:
                await self._interrupt(project, lease, event, interruption)
        except FAILURES as error:
            await self.record_failure(project, lease, event, _failure(error))

    async def _interrupt(self, project: str, lease: Lease, event: Event, why: Interruption) -> None:
        """Ends the run, and lets the event wait as if it had not been taken up.

        Raises:
            LeaseLostError: somebody else has the event now.
        """
        now = self._clock.now()
        async with self._ledger.write(project) as session:
            await session.leases.hold(lease, event)
            await session.leases.put_back(lease, event, now)
            await session.runs.interrupt(lease.run_id, why, now)

    async def record_failure(self, project: str, lease: Lease, event: Event, failure: Failure) -> None:
        """Records that an attempt failed.

        Raises:
            LeaseLostError: somebody else has the event now.
        """
        now = self._clock.now()
        async with self._ledger.write(project) as session:
            await session.leases.hold(lease, event)
            await session.leases.fail(lease, event, setback(event.attempts, now), failure, now)

    async def plan(self, project: str, events: Sequence[Event]) -> Planning:
        """Returns what would become of events of one subject, each seeing what those before it would write.

        An answer about one event does not see what those before it would write: nothing is written.
        """
        planned: list[Planned] = []
        prepared: list[PreparedEvent] = []
        interruption = None
        for event in events:
            try:
                prepared.append(await self._extracted(project, None, event))
            except ModelError as error:
                interruption = interruption_of(error, self._clock.now())
                if interruption is not None:
                    break
                planned.append(Planned(event, failure=_failure(error)))
            except ExtractionError as error:
                planned.append(Planned(event, failure=_failure(error)))
        outcomes = await self._planned(project, await self._embedded(project, prepared))
        planned += [
            Planned(one.event, tuple(applied), one.usage) for one, applied in zip(prepared, outcomes, strict=True)
        ]
        order = {event.event_id: position for position, event in enumerate(events)}
        planned.sort(key=lambda one: order[one.event.event_id])
        return Planning(tuple(planned), interruption)

    async def _planned(self, project: str, prepared: Sequence[PreparedEvent]) -> list[list[Applied]]:
        context = CallContext(project, ACTOR, Trust.TRUSTED)
        refused: list[dict[int, str]] = [{} for _ in prepared]
        for _ in range(MAX_PLANS):
            position = 0
            try:
                async with self._ledger.write(project) as session:
                    planned = []
                    now = self._clock.now()
                    for position, one in enumerate(prepared):
                        applied = await self._applier.apply(
                            session, context, one, frozenset(), refused[position], now
                        )
                        planned.append(applied)
                    raise _DryRun(planned)
            except _DryRun as dry:
                return dry.planned
            except UnplaceableError as error:
                refused[position][error.position] = error.reason
            except OvertakenError:
                prepared = await self._proposed(project, prepared)
            except ConcurrentUpdateError:
                continue
        raise ConcurrentUpdateError("others kept changing what these events meet")

    async def _work(self, project: str, lease: Lease, event: Event) -> None:
        [prepared] = await self._embedded(project, [await self._extracted(project, lease.run_id, event)])
        refused: dict[int, str] = {}
        for _ in range(MAX_PLANS):
            try:
                async with self._ledger.write(project) as session:
                    await self._apply(session, project, lease, prepared, refused)
            except UnplaceableError as error:
                refused[error.position] = error.reason
            except OvertakenError:
                [prepared] = await self._proposed(project, [prepared])
            except LeaseLostError:
                raise
            except ConcurrentUpdateError:
                continue
            else:
                await self._record_suggestions(project, prepared)
                return
        raise ConcurrentUpdateError("others kept changing what the event meets")

    async def _apply(
        self, session: WriteSession, project: str, lease: Lease, prepared: PreparedEvent, refused: dict[int, str]
    ) -> None:
        now: datetime = self._clock.now()
        context = CallContext(
            project, ACTOR, Trust.TRUSTED
        )  # the event's own trust was capped when it was appended
        done = await session.leases.hold(lease, prepared.event)
        applied = await self._applier.apply(session, context, prepared, done, refused, now)
        settled = [one.settled for one in applied]
        await session.leases.settle(lease, prepared.event, settled, now, partial=prepared.partial)

    async def _extracted(self, project: str, run_id: UUID | None, event: Event) -> PreparedEvent:
        """Returns an event with its candidates, not embedded yet; no transaction is open.

        Raises:
            ExtractionError: the model's answer cannot be used.
            ModelError: the model gave none.
        """
        settings = await self._settings.of(project)
        if event.candidates or self._extractor is None:
            extraction = Extraction(event.candidates)
        else:
            extraction = await self._extractor.extract(project, run_id, event)
        return prepare(event, extraction, settings.candidate_policy)

    async def _embedded(self, project: str, prepared: Sequence[PreparedEvent]) -> list[PreparedEvent]:
        """Returns events whose candidates are embedded and proposed for together; no transaction is open.

        Raises:
            OverloadedError: too many texts wait to be embedded.
        """
        texts = list(dict.fromkeys(text for one in prepared for text in one.texts))
        vectors = await embed_all(self._embedder, texts) if texts else []
        by_text = dict(zip(texts, vectors or [], strict=False))
        embedded = [
            replace(
                one,
                candidates=tuple(
                    replace(c, vector=by_text.get(c.admitted.text))
                    if isinstance(c.admitted, ReconcileCommand)
                    else c
                    for c in one.candidates
                ),
            )
            for one in prepared
        ]
        return await self._proposed(project, embedded)

    async def _proposed(self, project: str, prepared: Sequence[PreparedEvent]) -> list[PreparedEvent]:
        """Returns events with what the predicates of their candidates may mean, each seeing those before it."""
        if self._proposer is None:
            return list(prepared)
        proposals = iter(await self._proposer.propose(project, [c for one in prepared for c in one.commands]))
        return [
            replace(
                one,
                candidates=tuple(
                    replace(c, proposal=next(proposals)) if isinstance(c.admitted, ReconcileCommand) else c
                    for c in one.candidates
                ),
            )
            for one in prepared
        ]

    async def _record_suggestions(self, project: str, prepared: PreparedEvent) -> None:
        if self._proposer is not None:
            await self._proposer.record(project, [candidate.proposal for candidate in prepared.candidates])


def _failure(error: Exception) -> Failure:
    return Failure(getattr(error, "reason", UnavailableError.reason), str(error))
