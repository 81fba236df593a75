"""Reads an endpoint's answer, of which nothing is taken for granted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from concord_server.ports.language_model import ModelFailedError
from concord_server.providers.language_models.choices import Token

CHARACTERS_PER_TOKEN = 4
"""By which tokens are estimated where an endpoint does not count them."""

_ENOUGH = 1e9


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=False)


class _Top(_Lenient):
    token: str
    logprob: float


class _Position(_Lenient):
    token: str
    logprob: float
    top_logprobs: list[_Top] = Field(default_factory=list)


class _Logprobs(_Lenient):
    content: list[_Position] | None = None


class _Part(_Lenient):
    text: str = ""


class _Message(_Lenient):
    content: str | list[_Part] | None = None


class _Choice(_Lenient):
    message: _Message
    finish_reason: str | None = None
    logprobs: object = None


class _Usage(_Lenient):
    prompt_tokens: int = Field(ge=0, le=_ENOUGH)
    completion_tokens: int = Field(ge=0, le=_ENOUGH)


class _Completion(_Lenient):
    choices: list[_Choice] = Field(min_length=1)
    usage: object = None
    model: str | None = None


class _Error(_Lenient):
    message: str | None = None
    code: str | int | None = None
    type: str | None = None
    param: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What an endpoint answered.

    Attributes:
        tokens: of the answer with their probabilities; empty where they are not told.
        counted: tokens in and out as the endpoint counts them, if it does.
    """

    text: str
    complete: bool
    model: str
    tokens: tuple[Token, ...] = ()
    counted: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is an error; ``code`` and ``message`` are the endpoint's own words, never shown to anyone."""

    status: int
    code: str
    message: str


def read_reply(status: int, body: bytes) -> Reply | Refusal:
    """Returns what an endpoint's answer holds.

    Raises:
        ModelFailedError: it is no answer of this API, or holds no text.
    """
    document = _document(body)
    if status >= 400:
        return _refusal(status, document)
    if isinstance(document, dict) and document.get("error") and not document.get("choices"):
        return _refusal(_status_within(document), document)
    try:
        completion = _Completion.model_validate(document)
    except ValidationError:
        raise ModelFailedError("the model's endpoint gave a response that is not of its API") from None
    choice = completion.choices[0]
    if choice.finish_reason == "content_filter":
        raise ModelFailedError("the model's endpoint withheld the answer (content_filter)")
    text = _text(choice.message)
    if not text.strip() and choice.finish_reason != "length":
        raise ModelFailedError("the model gave an empty answer")
    return Reply(
        text=text,
        complete=choice.finish_reason != "length",
        model=completion.model or "",
        tokens=_tokens(choice.logprobs),
        counted=_counted(completion.usage),
    )


def estimated(text: str) -> int:
    """Returns about how many tokens a text has."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def _document(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _refusal(status: int, document: object) -> Refusal:
    error = document.get("error") if isinstance(document, Mapping) else None
    if isinstance(error, str):
        return Refusal(status, "", error)
    try:
        read = _Error.model_validate(error if isinstance(error, Mapping) else document)
    except ValidationError:
        return Refusal(status, "", "")
    said = " ".join(part for part in (read.message, read.param) if part)
    return Refusal(status, str(read.code or read.type or ""), said)


def _status_within(document: Mapping[str, object]) -> int:
    """Returns the status that an error told under status 200 has: gateways send such."""
    error = document.get("error")
    code = error.get("code") if isinstance(error, Mapping) else None
    return code if isinstance(code, int) and 400 <= code <= 599 else 502


def _text(message: _Message) -> str:
    if isinstance(message.content, list):
        return "".join(part.text for part in message.content)
    return message.content or ""


def _tokens(logprobs: object) -> tuple[Token, ...]:
    try:
        told = _Logprobs.model_validate(logprobs)
    except ValidationError:
        return ()
    return tuple(_token(position) for position in told.content or ())


def _token(position: _Position) -> Token:
    top = {item.token: item.logprob for item in position.top_logprobs}
    top.setdefault(position.token, position.logprob)
    probabilities = {text: math.exp(value) for text, value in top.items() if value <= 0.0}
    return Token(position.token, probabilities)


def _counted(usage: object) -> tuple[int, int] | None:
    try:
        counted = _Usage.model_validate(usage)
    except ValidationError:
        return None
    return counted.prompt_tokens, counted.completion_tokens
