"""Shows what a model would take from events, without a service and without a database."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from concord_server.domain.commands import Violations
from concord_server.domain.consolidation import rendered
from concord_server.domain.enums import Trust
from concord_server.domain.events import EventCandidate, NewEvent, recorded, validate_event
from concord_server.domain.project_settings import ProjectSettings
from concord_server.model_settings import stage_models
from concord_server.ports.events import Extraction, ExtractionError
from concord_server.ports.language_model import (
    ModelDeniedError,
    ModelError,
    ModelRateLimitedError,
    ModelStage,
    Usage,
)
from concord_server.providers.language_models.dialect import Dialects
from concord_server.providers.language_models.openai_model import Endpoint, OpenAIModel
from concord_server.providers.system import SystemClock, TimeOrderedIds
from concord_server.services.extraction import ModelExtractor

_PROJECT = "preview"
_ENDS = (ModelDeniedError, ModelRateLimitedError)
"""What the model would answer to the next question too."""


class NoModelError(Exception):
    """No model is configured that takes facts from events."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a model would take from one event.

    Attributes:
        failure: why nothing could be taken; empty where something could, or the event holds nothing.
    """

    event: NewEvent
    extraction: Extraction = field(default_factory=Extraction)
    usage: Usage = field(default_factory=Usage)
    failure: str = ""


@dataclass(frozen=True, slots=True)
class _OwnPrompt:
    """Settings that are the defaults but for the prompt."""

    prompt: str

    async def of(self, project: str) -> ProjectSettings:
        return replace(ProjectSettings(), extraction_prompt=self.prompt)


def preview_extraction(events: Sequence[NewEvent], prompt: str = "") -> list[Preview]:
    """Returns what the configured model takes from events, one after another; nothing is stored.

    The model is shown no known facts: there is no ledger here. It ends early where the model asks to wait or refuses.

    Args:
        prompt: the instructions, instead of the default ones.

    Raises:
        NoModelError: none is configured; the message says what to set.
        ModelSettingsError: a setting of the model cannot be used.
        InvalidFieldsError: an event is malformed.
    """
    settings = stage_models().get(ModelStage.EXTRACT.value)
    if settings is None:
        raise NoModelError("no model is configured: set CONCORD_LLM_MODEL, and CONCORD_LLM_BASE_URL for your own")
    clock, found = SystemClock(), Violations()
    for index, event in enumerate(events):
        validate_event(f"events[{index}]", event, clock.now(), found)
    found.raise_if_any()
    endpoint = Endpoint(
        base_url=settings.base_url,
        model=settings.model,
        key=settings.api_key,
        timeout=settings.timeout_seconds,
        input_price=settings.input_price,
        output_price=settings.output_price,
    )
    return asyncio.run(_previews(OpenAIModel(endpoint, Dialects(), clock), events, prompt))


async def _previews(model: OpenAIModel, events: Sequence[NewEvent], prompt: str) -> list[Preview]:
    clock, ids = SystemClock(), TimeOrderedIds()
    extractor = ModelExtractor(model, None, _OwnPrompt(prompt), clock)
    previews: list[Preview] = []
    try:
        for event in events:
            stops = False
            stored = recorded(event, ids.new(), Trust.TRUSTED, clock.now())
            try:
                extraction = await extractor.extract(_PROJECT, None, stored)
                preview = Preview(event, extraction, extraction.usage)
            except (ExtractionError, ModelError) as error:
                preview = Preview(event, usage=error.usage, failure=str(error))
                stops = isinstance(error, _ENDS)
            previews.append(preview)
            if stops:
                break
    finally:
        await model.close()
    return previews


def words_of(candidate: EventCandidate) -> str:
    """Returns the wording that a candidate would be stored with."""
    return candidate.text or ("" if candidate.claim is None else rendered(candidate.claim))
