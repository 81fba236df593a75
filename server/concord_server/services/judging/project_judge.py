"""Which judge a project's statements go to: the local one, a model, or a model where the local one is unsure."""

from __future__ import annotations

from collections.abc import Sequence

from concord_server.domain.judgement import Judgement
from concord_server.domain.model_judgement import unsure
from concord_server.domain.project_settings import JudgeMode
from concord_server.ports.judge import Judge, JudgePair, JudgeUnavailableError
from concord_server.ports.project_settings import SettingsOfProjects


class ProjectJudge:
    """Implements :class:`~concord_server.ports.judge.Judge` by the settings of the pairs' project.

    Attributes:
        local: the judge that needs no model; what to fall back to.
    """

    def __init__(self, local: Judge, model: Judge | None, settings: SettingsOfProjects) -> None:
        """Builds the judge.

        Args:
            model: ``None`` where no model is configured; a project that wants one falls back, and its decisions say so.
        """
        self.local = local
        self._model = model
        self._settings = settings

    @property
    def name(self) -> str:
        """The local judge's; each judgement has the name of the judge that made it."""
        return self.local.name

    async def judge(self, pairs: Sequence[JudgePair]) -> list[Judgement]:
        """Returns one judgement per pair, in order.

        Raises:
            JudgeUnavailableError: the project wants a model, which cannot answer.
        """
        if not pairs or not pairs[0].project:
            return await self.local.judge(pairs)
        mode = (await self._settings.of(pairs[0].project)).judge
        if mode is JudgeMode.LOCAL:
            return await self.local.judge(pairs)
        if mode is JudgeMode.MODEL:
            return await self._by_model(pairs)
        judgements = await self.local.judge(pairs)
        doubtful = [position for position, judgement in enumerate(judgements) if unsure(judgement)]
        if doubtful:
            asked = await self._by_model([pairs[position] for position in doubtful])
            for position, judgement in zip(doubtful, asked, strict=True):
                judgements[position] = judgement
        return judgements

    async def _by_model(self, pairs: Sequence[JudgePair]) -> list[Judgement]:
        if self._model is None:
            raise JudgeUnavailableError("no model is configured")
        return await self._model.judge(pairs)
