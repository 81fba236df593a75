"""A scripted server that speaks the OpenAI API's chat completions, and can do so badly.

Use it as a context manager; it serves on a free port from threads of its own, so clients may be in any event loop
or process::

    with ModelServer('{"facts": []}') as server:
        server.script(rate_limited(7), truncated('{"facts": [{"predi'))
        ...  # a client asks server.url three times: refused, cut off, then answered as above
        assert server.asked == 3
"""

from __future__ import annotations

import json
import math
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

MODEL = "scripted-1"
KEY = "sk-scripted-0123456789abcdef"
"""A key of the usual form; the server takes any, unless ``keys`` says otherwise."""


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came in; ``body`` is its JSON."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def system(self) -> str:
        """The instructions."""
        return self._contents("system")

    @property
    def user(self) -> str:
        """The data."""
        return self._contents("user")

    @property
    def format(self) -> str:
        """Type of the answer's format that was asked for; "text" when none was."""
        return str((self.body.get("response_format") or {}).get("type", "text"))

    def _contents(self, role: str) -> str:
        return "\n".join(m["content"] for m in self.body.get("messages", []) if m["role"] == role)


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server does with one request.

    Attributes:
        text: of the answer.
        raw: the whole body, in place of a completion.
        delay: seconds before it answers; cut short when the server closes.
        gate: waited for before it answers, where given.
        hang_up: closes the connection without an answer.
        top_logprobs: for each token of the answer, the logarithms of the probabilities of what could stand there.
            Told only to those who ask for them.
        tokens: in and out, as told; ``None`` tells nothing.
    """

    text: str = ""
    status: int = 200
    finish_reason: str = "stop"
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    delay: float = 0.0
    gate: threading.Event | None = None
    hang_up: bool = False
    top_logprobs: Sequence[Mapping[str, float]] = ()
    tokens: tuple[int, int] | None = (100, 10)


Answer = str | Reply | Callable[[Received], str | Reply]
"""What a server says when its script is over: always the same, or by what it is asked."""


def truncated(text: str) -> Reply:
    """Returns an answer that was cut off at the limit of its length."""
    return Reply(text, finish_reason="length")


def late(text: str, seconds: float) -> Reply:
    """Returns an answer that comes late."""
    return Reply(text, delay=seconds)


def failing(status: int, message: str = "something went wrong", code: str = "", **headers: str) -> Reply:
    """Returns an error in the API's form."""
    error = {"message": message, "type": "error", "param": None, "code": code or None}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, raw=json.dumps({"error": error}).encode(), headers=named)


def rate_limited(retry_after: int | str | None = None) -> Reply:
    """Returns 429; ``retry_after`` is in seconds or an HTTP date."""
    headers = {} if retry_after is None else {"Retry_After": str(retry_after)}
    return failing(429, "Rate limit reached", "rate_limit_exceeded", **headers)


def out_of_quota() -> Reply:
    """Returns the error of an account whose money is spent."""
    return failing(429, "You exceeded your current quota", "insufficient_quota")


def malformed() -> Reply:
    """Returns 200 with a body that is no JSON."""
    return Reply(raw=b"<html>upstream sent too big header</html>")


def hung_up() -> Reply:
    """Returns no answer at all."""
    return Reply(hang_up=True)


def choosing(probabilities: Mapping[str, float], text: str = "") -> Reply:
    """Returns an answer whose first token is one of several, each with its probability."""
    best = max(probabilities, key=lambda name: probabilities[name])
    logarithms = {name: math.log(value) for name, value in probabilities.items() if value > 0.0}
    return Reply(text or best, top_logprobs=[logarithms])


class ModelServer:
    """Serves from the moment that it is entered until it is left.

    Attributes:
        received: every request, in order.
        refused_formats: types of ``response_format`` that it cannot do ("json_schema", "json_object").
        refusal: what it answers to those; llama.cpp's server says 500.
        keys: the keys that it takes; empty takes any.
    """

    def __init__(
        self,
        answer: Answer = "[]",
        *,
        refused_formats: Sequence[str] = (),
        refusal: Reply | None = None,
        keys: Sequence[str] = (),
    ) -> None:
        self.answer = answer
        self.received: list[Received] = []
        self.refused_formats = tuple(refused_formats)
        self.refusal = refusal or failing(400, "response_format is not supported")
        self.keys = tuple(keys)
        self._script: deque[str | Reply] = deque()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.model = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def asked(self) -> int:
        """How many requests came in."""
        return len(self.received)

    def script(self, *replies: str | Reply) -> None:
        """Lets the next requests be answered so, each by one, before ``answer`` counts again."""
        with self._lock:
            self._script.extend(replies)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def reply_to(self, request: Received) -> Reply:
        """Records a request and returns what is done with it, once its time has come."""
        with self._lock:
            self.received.append(request)
            reply = self._chosen(request)
        if reply.delay:
            self._closing.wait(reply.delay)
        if reply.gate is not None:
            while not (reply.gate.wait(0.02) or self._closing.is_set()):
                pass
        return reply

    def _chosen(self, request: Received) -> Reply:
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.keys and key not in self.keys:
            return failing(401, f"Incorrect API key provided: {key}", "invalid_api_key")
        if request.format in self.refused_formats:
            return self.refusal
        said = self._script.popleft() if self._script else self.answer
        if callable(said):
            said = said(request)
        return said if isinstance(said, Reply) else Reply(said)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    model: ModelServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, _Http)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Received(self.path, headers, json.loads(body or b"{}"))
        reply = server.model.reply_to(request)
        if not self.path.endswith("/chat/completions"):
            reply = failing(404, f"no such path: {self.path}")
        with suppress(ConnectionError):  # who asked may have gone
            self._send(request, reply)

    def _send(self, request: Received, reply: Reply) -> None:
        if reply.hang_up:
            self.close_connection = True
            return
        content = reply.raw if reply.raw is not None else json.dumps(completion(request, reply)).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def completion(request: Received, reply: Reply) -> dict[str, Any]:
    """Returns the body of an answer."""
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": reply.text, "refusal": None},
        "finish_reason": reply.finish_reason,
        "logprobs": None,
    }
    if request.body.get("logprobs") and reply.top_logprobs:
        choice["logprobs"] = {"content": [_position(top) for top in reply.top_logprobs], "refusal": None}
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": request.body.get("model", MODEL),
        "choices": [choice],
    }
    if reply.tokens is not None:
        given, made = reply.tokens
        body["usage"] = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
    return body


def _position(top: Mapping[str, float]) -> dict[str, Any]:
    ranked = sorted(top.items(), key=lambda item: -item[1])
    listed = [{"token": token, "logprob": value, "bytes": list(token.encode())} for token, value in ranked]
    return {**listed[0], "top_logprobs": listed}
