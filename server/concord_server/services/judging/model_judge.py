"""A judge that asks a language model, one question for each pair."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from concord_server.domain.answers import UnreadableAnswer, member_of, read_answer
from concord_server.domain.discrepancies import detect
from concord_server.domain.errors import ConcurrentUpdateError, UnavailableError
from concord_server.domain.judgement import Judgement
from concord_server.domain.model_judgement import read_judgement
from concord_server.domain.values import Json
from concord_server.ports.clock import Clock
from concord_server.ports.judge import JudgePair, JudgeUnavailableError
from concord_server.ports.language_model import (
    LanguageModel,
    ModelAnswer,
    ModelBudgetSpentError,
    ModelDeniedError,
    ModelError,
    ModelRateLimitedError,
)
from concord_server.ports.project_settings import SettingsOfProjects
from concord_server.services.judging.question import PROMPT_VERSION, question

REST = timedelta(minutes=1)
"""How long a model that limits or refuses is left alone where it does not say; and at most where a budget is spent."""

PATIENCE = 3
"""After so many failures in a row a model is left alone for a while: each may take as long as its timeout."""

REST_AFTER_FAILURES = timedelta(seconds=10)

_WANTED = ("relation", "probabilities", "reason")


class ModelJudge:
    """Implements :class:`~concord_server.ports.judge.Judge`.

    Beside what the model says stand the discrepancies that rules find: they veto merges as with the local judge.
    """

    def __init__(self, model: LanguageModel, settings: SettingsOfProjects, clock: Clock) -> None:
        self._model = model
        self._settings = settings
        self._clock = clock
        self._failures = 0
        self._rests: dict[str, datetime] = {}

    @property
    def name(self) -> str:
        """Name and version, as stored with decisions."""
        return f"{PROMPT_VERSION}/{self._model.name}"

    async def judge(self, pairs: Sequence[JudgePair]) -> list[Judgement]:
        """Returns one judgement per pair, in order. No transaction is open.

        Raises:
            JudgeUnavailableError: the model gave no answer to one of them, or is left alone for a while.
        """
        if not pairs:
            return []
        project = pairs[0].project
        now = self._clock.now()
        if any(now < self._rests.get(of, now) for of in ("", project)):
            raise JudgeUnavailableError("the model is left alone for a while")
        own_prompt = (await self._settings.of(project)).judge_prompt
        asked = [asyncio.ensure_future(self._judge_one(pair, own_prompt)) for pair in pairs]
        try:
            judgements = await asyncio.gather(*asked)
        except (ModelError, UnavailableError, ConcurrentUpdateError) as error:
            self._leave_alone(project, error)
            raise JudgeUnavailableError(str(error)) from error
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        self._failures = 0
        return list(judgements)

    async def _judge_one(self, pair: JudgePair, own_prompt: str) -> Judgement:
        answer = await self._model.ask(question(pair, own_prompt))
        value, sound = _value_of(answer)
        kinds = tuple(dict.fromkeys(finding.kind for finding in detect(pair.statement, pair.known)))
        told = answer.probabilities if sound else None
        judgement = read_judgement(value, told, kinds, self.name)
        if judgement is None:
            raise JudgeUnavailableError("the model's answer names no relation")
        return judgement

    def _leave_alone(self, project: str, error: Exception) -> None:
        now = self._clock.now()
        if isinstance(error, ModelBudgetSpentError):
            # A new budget may be set at any time.
            self._rests[project] = now + min(error.retry_after or REST, REST)
        elif isinstance(error, ModelRateLimitedError | ModelDeniedError):
            wait = error.retry_after if isinstance(error, ModelRateLimitedError) else None
            self._rests[""] = now + (wait or REST)
        else:
            self._failures += 1
            if self._failures >= PATIENCE:
                self._failures = 0
                self._rests[""] = now + REST_AFTER_FAILURES


def _value_of(answer: ModelAnswer) -> tuple[dict[str, Json], bool]:
    """Returns the members of an answer, and whether it is whole: of one that is not, only the relation is kept."""
    read = read_answer(answer.text, _WANTED, complete=answer.complete)
    if isinstance(read, UnreadableAnswer):
        return {"relation": answer.text.strip().strip("\"'`.")}, True
    if read.partial:
        return {"relation": member_of(read, "relation")}, False
    return {name: member_of(read, name) for name in _WANTED}, True
