"""Applies the candidates of one event within a transaction: placed, settled and written like statements of callers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from concord_server.domain.commands import ReconcileCommand
from concord_server.domain.consolidation import Rejection, admit, candidate_key, outcome_of, rendered
from concord_server.domain.enums import CandidateOutcome, ContradictionPolicy
from concord_server.domain.errors import AbortedError, ConcordError, UnavailableError
from concord_server.domain.events import Event, EventCandidate
from concord_server.domain.model import Fact, Partition
from concord_server.domain.predicates import Proposal
from concord_server.ports.clock import Ids
from concord_server.ports.embedder import Vector
from concord_server.ports.entities import EntityKey
from concord_server.ports.events import Extraction, Settled
from concord_server.ports.language_model import Usage
from concord_server.ports.ledger import LockedPartition, WriteSession
from concord_server.services.context import CallContext
from concord_server.services.entities import entities_of, with_entities
from concord_server.services.reconcile_plan import Planner
from concord_server.services.statement_writer import StatementWriter
from concord_server.services.timeline_writer import TimelineWriter


class UnplaceableError(Exception):
    """A candidate cannot be placed whatever its form; the session must be given up.

    Attributes:
        position: which one.
        reason: why, in lower snake case.
    """

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(f"candidate {position}: {reason}")
        self.position = position
        self.reason = reason


class OvertakenError(Exception):
    """What was proposed for a candidate's predicate does not hold any more; the event must be proposed for anew."""


@dataclass(frozen=True, slots=True)
class PreparedCandidate:
    """A candidate with what it makes: a statement with its vector and what its predicate may mean, or a refusal."""

    candidate: EventCandidate
    key: str
    admitted: ReconcileCommand | Rejection
    vector: Vector | None = None
    proposal: Proposal | None = None


@dataclass(frozen=True, slots=True)
class PreparedEvent:
    """An event made ready before its transaction.

    Attributes:
        partial: whether a model's answer about it was cut off.
        usage: what that answer cost.
    """

    event: Event
    candidates: tuple[PreparedCandidate, ...]
    partial: bool = False
    usage: Usage = field(default_factory=Usage)

    @property
    def commands(self) -> list[ReconcileCommand]:
        """The statements of the candidates that are admitted, in order."""
        return [c.admitted for c in self.candidates if isinstance(c.admitted, ReconcileCommand)]

    @property
    def texts(self) -> list[str]:
        """The wordings that are to be embedded."""
        return [command.text for command in self.commands]


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of one candidate, with the fact that carries it as it is now."""

    settled: Settled
    candidate: EventCandidate
    fact: Fact | None = None


def prepare(event: Event, extraction: Extraction, policy: ContradictionPolicy) -> PreparedEvent:
    """Returns an event with every candidate admitted or refused; nothing is embedded yet."""
    refused = [EventCandidate(text=one.text, problem=one.reason) for one in extraction.rejected]
    candidates = tuple(
        PreparedCandidate(each, candidate_key(event, each), admit(event, each, policy))
        for each in (*extraction.candidates, *refused)
    )
    return PreparedEvent(event, candidates, extraction.partial, extraction.usage)


class EventApplier:
    """Writes prepared events."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._writer = TimelineWriter(ids)

    async def apply(
        self,
        session: WriteSession,
        context: CallContext,
        prepared: PreparedEvent,
        done: frozenset[str],
        refused: Mapping[int, str],
        now: datetime,
    ) -> list[Applied]:
        """Applies the candidates in order and returns what became of each.

        Args:
            done: keys of candidates that were applied before.
            refused: candidates that turned out to be unplaceable, by position, and why.

        Raises:
            UnplaceableError: one more candidate is; nothing of the session must be committed.
            OvertakenError: likewise, and the event must be proposed for anew.
        """
        commands = [c.admitted for c in prepared.candidates if isinstance(c.admitted, ReconcileCommand)]
        named = {entity for command in commands for entity in entities_of(command)}
        merged = await session.entities.hold(named) if named else {}
        locked = await _lock(session, commands, merged, now)
        seen = set(done)
        applied = []
        for position, one in enumerate(prepared.candidates):
            if isinstance(one.admitted, Rejection):
                applied.append(_unplaced(prepared, one, CandidateOutcome.REJECTED, one.admitted.reason))
            elif position in refused:
                applied.append(_unplaced(prepared, one, CandidateOutcome.REJECTED, refused[position]))
            elif one.key in seen:
                applied.append(_unplaced(prepared, one, CandidateOutcome.DUPLICATE, "applied before"))
            else:
                seen.add(one.key)
                command = with_entities(one.admitted, merged)
                try:
                    applied.append(
                        await self._place(session, context, locked[command.partition], command, one, now)
                    )
                except (AbortedError, UnavailableError):
                    raise
                except ConcordError as error:
                    raise UnplaceableError(position, error.reason.lower()) from error
        return applied

    async def _place(
        self,
        session: WriteSession,
        context: CallContext,
        locked: LockedPartition,
        command: ReconcileCommand,
        prepared: PreparedCandidate,
        now: datetime,
    ) -> Applied:
        trust = min(command.trust, context.trust_cap)
        plan = await Planner(session, locked, command, trust, now, self._ids, prepared.proposal).plan(None)
        if plan is None:
            raise OvertakenError
        writer = StatementWriter(self._writer, self._ids, session, locked, context, command)
        written = await writer.write(plan, prepared.vector, now)
        outcome = outcome_of(plan.placing.outcome)
        settled = Settled(prepared.key, outcome, plan.placing.reason, written.fact.fact_id)
        return Applied(settled, prepared.candidate, written.fact)


def _unplaced(prepared: PreparedEvent, one: PreparedCandidate, outcome: CandidateOutcome, reason: str) -> Applied:
    """Returns what became of a candidate that no fact carries; of a model's, the words would be lost."""
    candidate = one.candidate
    words = candidate.text or ("" if candidate.claim is None else rendered(candidate.claim))
    return Applied(Settled(one.key, outcome, reason, text="" if prepared.event.candidates else words), candidate)


async def _lock(
    session: WriteSession, commands: Sequence[ReconcileCommand], merged: Mapping[EntityKey, str], now: datetime
) -> dict[Partition, LockedPartition]:
    """Locks the partitions of statements in the order of their ids."""
    partitions = {with_entities(command, merged).partition for command in commands}

    def partition_id(partition: Partition) -> UUID:
        return session.entities.partition_id(partition)

    return {each: await session.partitions.lock(each, now) for each in sorted(partitions, key=partition_id)}
