"""Settings of language models: from the environment, so that keys stand in no command line."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX = "CONCORD_LLM_"
STAGES = ("extract", "judge", "observe")

DEFAULT_BASE_URL = "https://api.openai.com/v1"
DEFAULT_TIMEOUT_SECONDS = 60.0
JUDGE_TIMEOUT_SECONDS = 10.0
"""A caller waits while a statement is judged, and the local judge can do it instead."""


class ModelSettingsError(Exception):
    """The settings of language models cannot be used; the message names them, and no value."""


class ModelSettings(BaseSettings):
    """The settings of all stages, from ``CONCORD_LLM_<NAME>``, or of one, from ``CONCORD_LLM_<STAGE>_<NAME>``.

    Attributes:
        base_url: of an OpenAI-compatible API, such as ``http://localhost:8000/v1``; without one it is OpenAI's.
        api_key: empty where none is wanted.
        model: as the endpoint names it; without one no model is configured.
        timeout_seconds: for one answer.
        input_price: USD per million tokens.
        output_price: likewise.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="ignore", hide_input_in_errors=True
    )

    base_url: str | None = None
    api_key: SecretStr | None = None
    model: str | None = None
    timeout_seconds: float | None = Field(default=None, gt=0.0, le=3600.0)
    input_price: float | None = Field(default=None, ge=0.0, le=1e6)
    output_price: float | None = Field(default=None, ge=0.0, le=1e6)

    @field_validator("base_url")
    @classmethod
    def _http(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an http:// or https:// URL")
        return value.rstrip("/")


@dataclass(frozen=True, slots=True)
class StageModel:
    """The model of one stage, all settings settled; prices in USD per million tokens, 0 where unknown."""

    base_url: str
    model: str
    api_key: SecretStr
    timeout_seconds: float
    input_price: float
    output_price: float


def stage_models() -> dict[str, StageModel]:
    """Returns the models that are configured, by stage; empty when there are none.

    Raises:
        ModelSettingsError: a setting cannot be used.
    """
    general = _load(PREFIX)
    found = {stage: _settled(stage, general, _load(f"{PREFIX}{stage.upper()}_")) for stage in STAGES}
    return {stage: model for stage, model in found.items() if model is not None}


def _load(prefix: str) -> ModelSettings:
    try:
        return ModelSettings(_env_prefix=prefix)  # type: ignore[call-arg] # of every BaseSettings
    except ValidationError as error:
        problems = (f"{prefix}{str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors(include_input=False))
        raise ModelSettingsError("; ".join(problems)) from None


def _settled(stage: str, general: ModelSettings, own: ModelSettings) -> StageModel | None:
    """Returns a stage's model: its own settings before the general ones.

    A key goes with its URL and a price with its model: neither is taken to another.
    """
    model = own.model or general.model
    if model is None:
        if own.base_url or general.base_url or own.api_key or general.api_key:
            raise ModelSettingsError(
                f"{PREFIX}MODEL names no model; set it, or unset the other {PREFIX}* settings"
            )
        return None
    elsewhere = own.base_url not in (None, general.base_url)
    other_model = elsewhere or own.model not in (None, general.model)
    timeout = own.timeout_seconds or general.timeout_seconds or DEFAULT_TIMEOUT_SECONDS
    if stage == "judge" and own.timeout_seconds is None:
        timeout = min(timeout, JUDGE_TIMEOUT_SECONDS)
    return StageModel(
        base_url=own.base_url or general.base_url or DEFAULT_BASE_URL,
        model=model,
        api_key=own.api_key or (None if elsewhere else general.api_key) or SecretStr(""),
        timeout_seconds=timeout,
        input_price=_price(own.input_price, None if other_model else general.input_price),
        output_price=_price(own.output_price, None if other_model else general.output_price),
    )


def _price(own: float | None, general: float | None) -> float:
    return next((price for price in (own, general) if price is not None), 0.0)
