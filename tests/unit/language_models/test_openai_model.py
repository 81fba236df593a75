"""The provider against a server that speaks the API, well and badly."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from concord_server.ports.language_model import (
    ModelDeniedError,
    ModelError,
    ModelFailedError,
    ModelRateLimitedError,
    ModelRequest,
    ModelStage,
)
from concord_server.providers.language_models.dialect import Dialects
from concord_server.providers.language_models.openai_model import Endpoint, OpenAIModel
from concord_server.providers.system import SystemClock
from pydantic import SecretStr

from tests.support.model_server import (
    KEY,
    MODEL,
    ModelServer,
    Reply,
    choosing,
    failing,
    hung_up,
    late,
    malformed,
    out_of_quota,
    rate_limited,
    truncated,
)

SCHEMA = {"type": "object", "properties": {"relation": {"type": "string", "enum": ["same", "distinct"]}}}
REQUEST = ModelRequest(ModelStage.EXTRACT, "p", "You take facts.", "Ana lives in Lagos", "facts", SCHEMA)
CHOOSING = replace(REQUEST, choices=("same", "distinct"))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer('{"facts": []}') as running:
        yield running


@pytest.fixture
async def model(server: ModelServer) -> AsyncIterator[OpenAIModel]:
    endpoint = Endpoint(server.url, MODEL, SecretStr(KEY), timeout=5.0, input_price=1.0, output_price=10.0)
    made = OpenAIModel(endpoint, Dialects(), SystemClock())
    yield made
    await made.close()


async def failed(model: OpenAIModel, request: ModelRequest = REQUEST) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.ask(request)
    return caught.value


class TestAsking:
    async def test_what_is_sent_and_what_comes_back(self, server: ModelServer, model: OpenAIModel):
        answer = await model.ask(REQUEST)
        [received] = server.received
        assert (received.system, received.user) == (REQUEST.system, REQUEST.user)
        assert (received.body["model"], received.body["temperature"]) == (MODEL, 0)
        assert received.body["response_format"]["json_schema"] == {"name": "facts", "schema": SCHEMA}
        assert "logprobs" not in received.body
        assert received.headers["authorization"] == f"Bearer {KEY}"
        assert (answer.text, answer.complete, answer.model) == ('{"facts": []}', True, MODEL)
        assert (answer.usage.calls, answer.usage.input_tokens, answer.usage.output_tokens) == (1, 100, 10)
        assert answer.usage.cost == pytest.approx(0.0002)

    async def test_what_comes_before_the_data_is_the_same_every_time(
        self, server: ModelServer, model: OpenAIModel
    ):
        await model.ask(REQUEST)
        await model.ask(replace(REQUEST, user="Ben has moved"))
        first, second = (dict(received.body) for received in server.received)
        assert first["messages"][0] == second["messages"][0]
        assert first["messages"].pop() != second["messages"].pop()
        assert json.dumps(first) == json.dumps(second)

    async def test_an_answer_at_the_limit_of_its_length_says_so(self, server: ModelServer, model: OpenAIModel):
        server.script(truncated('{"facts": [{"pred'))
        assert not (await model.ask(REQUEST)).complete

    async def test_tokens_that_the_endpoint_does_not_count_are_estimated(
        self, server: ModelServer, model: OpenAIModel
    ):
        server.script(Reply("x" * 400, tokens=None))
        usage = (await model.ask(REQUEST)).usage
        assert (usage.input_tokens, usage.output_tokens) == (9, 100)

    async def test_an_endpoint_without_a_key_is_asked_without_one(self, server: ModelServer):
        model = OpenAIModel(Endpoint(server.url, MODEL), Dialects(), SystemClock())
        assert (await model.ask(REQUEST)).text
        await model.close()

    async def test_parts_of_a_text_are_one_text(self, server: ModelServer, model: OpenAIModel):
        parts = [{"type": "text", "text": "[1,"}, {"type": "text", "text": "2]"}]
        body = {"choices": [{"message": {"content": parts}}]}
        server.script(Reply(raw=json.dumps(body).encode()))
        assert (await model.ask(REQUEST)).text == "[1,2]"


class TestProbabilities:
    async def test_they_come_from_the_tokens(self, server: ModelServer, model: OpenAIModel):
        server.script(choosing({"same": 0.75, "distinct": 0.25}))
        answer = await model.ask(CHOOSING)
        assert answer.probabilities == pytest.approx({"same": 0.75, "distinct": 0.25})

    async def test_without_probabilities_of_tokens_there_are_none(self, server: ModelServer, model: OpenAIModel):
        server.script("same")
        assert (await model.ask(CHOOSING)).probabilities is None

    async def test_an_endpoint_that_refuses_logprobs_is_not_asked_again(
        self, server: ModelServer, model: OpenAIModel
    ):
        server.script(failing(400, "logprobs is not supported with this model"), "same", "same")
        assert (await model.ask(CHOOSING)).usage.calls == 2
        assert (await model.ask(CHOOSING)).usage.calls == 1
        assert [("logprobs" in r.body, r.format) for r in server.received] == [
            (True, "json_schema"),
            (False, "json_schema"),
            (False, "json_schema"),
        ]


class TestFormats:
    @pytest.mark.parametrize("refusal", [failing(400, "json_schema is not supported"), failing(500, "")])
    async def test_the_format_is_learned_and_remembered(
        self, server: ModelServer, model: OpenAIModel, refusal: Reply
    ):
        server.refused_formats, server.refusal = ("json_schema",), refusal
        for _ in range(4):
            await model.ask(REQUEST)
        assert [r.format for r in server.received[-2:]] == ["json_object", "json_object"]
        assert server.asked <= 6
        assert '"relation"' in server.received[-1].system

    async def test_an_endpoint_may_take_no_format_at_all(self, server: ModelServer, model: OpenAIModel):
        server.refused_formats = ("json_schema", "json_object")
        await model.ask(REQUEST)
        await model.ask(REQUEST)
        assert [r.format for r in server.received] == ["json_schema", "json_object", "text", "text"]

    async def test_an_outage_is_not_a_refusal(self, server: ModelServer, model: OpenAIModel):
        await model.ask(REQUEST)
        for _ in range(2):
            server.script(failing(500))
            assert isinstance(await failed(model), ModelFailedError)
        await model.ask(REQUEST)
        assert {r.format for r in server.received} == {"json_schema"}
        assert server.asked == 4

    async def test_an_outage_from_the_start_costs_one_call_a_question_after_the_first(
        self, server: ModelServer, model: OpenAIModel
    ):
        server.answer = failing(500)
        assert (await failed(model)).usage.calls == 3
        assert (await failed(model)).usage.calls == 1
        server.answer = "[]"
        await model.ask(REQUEST)
        await model.ask(REQUEST)
        assert server.received[-1].format == "json_schema"

    async def test_newer_names_and_fixed_temperatures_are_learned(self, server: ModelServer, model: OpenAIModel):
        server.script(
            failing(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
            failing(400, "Unsupported value: 'temperature' does not support 0 with this model."),
        )
        await model.ask(REQUEST)
        await model.ask(REQUEST)
        assert server.asked == 4
        last = server.received[-1].body
        assert (last["max_completion_tokens"], "max_tokens" in last, "temperature" in last) == (4096, False, False)


class TestFailures:
    @pytest.mark.parametrize(
        ("reply", "kind"),
        [
            (rate_limited(7), ModelRateLimitedError),
            (out_of_quota(), ModelRateLimitedError),
            (failing(401), ModelDeniedError),
            (failing(403), ModelDeniedError),
            (failing(404, "no such model"), ModelDeniedError),
            (failing(503), ModelFailedError),
            (failing(400, "maximum context length"), ModelFailedError),
            (malformed(), ModelFailedError),
            (hung_up(), ModelFailedError),
            (Reply(""), ModelFailedError),
            (Reply("x", finish_reason="content_filter"), ModelFailedError),
            (Reply(raw=b"[" * 200_000), ModelFailedError),
            (Reply(raw=b'{"choices": []}'), ModelFailedError),
            (Reply(raw=b'{"choices": [{"message": {"content": 7}}]}'), ModelFailedError),
            (Reply(raw=b'"OK"', headers={"Content-Type": "text/plain"}), ModelFailedError),
            (Reply(raw=b'{"error": {"message": "slow", "code": 429}}'), ModelRateLimitedError),
            (Reply(raw=b'{"error": "overloaded"}'), ModelFailedError),
            (Reply(raw=b'{"detail": "busy"}', status=502), ModelFailedError),
        ],
    )
    async def test_each_failure_is_told_and_asked_once(
        self, server: ModelServer, model: OpenAIModel, reply: Reply, kind: type[ModelError]
    ):
        server.script(reply)
        error = await failed(model)
        assert type(error) is kind
        assert (server.asked, error.usage.calls) == (1, 1)

    async def test_how_long_to_wait_is_kept(self, server: ModelServer, model: OpenAIModel):
        server.script(rate_limited(7))
        error = await failed(model)
        assert isinstance(error, ModelRateLimitedError)
        assert error.retry_after == timedelta(seconds=7)

    async def test_an_answer_that_comes_too_late_is_a_failure(self, server: ModelServer):
        model = OpenAIModel(Endpoint(server.url, MODEL, timeout=0.2), Dialects(), SystemClock())
        server.script(late("[]", 30.0))
        error = await failed(model)
        assert "within 0.2 s" in str(error)
        assert error.usage.input_tokens > 0
        await model.close()

    async def test_a_server_that_is_not_there_is_a_failure(self):
        model = OpenAIModel(Endpoint("http://127.0.0.1:9/v1", MODEL), Dialects(), SystemClock())
        assert "cannot be reached" in str(await failed(model))
        await model.close()


class TestKeys:
    async def test_what_the_environment_holds_for_the_sdk_is_not_sent(
        self, server: ModelServer, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
        monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-other-admin")
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        monkeypatch.setenv("OPENAI_ORG_ID", "org-other")
        monkeypatch.setenv("OPENAI_PROJECT_ID", "project-other")
        monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Token: other")
        model = OpenAIModel(Endpoint(server.url, MODEL), Dialects(), SystemClock())
        await model.ask(REQUEST)
        await model.close()
        assert "other" not in " ".join(server.received[0].headers.values())

    async def test_a_key_is_in_no_error_no_log_and_no_repr(
        self, server: ModelServer, model: OpenAIModel, caplog: pytest.LogCaptureFixture
    ):
        caplog.set_level(logging.DEBUG)
        server.keys = ("another",)
        error = await failed(model)
        told = "".join(traceback.format_exception(error)) + repr(error) + caplog.text
        endpoint = Endpoint(server.url, MODEL, SecretStr(KEY))
        assert KEY not in told + repr(endpoint) + str(endpoint)
        assert REQUEST.user not in told
        assert error.__cause__ is None
        assert error.__context__ is None or KEY not in str(error.__context__)
