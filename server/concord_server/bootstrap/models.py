"""Puts language models together: what the settings name, metered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from concord_server.model_settings import stage_models
from concord_server.ports.embedder import Embedder
from concord_server.ports.events import Extractor
from concord_server.ports.judge import Judge
from concord_server.ports.language_model import LanguageModel, ModelStage
from concord_server.ports.ledger import Ledger
from concord_server.ports.project_settings import SettingsOfProjects
from concord_server.providers.language_models.dialect import Dialects
from concord_server.providers.language_models.openai_model import Endpoint, OpenAIModel
from concord_server.providers.system import SystemClock
from concord_server.services.extraction import ExtractedOnce, ModelExtractor
from concord_server.services.judging.model_judge import ModelJudge
from concord_server.services.judging.project_judge import ProjectJudge
from concord_server.services.metered_model import MeteredModel
from concord_server.services.observe_answers import Answerer, LocalAnswerer, ModelAnswerer

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LanguageModels:
    """The models of one process, by stage; a stage that has none is missing."""

    of: Mapping[ModelStage, LanguageModel]
    _endpoints: tuple[OpenAIModel, ...] = ()

    async def close(self) -> None:
        """Lets their connections go."""
        for endpoint in self._endpoints:
            await endpoint.close()


def language_models(ledger: Ledger, project_settings: SettingsOfProjects) -> LanguageModels:
    """Returns the models that the settings name; close them in the end.

    Raises:
        ModelSettingsError: a setting cannot be used.
    """
    dialects, clock = Dialects(), SystemClock()
    asked: dict[ModelStage, OpenAIModel] = {}
    for stage, model in stage_models().items():
        endpoint = Endpoint(
            base_url=model.base_url,
            model=model.model,
            key=model.api_key,
            timeout=model.timeout_seconds,
            input_price=model.input_price,
            output_price=model.output_price,
        )
        asked[ModelStage(stage)] = OpenAIModel(endpoint, dialects, clock)
    metered = {stage: MeteredModel(model, ledger, project_settings, clock) for stage, model in asked.items()}
    return LanguageModels(dict(metered), tuple(asked.values()))


def project_judge(local: Judge, models: LanguageModels, project_settings: SettingsOfProjects) -> ProjectJudge:
    """Returns the judge of every project: the local one, or the model where a project's settings say so."""
    model = models.of.get(ModelStage.JUDGE)
    judge = None if model is None else ModelJudge(model, project_settings, SystemClock())
    return ProjectJudge(local, judge, project_settings)


def extractor_of(
    models: LanguageModels, ledger: Ledger, embedder: Embedder, project_settings: SettingsOfProjects
) -> Extractor | None:
    """Returns what takes facts from events; ``None`` where no model does."""
    model = models.of.get(ModelStage.EXTRACT)
    if model is None:
        return None
    return ExtractedOnce(ModelExtractor(model, ledger, project_settings, SystemClock(), embedder), ledger)


def answerer_of(models: LanguageModels, judge: ProjectJudge, project_settings: SettingsOfProjects) -> Answerer:
    """Returns what says what facts show together: the model of that stage, else embedder and judge alone."""
    model = models.of.get(ModelStage.OBSERVE)
    return LocalAnswerer(judge.local) if model is None else ModelAnswerer(model, project_settings)


def log_models(models: LanguageModels) -> None:
    """Logs which models there are, and what cannot be done without one."""
    named = {stage.value: model.name for stage, model in models.of.items()}
    _log.info("language models", **{stage.value: named.get(stage.value, "none") for stage in ModelStage})
    if ModelStage.EXTRACT not in models.of:
        _log.warning("no model takes facts from events: those without candidates wait; set CONCORD_LLM_MODEL")
