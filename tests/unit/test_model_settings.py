"""Settings of language models, from the environment."""

from __future__ import annotations

import os

import pytest
from concord_server.model_settings import (
    DEFAULT_BASE_URL,
    JUDGE_TIMEOUT_SECONDS,
    STAGES,
    ModelSettingsError,
    StageModel,
    stage_models,
)


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("CONCORD_LLM_"):
            monkeypatch.delenv(name)


def models(monkeypatch: pytest.MonkeyPatch, **values: str) -> dict[str, StageModel]:
    for name, value in values.items():
        monkeypatch.setenv(f"CONCORD_LLM_{name}", value)
    return stage_models()


def test_without_a_model_there_is_none(monkeypatch: pytest.MonkeyPatch):
    assert models(monkeypatch) == {}
    assert models(monkeypatch, MODEL="", BASE_URL="") == {}


def test_one_model_serves_every_stage(monkeypatch: pytest.MonkeyPatch):
    found = models(monkeypatch, MODEL="m", API_KEY="k", INPUT_PRICE="0.5", TIMEOUT_SECONDS="90")
    assert tuple(found) == STAGES
    extract, judge = found["extract"], found["judge"]
    assert (extract.base_url, extract.model, extract.api_key.get_secret_value()) == (DEFAULT_BASE_URL, "m", "k")
    assert (extract.input_price, extract.output_price, extract.timeout_seconds) == (0.5, 0.0, 90.0)
    assert judge.timeout_seconds == JUDGE_TIMEOUT_SECONDS


def test_a_stage_may_have_its_own(monkeypatch: pytest.MonkeyPatch):
    found = models(monkeypatch, MODEL="m", API_KEY="k", JUDGE_MODEL="small", JUDGE_TIMEOUT_SECONDS="30")
    assert (found["judge"].model, found["judge"].timeout_seconds) == ("small", 30.0)
    assert found["judge"].api_key.get_secret_value() == "k"
    assert found["extract"].model == "m"


def test_only_some_stages_may_have_one(monkeypatch: pytest.MonkeyPatch):
    assert list(models(monkeypatch, JUDGE_MODEL="small")) == ["judge"]


def test_a_key_does_not_go_to_another_address(monkeypatch: pytest.MonkeyPatch):
    found = models(
        monkeypatch, MODEL="m", API_KEY="k", BASE_URL="https://one/v1/", OBSERVE_BASE_URL="http://other/v1"
    )
    assert found["observe"].api_key.get_secret_value() == ""
    assert found["extract"].base_url == "https://one/v1"
    assert found["extract"].api_key.get_secret_value() == "k"


def test_a_price_does_not_go_to_another_model(monkeypatch: pytest.MonkeyPatch):
    found = models(monkeypatch, MODEL="m", INPUT_PRICE="2", JUDGE_MODEL="small", OBSERVE_INPUT_PRICE="3")
    assert [found[stage].input_price for stage in STAGES] == [2.0, 0.0, 3.0]


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"MODEL": "m", "BASE_URL": "localhost:8000"}, "CONCORD_LLM_BASE_URL"),
        ({"MODEL": "m", "TIMEOUT_SECONDS": "0"}, "CONCORD_LLM_TIMEOUT_SECONDS"),
        ({"MODEL": "m", "JUDGE_INPUT_PRICE": "cheap"}, "CONCORD_LLM_JUDGE_INPUT_PRICE"),
        ({"API_KEY": "sk-secret"}, "CONCORD_LLM_MODEL"),
        ({"BASE_URL": "http://u:sk-secret@host:bad"}, "CONCORD_LLM_"),
    ],
)
def test_bad_settings_are_named_and_no_value_is_shown(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, str], named: str
):
    with pytest.raises(ModelSettingsError) as caught:
        models(monkeypatch, **values)
    assert named in str(caught.value)
    assert "sk-secret" not in repr(caught.value)


def test_keys_are_in_no_repr(monkeypatch: pytest.MonkeyPatch):
    assert "sk-secret" not in repr(models(monkeypatch, MODEL="m", API_KEY="sk-secret"))
