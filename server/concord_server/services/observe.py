"""Observe: forms observations from one batch of a group's facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from concord_server.domain.enums import RunState
from concord_server.domain.errors import ConcurrentUpdateError, UnavailableError
from concord_server.domain.events import Failure
from concord_server.domain.model import Fact
from concord_server.domain.observing import BATCH_SIZE, Answer, Pool, halves, plan
from concord_server.domain.runs import Interruption, ObserveProgress
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.embedder import Embedder
from concord_server.ports.judge import Judge, JudgeUnavailableError
from concord_server.ports.language_model import ModelError, ModelFailedError, Usage
from concord_server.ports.ledger import Ledger
from concord_server.ports.observations import GroupLease, Recalled
from concord_server.services.interruptions import interruption_of
from concord_server.services.observe_answers import Answerer, Asked, NoAnswerError
from concord_server.services.observe_apply import apply
from concord_server.services.observe_twins import EmbedderDownError, Folder

MAX_RACES = 5
"""How often a commit that lost to another is tried again; after that the batch waits for its next turn."""

_FAILURES = (ModelFailedError, NoAnswerError)
"""What fails a batch: fewer facts, or another time, may do."""


@dataclass(slots=True)
class _Spent:
    """What was spent on answers and is not yet counted."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)

    def take(self) -> ObserveProgress:
        """Returns it as counts, and starts anew."""
        counts = ObserveProgress(
            model_calls=self.calls, input_tokens=self.usage.input_tokens, output_tokens=self.usage.output_tokens
        )
        self.calls, self.usage = 0, Usage()
        return counts


class ObserveGroup:
    """The unit of the stage OBSERVE: one batch of a group, in one transaction."""

    def __init__(
        self, ledger: Ledger, embedder: Embedder, judge: Judge, answerer: Answerer, clock: Clock, ids: Ids
    ) -> None:
        """Builds the use case.

        Args:
            judge: says whether wordings are twins, and whether a late wording contradicts the present one.
            answerer: says what a batch shows.
        """
        self._ledger = ledger
        self._answerer = answerer
        self._clock = clock
        self._ids = ids
        self._folder = Folder(ledger, embedder, judge)

    async def execute(self, project: str, lease: GroupLease) -> None:
        """Works the next batch of a group that was taken under a lease.

        A batch that fails is halved, down to one fact, which is marked failed. A limit of the model ends the run
        RATE_LIMITED, a refusal, or an embedder or judge that is down, ends it FAILED; the facts stay pending.

        Raises:
            LeaseLostError: somebody else has the group now; nothing more was written.
            UnavailableError: the database cannot be reached; the group is taken up again when the lease is over.
        """
        async with self._ledger.write(project) as session:
            batch = await session.observing.batch(lease, BATCH_SIZE)
        if not batch:
            return
        spent = _Spent()
        try:
            await self._consider(project, lease, batch, spent)
        except ModelError as error:
            why = interruption_of(error, self._clock.now())
            assert why is not None, "what concerns a batch alone was dealt with"
            await self._interrupt(project, lease, why)
        except (EmbedderDownError, JudgeUnavailableError):
            failure = Failure(UnavailableError.reason, "the embedder or the judge is unavailable")
            await self._interrupt(project, lease, Interruption(RunState.FAILED, failure))
        if spent.calls:
            await self._count(project, lease, spent)

    async def record_failure(self, project: str, lease: GroupLease, failure: Failure) -> None:
        """Marks the next batch of a group failed, because of a defect that would show in it again.

        Raises:
            LeaseLostError: somebody else has the group now.
        """
        async with self._ledger.write(project) as session:
            batch = await session.observing.batch(lease, BATCH_SIZE)
        for fact in batch:
            await self._fail(project, lease, fact, failure, _Spent())

    async def _consider(self, project: str, lease: GroupLease, batch: Sequence[Fact], spent: _Spent) -> None:
        """Works a batch, and the halves of one that fails, in their order."""
        try:
            await self._work(project, lease, batch, spent)
        except _FAILURES as error:
            if len(batch) == 1:
                await self._fail(project, lease, batch[0], Failure(error.reason, str(error)), spent)
                return
            for half in halves(batch):
                await self._consider(project, lease, half, spent)

    async def _work(self, project: str, lease: GroupLease, batch: Sequence[Fact], spent: _Spent) -> None:
        """Asks about a batch and applies the answer, unless something that it rests on changed meanwhile."""
        async with self._ledger.read(project) as session:
            recalled = await session.observing.recall(lease, batch)
        pool = Pool(tuple(batch), tuple(recalled.facts), tuple(recalled.observations))
        planned = plan(pool, await self._answer(project, lease, pool, recalled, spent))
        folded = await self._folder.fold(project, lease, pool, planned)
        for _ in range(MAX_RACES):
            counts = replace(spent).take()
            try:
                async with self._ledger.write(project) as session:
                    applied = await apply(session, lease, pool, folded, counts, self._clock.now(), self._ids)
            except ConcurrentUpdateError:
                continue
            if applied:
                spent.take()
            return

    async def _answer(
        self, project: str, lease: GroupLease, pool: Pool, recalled: Recalled, spent: _Spent
    ) -> Answer:
        asked = Asked(project, lease.run_id, self._clock.now())
        spent.calls += int(self._answerer.calls_model)
        try:
            answer, usage = await self._answerer.answer(asked, pool, recalled)
        except NoAnswerError as error:
            spent.usage = spent.usage.plus(error.usage)
            raise
        spent.usage = spent.usage.plus(usage)
        return answer

    async def _fail(self, project: str, lease: GroupLease, fact: Fact, failure: Failure, spent: _Spent) -> None:
        now = self._clock.now()
        counts = replace(spent.take(), processed=1, failed=1)
        async with self._ledger.write(project) as session:
            await session.observing.hold(lease)
            await session.observing.fail(lease, fact, failure, now)
            await session.observing.settle(lease, [fact], [], counts, now)

    async def _interrupt(self, project: str, lease: GroupLease, why: Interruption) -> None:
        async with self._ledger.write(project) as session:
            await session.runs.interrupt(lease.run_id, why, self._clock.now())

    async def _count(self, project: str, lease: GroupLease, spent: _Spent) -> None:
        """Counts what was spent on answers that led to nothing."""
        async with self._ledger.write(project) as session:
            await session.observing.settle(lease, [], [], spent.take(), self._clock.now())
