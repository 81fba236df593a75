"""Catching up on facts that were stored while the embedder was unavailable.

Each gets its embedding. One that was only created for want of a comparison is compared now, and what follows is what
would have followed then, as far as nobody has worked with the fact meanwhile (see :mod:`.second_look`).
"""

from __future__ import annotations

from concord_server.domain.errors import ConcurrentUpdateError
from concord_server.domain.model import Thresholds
from concord_server.ports.agenda import Agenda, UnembeddedFact
from concord_server.ports.clock import Clock, Ids
from concord_server.ports.embedder import Embedder, Vector
from concord_server.ports.ledger import Ledger
from concord_server.ports.project_settings import DefaultSettings, SettingsOfProjects
from concord_server.services.embedding import embed_all
from concord_server.services.matching import Match, Matcher
from concord_server.services.second_look import SecondLook, is_untouched
from concord_server.services.timeline_writer import text_digest

EMBEDDED_TOGETHER = 32
"""How many texts are embedded at once."""

MAX_ATTEMPTS = 10
"""How often a fact is compared anew when others keep changing what it meets; after that it waits for the next time."""


class _OvertakenError(Exception):
    """What the fact was compared with changed before the partition was locked."""


class CatchUp:
    """Embeds what waits for it. Any number of processes may do so at once: each fact is taken by one of them."""

    def __init__(
        self,
        ledger: Ledger,
        agenda: Agenda,
        matcher: Matcher,
        embedder: Embedder,
        clock: Clock,
        ids: Ids,
        settings: SettingsOfProjects | None = None,
    ) -> None:
        """Builds the use case.

        Args:
            settings: of projects, which comparisons go by; the defaults where they are not given.
        """
        self._ledger = ledger
        self._agenda = agenda
        self._matcher = matcher
        self._embedder = embedder
        self._clock = clock
        self._ids = ids
        self._settings = settings or DefaultSettings()

    async def execute(self) -> bool:
        """Takes up what waits in all projects, in the order of creation; false when the embedder is unavailable.

        Raises:
            UnavailableError: the database cannot be reached; what was done before is kept.
            OverloadedError: the embedder has too much to do for others.
        """
        after: UnembeddedFact | None = None
        while waiting := await self._agenda.unembedded(after=after, limit=EMBEDDED_TOGETHER):
            vectors = await embed_all(self._embedder, [fact.text for fact in waiting])
            if vectors is None:
                return False
            for fact, vector in zip(waiting, vectors, strict=True):
                await self._take_up(fact, vector)
            after = waiting[-1]
        return True

    async def _take_up(self, waiting: UnembeddedFact, vector: Vector) -> None:
        for _ in range(MAX_ATTEMPTS):
            thresholds = (await self._settings.of(waiting.project)).thresholds
            match = await self._match(waiting, vector, thresholds) if waiting.undecided else None
            try:
                await self._apply(waiting, vector, match, thresholds)
            except (_OvertakenError, ConcurrentUpdateError):
                continue
            return

    async def _match(self, waiting: UnembeddedFact, vector: Vector, thresholds: Thresholds) -> Match | None:
        """Returns what the fact meets; without its embedding it is not among what is searched itself."""
        async with self._ledger.read(waiting.project) as session:
            fact = await session.facts.get(waiting.fact_id)
        if fact is None:
            return None
        return await self._matcher.match_by_meaning(
            waiting.project,
            fact.partition,
            fact.text,
            text_digest(fact.text),
            fact.valid_from,
            thresholds,
            vector,
        )

    async def _apply(
        self, waiting: UnembeddedFact, vector: Vector, match: Match | None, thresholds: Thresholds
    ) -> None:
        now = self._clock.now()
        async with self._ledger.write(waiting.project) as session:
            if not await session.work.take_fact(waiting.fact_id):
                return
            locked = await session.partitions.lock(waiting.partition, now)
            fact = await session.facts.get(waiting.fact_id)
            if fact is None or fact.partition != locked.partition:
                return  # it was moved meanwhile, and waits there
            line = await session.slots.timeline(fact.slot_id)
            if match is None or not is_untouched(fact, line):
                await session.facts.set_embedding(fact.fact_id, vector, locked.revision)
                return
            moved_on = locked.revision != match.revision + 1
            if moved_on and await session.facts.changed_since(locked.partition_id, match.revision, match.probe):
                raise _OvertakenError
            look = SecondLook(session, locked, self._ids, now, thresholds)
            await look.take(fact, line, match, vector)
