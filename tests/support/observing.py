"""A project whose facts become observations, with a model, an embedder and a judge that do as they are told."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
from concord_server.domain.enums import FactStatus, ObservationState, RunStage
from concord_server.domain.model import EntityRef, Fact
from concord_server.domain.observations import Observation, ObservationFilter, ObservationVersion
from concord_server.domain.runs import ObservationOutcome, Run, RunMessage, RunScope
from concord_server.ports.embedder import EmbedderUnavailableError, Vector
from concord_server.ports.language_model import ModelAnswer, ModelRequest, Usage
from concord_server.ports.project_settings import DefaultSettings
from concord_server.services.context import Replay
from concord_server.services.observe_answers import LocalAnswerer, ModelAnswerer
from concord_server.services.statuses import UpdateFactStatus
from concord_server.services.update_fact import FactUpdate, UpdateFact
from concord_server.storage.fact_tables import fact_search
from concord_server.storage.observation_tables import observations
from concord_server.storage.sessions import PostgresLedger
from sqlalchemy import update as change
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.support.runs import Bench, at_work, said

OBSERVE = RunScope(stages=(RunStage.OBSERVE,))
EXTRACT = RunScope(stages=(RunStage.EXTRACT,))
NOTHING: dict[str, Any] = {"creates": [], "updates": [], "merges": [], "retires": []}

Reply = Callable[[dict[str, Any]], Any]
"""Makes an answer, or an error to be raised, of the data of a question."""


@dataclass
class TopicEmbedder:
    """Gives texts unrelated vectors, but for those that are said to be alike."""

    topics: dict[str, str] = field(default_factory=dict)
    down: bool = False
    name: str = "topics"
    dimension: int = 384

    def alike(self, *texts: str) -> None:
        """Makes the vectors of these texts equal."""
        for text in texts:
            self.topics[text] = texts[0]

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.down:
            raise EmbedderUnavailableError("told to be down")
        return [self._vector(self.topics.get(text, text)) for text in texts]

    def _vector(self, topic: str) -> Vector:
        seed = int.from_bytes(hashlib.sha256(topic.encode()).digest()[:8])
        vector = np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)
        normal: Vector = vector / np.linalg.norm(vector)
        return normal


@dataclass
class ScriptedModel:
    """Answers what it is told to, and keeps what it was asked.

    Attributes:
        meanwhile: awaited during each call.
    """

    reply: Reply = lambda _: NOTHING
    meanwhile: Callable[[], Awaitable[object]] | None = None
    asked: list[ModelRequest] = field(default_factory=list)
    name: str = "scripted"

    async def ask(self, request: ModelRequest) -> ModelAnswer:
        self.asked.append(request)
        if self.meanwhile is not None:
            await self.meanwhile()
        said = self.reply(data_of(request))
        if isinstance(said, Exception):
            raise said
        text = said if isinstance(said, str) else json.dumps(said)
        return ModelAnswer(text, complete=True, usage=Usage(1, 100, 10), model=self.name)

    @property
    def questions(self) -> list[dict[str, Any]]:
        """The data of every question."""
        return [data_of(request) for request in self.asked]


def data_of(request: ModelRequest) -> dict[str, Any]:
    """Returns the data of a question."""
    text = request.user.removeprefix("<data>").removesuffix("</data>")
    data: dict[str, Any] = json.loads(text)
    return data


def create(text: str, *facts: dict[str, Any] | Fact, reason: str = "they agree") -> dict[str, Any]:
    """An item of ``creates``."""
    return {"text": text, "source_fact_ids": [_id(each) for each in facts], "reason": reason}


def update(observation: dict[str, Any], text: str, *facts: dict[str, Any] | Fact) -> dict[str, Any]:
    """An item of ``updates``."""
    return {"observation_id": observation["id"], **create(text, *facts, reason="newer facts say so")}


def _id(fact: dict[str, Any] | Fact) -> str:
    return str(fact.fact_id) if isinstance(fact, Fact) else fact["id"]


class Observatory(Bench):
    """A bench whose runs form observations: with ``model``, or with the judge alone where it has none."""

    def __init__(self, ledger: PostgresLedger, engine: AsyncEngine, project: str) -> None:
        super().__init__(ledger, project)
        self.engine = engine
        self.embedder: TopicEmbedder = TopicEmbedder()  # type: ignore[assignment]
        self.model = ScriptedModel()
        self.answerer = ModelAnswerer(self.model, DefaultSettings())

    def without_model(self) -> None:
        """Lets embedder and judge form observations."""
        self.answerer = LocalAnswerer(self.judge)

    async def tell(self, *values: str, subject: str = "u1", day: int = 0, **event: Any) -> list[Fact]:
        """Puts facts into the ledger, each a day after the one before, and returns them in their order.

        Each value must be new: facts are known by it.
        """
        events = [
            said(value, day + n, subject=subject, predicate=f"trait {zlib.crc32(value.encode())}", **event)
            for n, value in enumerate(values)
        ]
        await self.append(*events)
        await self.worked(scope=EXTRACT)
        by_value = {f.claim.value: f for f in await self.facts(FactStatus.ACTIVE) if f.claim is not None}
        return [by_value[value] for value in values]

    async def observe(self, *, concurrency: int = 4, scope: RunScope = OBSERVE) -> Run:
        """Runs the stage to its end and returns the summary; what it told is in ``outcomes``."""
        self.messages = await self._observed(concurrency, scope)
        summary = self.messages[-1].update
        assert isinstance(summary, Run)
        return summary

    async def _observed(self, concurrency: int, scope: RunScope) -> list[RunMessage]:
        run = await self.start(scope)
        async with at_work(self.worker(concurrency)):
            return await self.told(run)

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        """What the last run told of observations: the action, and the wording or the reason where it was kept."""
        found = [m.update for m in self.messages if isinstance(m.update, ObservationOutcome)]
        return [(o.action.name, o.reason if o.action == "KEPT" else o.observation.text) for o in found]

    async def believed(self, *states: ObservationState) -> list[Observation]:
        """The observations in some states, ACTIVE by default, oldest first."""
        async with self.ledger.read(self.project) as session:
            page = await session.observations.list(
                ObservationFilter(states=states), "create_time", descending=False, after=None, size=500
            )
        return list(page.items)

    async def texts(self) -> list[str]:
        """What is believed."""
        return [each.text for each in await self.believed()]

    async def history(self, observation_id: UUID) -> list[ObservationVersion]:
        """Every recorded state of an observation."""
        async with self.ledger.read(self.project) as session:
            return list((await session.observations.versions(observation_id, after=0, size=500)).items)

    async def recall_all(self) -> None:
        """Lets everything of a group be recalled beside each of its facts: all vectors become alike."""
        [vector] = await self.embedder.embed(["anything"])
        async with self.engine.begin() as connection:
            for table in (observations, fact_search):
                own = table.c.project_id == self.project
                await connection.execute(change(table).where(own).values(embedding=vector))

    async def move(self, fact: Fact, status: FactStatus, reason: str = "by hand") -> Fact:
        """Moves a fact to another status."""
        moved = await UpdateFactStatus(self.ledger, self.clock, self.ids).execute(
            self.context, fact.fact_id, status, reason
        )
        assert not isinstance(moved, Replay)
        return moved

    async def edit(self, fact: Fact, **fields: Any) -> Fact:
        """Edits a fact."""
        edited = await UpdateFact(self.ledger, self.clock, self.ids).execute(
            self.context, fact.fact_id, FactUpdate(frozenset(fields), **fields), "by hand"
        )
        assert not isinstance(edited, Replay)
        return edited


USER = EntityRef("User", "u1")
A_DAY = timedelta(days=1)
