"""Takes candidates from an event by a language model, of which nothing is trusted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from concord_server.domain.answers import Answer, UnreadableAnswer, read_answer
from concord_server.domain.events import Event
from concord_server.domain.model import Fact
from concord_server.domain.queries import FactFilter
from concord_server.domain.search import MAX_TOP_K, SearchQuery
from concord_server.ports.clock import Clock
from concord_server.ports.embedder import Embedder
from concord_server.ports.events import Extraction, ExtractionError
from concord_server.ports.language_model import (
    LanguageModel,
    ModelAnswer,
    ModelError,
    ModelRequest,
    ModelStage,
    Usage,
)
from concord_server.ports.ledger import Ledger
from concord_server.ports.project_settings import SettingsOfProjects
from concord_server.services.context import CallContext
from concord_server.services.extraction.candidates import ITEM_KEYS, Taken, listed
from concord_server.services.extraction.prompt import SCHEMA, data_of, instructions
from concord_server.services.search import SearchFacts

MAX_KNOWN_FACTS = 40
"""Facts about the subject that a model is shown."""

MAX_TOKENS = 4096
"""Of one answer; twice as many where one was cut off."""

_ACTOR = "extraction"
_QUERY_CHARACTERS = 2000
_WANTED = ("facts", *ITEM_KEYS)
_THREAD_CHARACTERS = 32 << 10
_MESSAGES = {
    "empty": "the model's answer is empty",
    "no_json": "the model's answer holds no JSON",
    "cut_off": "the model's answer was cut off before it began",
    "unexpected_shape": "the model's answer has no list of facts",
}


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked about an event, before it is asked."""

    request: ModelRequest
    known: tuple[Fact, ...]
    limit: int


class ModelExtractor:
    """Asks a model what an event states, and keeps what stands.

    At most two calls are made for an event: the second only where the answer to the first was cut off.
    """

    def __init__(
        self,
        model: LanguageModel,
        ledger: Ledger | None,
        settings_of_projects: SettingsOfProjects,
        clock: Clock,
        embedder: Embedder | None = None,
    ) -> None:
        """Builds the extractor.

        Args:
            ledger: where facts about the subject are found; without one the model is shown none.
            embedder: finds those that the event is about; while it is unavailable, they are found by words, and
                without one the model is shown none.
        """
        self._model = model
        self._settings = settings_of_projects
        self._search = (
            None
            if ledger is None or embedder is None
            else SearchFacts(ledger, embedder, clock, settings_of_projects)
        )

    async def extract(self, project: str, run_id: UUID | None, event: Event) -> Extraction:
        """Returns what the event holds; nothing is an answer. No transaction is open.

        Args:
            run_id: on whose account; ``None`` for a dry run.

        Raises:
            ExtractionError: the answer cannot be used; its ``usage`` tells what it cost.
            ModelError: there was no answer: of any of its kinds.
        """
        question = await self.question(project, run_id, event)
        said = await self._model.ask(question.request)
        taken = Taken(event, question.limit)
        partial, problem = await _take(taken, said)
        usage = said.usage
        if partial and _may_go_on(said, problem):
            partial, problem, more = await self._go_on(taken, question, event, problem)
            usage = usage.plus(more)
        if problem is not None and not taken.candidates and not taken.rejected:
            unusable = ExtractionError(_MESSAGES[problem])
            unusable.usage = usage
            raise unusable
        return Extraction(tuple(taken.candidates), tuple(taken.rejected), partial, usage)

    async def question(self, project: str, run_id: UUID | None, event: Event) -> Question:
        """Returns what the model would be asked about an event; the model is not asked."""
        settings = await self._settings.of(project)
        known = await self._known_facts(project, event)
        request = ModelRequest(
            stage=ModelStage.EXTRACT,
            project=project,
            system=instructions(settings.extraction_prompt),
            user=data_of(event, known),
            schema_name="facts",
            schema=SCHEMA,
            run_id=run_id,
            max_tokens=MAX_TOKENS,
        )
        return Question(request, tuple(known), settings.max_facts_per_event)

    async def _known_facts(self, project: str, event: Event) -> Sequence[Fact]:
        """Returns the current facts of the event's subject, scope and domain that the event may be about."""
        if self._search is None:
            return ()
        text = _query_of(event)
        where = FactFilter(domain=event.domain, access_scope=event.access_scope, owner=event.subject)
        # A filter cannot ask for facts without a domain: more are read, and those of others left out.
        top_k = MAX_KNOWN_FACTS if event.domain else MAX_TOP_K
        query = SearchQuery(text, where, top_k=top_k, include_conflicted=True)
        found = await self._search.execute(CallContext(project, _ACTOR), query)
        own = [result.fact for result in found if result.fact.partition.domain == event.domain]
        return own[:MAX_KNOWN_FACTS]

    async def _go_on(
        self, taken: Taken, question: Question, event: Event, problem: str | None
    ) -> tuple[bool, str | None, Usage]:
        """Asks once for the rest of an answer that was cut off. What there is already stands whatever comes of it."""
        user = data_of(event, question.known, listed(taken.candidates))
        request = replace(question.request, user=user, max_tokens=2 * MAX_TOKENS)
        try:
            said = await self._model.ask(request)
        except ModelError as error:
            if taken.candidates:
                return True, None, error.usage
            raise
        partial, rest_problem = await _take(taken, said)
        if rest_problem is not None:
            return True, problem and rest_problem, said.usage
        return partial, None, said.usage


async def _take(taken: Taken, said: ModelAnswer) -> tuple[bool, str | None]:
    """Adds what an answer holds; returns whether something of it is missing, and why none of it can be used."""
    if len(said.text) > _THREAD_CHARACTERS:
        return await asyncio.to_thread(_take_now, taken, said)
    return _take_now(taken, said)


def _take_now(taken: Taken, said: ModelAnswer) -> tuple[bool, str | None]:
    answer = read_answer(said.text, _WANTED, complete=said.complete)
    unreadable = taken.take(answer) if isinstance(answer, Answer) else answer
    if isinstance(unreadable, UnreadableAnswer):
        return unreadable.reason == "cut_off", unreadable.reason
    assert isinstance(answer, Answer)
    return answer.partial, None


def _may_go_on(said: ModelAnswer, problem: str | None) -> bool:
    """Tells whether an answer was cut off at the limit of its length, so that asking for the rest helps."""
    return not said.complete or problem == "cut_off"


def _query_of(event: Event) -> str:
    """Returns the event's last words, by which the facts are found that it may be about."""
    parts = [event.text, *(message.text for message in event.messages)]
    text = "\n".join(part for part in parts if part.strip())[-_QUERY_CHARACTERS:]
    text = text.replace("\x00", " ")
    return text if any(c.isalnum() for c in text) else f"{event.kind} {event.subject.entity_id} facts"
