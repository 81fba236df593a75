"""Proposes predicates by meaning, before the transaction in which their claims are placed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from uuid import UUID

from concord_server.domain.commands import ReconcileCommand
from concord_server.domain.enums import Cardinality, FactType
from concord_server.domain.errors import ConcurrentUpdateError, UnavailableError
from concord_server.domain.model import Claim
from concord_server.domain.predicates import (
    Near,
    Proposal,
    UsedPredicate,
    Vocabulary,
    comparable,
    confirms,
    known_meaning,
    nearest,
    questions,
    worth_judging,
)
from concord_server.domain.values import Json, canonical, normalise_subject
from concord_server.ports.clock import Clock
from concord_server.ports.embedder import Embedder, Vector
from concord_server.ports.judge import Judge, JudgePair, JudgeUnavailableError
from concord_server.ports.ledger import Ledger, ReadSession
from concord_server.services.embedding import embed_all
from concord_server.services.entities import entities_of, with_entities

MAX_NAMES = 5_000
"""How many names' vectors are kept; they are the schema of the claims, and so few and asked for often."""


class _Answer(StrEnum):
    """What becomes of a proposal."""

    YES = "YES"
    NO = "NO"
    NOT_NOW = "NOT_NOW"
    """It could not be judged as the project wants it, and will be asked about again."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A claim whose subject does not use its predicate, with what it may mean."""

    claim: Claim
    cardinality: Cardinality | None
    owner: str
    place: tuple[UUID, str]
    vocabulary: Vocabulary


@dataclass(slots=True)
class _Planned:
    """Predicates that earlier claims of one call will use, by partition and subject, with their qualifiers."""

    used: dict[tuple[UUID, str], list[tuple[UsedPredicate, Json]]] = field(default_factory=dict)

    def add(self, asked: _Asked, predicate: str) -> None:
        """Notes that a claim will use a predicate."""
        claim = asked.claim
        used = UsedPredicate(predicate, asked.cardinality or Cardinality.SINGLE, value=claim.value)
        self.used.setdefault(asked.place, []).append((used, canonical(dict(claim.qualifiers))))

    def seen_by(self, asked: _Asked) -> Vocabulary:
        """Returns a claim's vocabulary with what earlier claims will add to it."""
        own = canonical(dict(asked.claim.qualifiers))
        more = self.used.get(asked.place, [])
        return asked.vocabulary.with_used(replace(used, same_qualifiers=theirs == own) for used, theirs in more)


class PredicateProposer:
    """Finds, for claims by new names, which known predicate of the subject they mean.

    Safe to share: all that it keeps are the vectors of names.
    """

    def __init__(self, ledger: Ledger, embedder: Embedder, judge: Judge, fallback: Judge, clock: Clock) -> None:
        """Builds a proposer.

        Args:
            judge: confirms proposals.
            fallback: the judge to ask when that one is unavailable.
        """
        self._ledger = ledger
        self._embedder = embedder
        self._judge = judge
        self._fallback = fallback
        self._clock = clock
        self._vectors: dict[str, Vector] = {}

    async def propose(self, project: str, commands: Sequence[ReconcileCommand]) -> list[Proposal | None]:
        """Returns a proposal per statement, each as if those before it were written.

        ``None`` where there is nothing to propose: no claim, an occurrence, a predicate that the subject uses or
        that is an alias of one, or the embedder is unavailable. No session is open while the embedder and the
        judge work.

        Raises:
            OverloadedError: too many texts wait to be embedded.
        """
        asked = await self._read(project, commands)
        names = {name for one in asked if one is not None for name in _names(one, asked)}
        known = await self._embedded(sorted(names))
        planned = _Planned()
        proposals: list[Proposal | None] = []
        for one in asked:
            proposal = None if one is None or known is None else await self._proposal(project, one, planned, known)
            proposals.append(proposal)
            if one is not None:
                planned.add(one, one.claim.predicate)
                if proposal is not None and proposal.confirmed is not None:
                    planned.add(one, proposal.confirmed.predicate)
        return proposals

    async def record(self, project: str, proposals: Sequence[Proposal | None]) -> None:
        """Keeps what was proposed and not confirmed, for the admin.

        In a transaction of its own: all writers of a project would wait for each other's at these few rows. A
        count that is lost is no harm, and no reason to fail what is written already.
        """
        unconfirmed = [p for p in proposals if p is not None and p.confirmed is None and p.unconfirmed]
        if not unconfirmed:
            return
        with suppress(ConcurrentUpdateError, UnavailableError):
            async with self._ledger.write(project) as session:
                for proposal in sorted(unconfirmed, key=lambda one: one.stated):
                    await session.predicates.suggest(proposal.stated, proposal.unconfirmed, self._clock.now())

    async def _read(self, project: str, commands: Sequence[ReconcileCommand]) -> list[_Asked | None]:
        named = {entity for command in commands if _has_claim(command) for entity in entities_of(command)}
        if not any(_has_claim(command) for command in commands):
            return [None] * len(commands)
        async with self._ledger.read(project) as session:
            merged = await session.entities.resolve(named)
            return [
                await self._asked(session, with_entities(command, merged)) if _has_claim(command) else None
                for command in commands
            ]

    async def _asked(self, session: ReadSession, command: ReconcileCommand) -> _Asked | None:
        assert command.claim is not None
        claim = command.claim.normalised()
        partition_id = session.entities.partition_id(command.partition)
        if await session.predicates.uses(partition_id, claim.subject, claim.predicate):
            return None
        vocabulary = await session.predicates.vocabulary(
            partition_id, claim.subject, claim.predicate, claim.qualifiers
        )
        registered = await session.slots.cardinality(claim.predicate)
        return _Asked(
            claim=claim,
            cardinality=registered or command.claim.cardinality,
            owner=command.partition.owner_id,
            place=(partition_id, normalise_subject(claim.subject)),
            vocabulary=vocabulary,
        )

    async def _proposal(
        self, project: str, asked: _Asked, planned: _Planned, vectors: Mapping[str, Vector]
    ) -> Proposal | None:
        claim, vocabulary = asked.claim, planned.seen_by(asked)
        if known_meaning(claim.predicate, vocabulary) is not None:
            return None
        able = comparable(claim.predicate, asked.cardinality, claim.value, vocabulary)
        if not able:
            return Proposal(claim.predicate, frozenset())
        own = vectors[claim.predicate]
        near = nearest(
            claim.predicate,
            [Near(one.predicate, float(own @ vectors[one.predicate]), one.value) for one in able],
        )
        confirmed, suggested = None, []
        for one in near:
            answer = _Answer.NO
            if worth_judging(claim.predicate, one, vocabulary):
                answer = await self._answer(project, asked, one)
            if answer is _Answer.YES:
                confirmed = one
                break
            if answer is _Answer.NO:
                suggested.append(one)
        considered = frozenset(one.predicate for one in able)
        return Proposal(claim.predicate, considered, confirmed, tuple(suggested))

    async def _answer(self, project: str, asked: _Asked, near: Near) -> _Answer:
        """Returns what the judge says of a proposal: a no for good is the project's own judge's alone."""
        claim = asked.claim
        pairs = questions(claim.subject, claim.predicate, claim.value, near)
        texts = sorted({text for pair in pairs for text in pair})
        embedded = await embed_all(self._embedder, texts)
        if embedded is None:
            return _Answer.NOT_NOW
        vectors = dict(zip(texts, embedded, strict=True))
        asking = [JudgePair(s, k, float(vectors[s] @ vectors[k]), asked.owner, project) for s, k in pairs]
        try:
            return _Answer.YES if confirms(await self._judge.judge(asking)) else _Answer.NO
        except JudgeUnavailableError:
            return _Answer.YES if confirms(await self._fallback.judge(asking)) else _Answer.NOT_NOW

    async def _embedded(self, names: Sequence[str]) -> Mapping[str, Vector] | None:
        """Returns the vectors of names, ``None`` when the embedder is unavailable."""
        vectors = {name: self._vectors[name] for name in names if name in self._vectors}
        missing = [name for name in names if name not in vectors]
        if missing:
            embedded = await embed_all(self._embedder, [name.replace("_", " ") for name in missing])
            if embedded is None:
                return None
            vectors.update(zip(missing, embedded, strict=True))
            if len(self._vectors) + len(missing) > MAX_NAMES:
                self._vectors.clear()
            self._vectors.update(vectors)
        return vectors


def _has_claim(command: ReconcileCommand) -> bool:
    """Whether a statement can mean another predicate; occurrences replace nothing."""
    return command.claim is not None and command.type is not FactType.EVENT


def _names(one: _Asked, asked: Sequence[_Asked | None]) -> set[str]:
    """Returns the names that a claim may be compared by: none where the subject uses nothing else."""
    names = {used.predicate for used in one.vocabulary.used}
    names |= {other.claim.predicate for other in asked if other is not None and other.place == one.place}
    names.add(one.claim.predicate)
    return names if len(names) > 1 else set()
