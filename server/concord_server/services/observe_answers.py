"""Who says what a batch of facts shows: a model, or embedder and judge alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, combinations, product
from typing import Protocol
from uuid import UUID

import numpy as np

from concord_server.domain.answers import UnreadableAnswer, read_answer
from concord_server.domain.local_observing import MIN_SIMILARITY, Related, local_answer, supports
from concord_server.domain.model import Fact
from concord_server.domain.observation_prompt import (
    DEFAULT_PROMPT,
    LISTS,
    SCHEMA,
    SCHEMA_NAME,
    answer_of,
    question,
)
from concord_server.domain.observing import Answer, Pool
from concord_server.domain.wordings import bears_words
from concord_server.ports.embedder import Vector
from concord_server.ports.judge import Judge, JudgePair
from concord_server.ports.language_model import LanguageModel, ModelRequest, ModelStage, Usage
from concord_server.ports.observations import Recalled
from concord_server.ports.project_settings import SettingsOfProjects


class NoAnswerError(Exception):
    """The model said nothing that can be used; it may be different for fewer facts, or next time."""

    reason = "MODEL_ANSWER_INVALID"

    def __init__(self, message: str, usage: Usage) -> None:
        super().__init__(message)
        self.usage = usage


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: on whose account, and when."""

    project: str
    run_id: UUID
    now: datetime


class Answerer(Protocol):
    """Says what a batch shows."""

    @property
    def calls_model(self) -> bool:
        """Whether each answer is a call of a model."""

    async def answer(self, asked: Asked, pool: Pool, recalled: Recalled) -> tuple[Answer, Usage]:
        """Returns the answer, which nobody may trust, and what it cost. No transaction is open.

        Raises:
            NoAnswerError: nothing that can be used was said.
            ModelError: the model gave no answer.
            JudgeUnavailableError: the judge cannot answer now.
        """


class ModelAnswerer:
    """Asks a model."""

    calls_model = True

    def __init__(self, model: LanguageModel, settings: SettingsOfProjects) -> None:
        self._model = model
        self._settings = settings

    async def answer(self, asked: Asked, pool: Pool, recalled: Recalled) -> tuple[Answer, Usage]:
        """Returns the model's answer.

        Raises:
            NoAnswerError: it holds no JSON of the right shape.
            ModelError: the model gave no answer.
        """
        settings = await self._settings.of(asked.project)
        request = ModelRequest(
            stage=ModelStage.OBSERVE,
            project=asked.project,
            system=settings.observation_prompt or DEFAULT_PROMPT,
            user=question(pool, asked.now),
            schema_name=SCHEMA_NAME,
            schema=SCHEMA,
            run_id=asked.run_id,
        )
        said = await self._model.ask(request)
        read = read_answer(said.text, LISTS, complete=said.complete)
        # What was cut off may lack the update that a retirement in it belongs to.
        answer = None if isinstance(read, UnreadableAnswer) or read.cut_off else answer_of(read.value)
        if answer is None:
            raise NoAnswerError("the model's answer holds no lists of observations, or was cut off", said.usage)
        return answer, said.usage


class LocalAnswerer:
    """Goes by embedder and judge alone."""

    calls_model = False

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    async def answer(self, asked: Asked, pool: Pool, recalled: Recalled) -> tuple[Answer, Usage]:
        """Returns what embedder and judge find borne out.

        Raises:
            JudgeUnavailableError: the judge cannot answer now.
        """
        owner = pool.batch[0].partition.owner_id
        candidates = list(_near_pairs(pool, recalled.vectors))
        both_orders = candidates + [(other, one, near) for one, other, near in candidates]
        judged = await self._judge.judge(
            [JudgePair(stated.text, known.text, near, owner) for stated, known, near in both_orders]
        )
        pairs: set[tuple[UUID, UUID]] = set()
        for (one, other, _), first, second in zip(candidates, judged, judged[len(candidates) :], strict=False):
            if supports(first, second) and bears_words(one.text, other.text, owner):
                pairs.add((other.fact_id, one.fact_id))
            if supports(second, first) and bears_words(other.text, one.text, owner):
                pairs.add((one.fact_id, other.fact_id))
        worded = {
            (fact.fact_id, observation.observation_id)
            for fact, observation in product(pool.batch, pool.observations)
            for source in _worded_as(pool, observation.text)
            if (fact.fact_id, source.fact_id) in pairs
            and source.fact_id in {each.fact_id for each in observation.support}
        }
        related = Related(frozenset(pairs), frozenset(worded), recalled.origins)
        return local_answer(pool, related), Usage()


def _worded_as(pool: Pool, text: str) -> list[Fact]:
    return [fact for fact in pool.facts.values() if fact.text == text]


def _near_pairs(pool: Pool, vectors: Mapping[UUID, Vector]) -> Iterator[tuple[Fact, Fact, float]]:
    """Yields the pairs worth comparing, with their cosine: one of the batch with each other that is near."""
    for one, other in chain(combinations(pool.batch, 2), product(pool.batch, pool.earlier)):
        if one.fact_id not in vectors or other.fact_id not in vectors:
            continue
        similarity = float(np.dot(vectors[one.fact_id], vectors[other.fact_id]))
        if similarity >= MIN_SIMILARITY:
            yield one, other, min(max(similarity, -1.0), 1.0)
