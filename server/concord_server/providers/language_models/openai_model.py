"""A language model behind any endpoint that speaks the OpenAI API's chat completions."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import openai
from pydantic import SecretStr

from concord_server.ports.clock import Clock
from concord_server.ports.language_model import ModelAnswer, ModelError, ModelFailedError, ModelRequest, Usage
from concord_server.providers.language_models.choices import choice_probabilities
from concord_server.providers.language_models.dialect import AnswerFormat, Dialect, Dialects, plainer
from concord_server.providers.language_models.failures import refused
from concord_server.providers.language_models.reply import Refusal, Reply, estimated, read_reply

TOP_LOGPROBS = 10
"""How many likeliest tokens are asked for at each place; the API allows 20, some servers fewer."""

_NO_KEY = "none"
"""Sent where no key is set: local servers want none, and the SDK wants one."""

_PER_PRICED = 1_000_000

# With OPENAI_LOG or a debug level, the SDK and its transport would log what is asked.
for _name in ("openai", "httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is, and on what terms.

    Attributes:
        base_url: up to and without ``/chat/completions``.
        key: never shown; empty where none is wanted.
        timeout: seconds for one answer, from the first byte sent to the last one received.
        input_price: USD per million tokens; 0 where it is not known.
        output_price: likewise.
    """

    base_url: str
    model: str
    key: SecretStr = field(default_factory=lambda: SecretStr(""))
    timeout: float = 60.0
    input_price: float = 0.0
    output_price: float = 0.0


class OpenAIModel:
    """Asks one model at one endpoint, once for each question.

    Only while it is not known what the endpoint understands, one question may take a few calls; ``usage.calls`` of
    the answer, or of the error, tells how many.
    """

    def __init__(self, endpoint: Endpoint, dialects: Dialects, clock: Clock) -> None:
        """Builds the model; nothing is sent yet.

        Args:
            dialects: what is known of endpoints, shared by the models of a process.
        """
        self._endpoint = endpoint
        self._dialects = dialects
        self._key = (endpoint.base_url, endpoint.model)
        self._clock = clock
        self._client = openai.AsyncOpenAI(
            api_key=endpoint.key.get_secret_value() or _NO_KEY,
            base_url=endpoint.base_url,
            timeout=endpoint.timeout,
            max_retries=0,
        )
        # What the environment holds for the SDK is meant for another endpoint.
        self._client.organization = self._client.project = None
        self._client._custom_headers = {}

    @property
    def name(self) -> str:
        """The model's name."""
        return self._endpoint.model

    async def close(self) -> None:
        """Lets the connections go."""
        await self._client.close()

    async def ask(self, request: ModelRequest) -> ModelAnswer:
        """Returns the answer; errors as of :class:`~concord_server.ports.language_model.LanguageModel`."""
        first = dialect = self._dialects.of(self._key, logprobs=bool(request.choices))
        explicit, usage = True, Usage()
        while True:
            body = request_body(request, self._endpoint.model, dialect)
            asked = estimated(body["messages"][0]["content"]) + estimated(body["messages"][1]["content"])
            try:
                status, headers, content = await self._send(body)
                read = read_reply(status, content)
            except ModelError as error:
                error.usage = usage.plus(self._usage((asked, 0)))
                raise
            if isinstance(read, Reply):
                self._dialects.answered(self._key, first, dialect, explicit=explicit)
                return self._answer(
                    request, read, usage.plus(self._usage(read.counted or (asked, estimated(read.text))))
                )
            usage = usage.plus(Usage(calls=1))
            following = plainer(dialect, read.status, read.message)
            if following is None or not self._dialects.may_change(self._key, dialect, following):
                if following is None and dialect != first and not explicit:
                    self._dialects.failed(self._key)
                raise self._refused(read, headers, usage)
            dialect, explicit = following.dialect, explicit and following.explicit

    async def _send(self, body: dict[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        """Returns status, headers (names in lower case) and body of the endpoint's answer.

        Raises:
            ModelFailedError: there was none.
        """
        try:
            async with asyncio.timeout(self._endpoint.timeout):
                response = await self._client.chat.completions.with_raw_response.create(**body)
                return 200, response.headers, response.content
        except openai.APIStatusError as error:
            return error.status_code, error.response.headers, error.response.content
        except (openai.APITimeoutError, TimeoutError):
            raise ModelFailedError(f"the model did not answer within {self._endpoint.timeout:g} s") from None
        except openai.OpenAIError:
            # Its message may hold addresses with credentials in them.
            raise ModelFailedError("the model's endpoint cannot be reached") from None

    def _refused(self, refusal: Refusal, headers: Mapping[str, str], usage: Usage) -> ModelError:
        error = refused(refusal.status, refusal.code, refusal.message, headers, self._clock.now())
        error.usage = usage
        return error

    def _answer(self, request: ModelRequest, reply: Reply, usage: Usage) -> ModelAnswer:
        probabilities = None
        if request.choices and reply.tokens:
            probabilities = choice_probabilities(reply.tokens, request.choices, _member_of_choices(request))
        return ModelAnswer(reply.text, reply.complete, usage, reply.model or self.name, probabilities)

    def _usage(self, tokens: tuple[int, int]) -> Usage:
        given, made = tokens
        cost = (given * self._endpoint.input_price + made * self._endpoint.output_price) / _PER_PRICED
        return Usage(1, given, made, cost)


def request_body(request: ModelRequest, model: str, dialect: Dialect) -> dict[str, Any]:
    """Returns what is sent: the instructions first and always the same, so that a provider's cache knows them."""
    system = request.system
    if dialect.format is not AnswerFormat.JSON_SCHEMA:
        schema = json.dumps(request.schema, ensure_ascii=False, separators=(",", ":"))
        system += f"\n\nAnswer with one JSON object and nothing else. Its JSON schema:\n{schema}"
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": request.user}],
        "max_completion_tokens" if dialect.completion_tokens else "max_tokens": request.max_tokens,
    }
    if dialect.temperature:
        body["temperature"] = 0
    if dialect.format is AnswerFormat.JSON_SCHEMA:
        shape = {"name": request.schema_name, "schema": dict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    elif dialect.format is AnswerFormat.JSON_OBJECT:
        body["response_format"] = {"type": "json_object"}
    if dialect.logprobs:
        body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    return body


def _member_of_choices(request: ModelRequest) -> str:
    """Returns the member of the answer whose values are the choices."""
    members = request.schema.get("properties")
    for name, schema in members.items() if isinstance(members, Mapping) else ():
        if isinstance(schema, Mapping) and set(schema.get("enum") or ()) == set(request.choices):
            return str(name)
    return ""
