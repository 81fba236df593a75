"""The shipped model and the judge as a whole: what the project promises about merging."""

import asyncio
import shutil
from importlib import resources

import numpy as np
import pytest
from concord_server.domain.choice import ChoiceKind, Hit, choose
from concord_server.domain.judgement import Relation
from concord_server.domain.model import Thresholds
from concord_server.ports.judge import JudgePair
from concord_server.providers.embedders.model_files import find_model
from concord_server.providers.embedders.onnx import OnnxModel
from concord_server.providers.judges.local import LocalJudge
from concord_server.providers.judges.pair_model import COLUMNS, PairModel, PairModelError
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.fixture(scope="module")
def judge():
    return LocalJudge.load()


@pytest.fixture(scope="module")
def embedder():
    return OnnxModel(find_model())


@pytest.fixture(scope="module")
def decision(judge, embedder):
    def decide(known: str, statement: str):
        first, second = embedder.encode([known, statement])
        similarity = float(np.dot(first, second))
        if similarity < Thresholds().conflict:
            return ChoiceKind.CREATE
        (judgement,) = judge.judge_now([JudgePair(statement, known, similarity)])
        return choose([Hit(similarity, judgement)], Thresholds()).kind

    return decide


def test_the_weights_are_small_and_whole():
    data = resources.files("concord_server.providers.judges.data")
    assert len(data.joinpath("pair_model.onnx").read_bytes()) <= 30e6
    PairModel.load()


def test_damaged_weights_are_refused(tmp_path):
    data = resources.files("concord_server.providers.judges.data")
    for name in ("pair_model.onnx", "tokenizer.json", "SHA256SUMS"):
        with resources.as_file(data.joinpath(name)) as path:
            shutil.copy(path, tmp_path)
    weights = tmp_path / "pair_model.onnx"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(PairModelError, match="damaged"):
        PairModel.load(tmp_path)


def test_missing_weights_are_named(tmp_path):
    with pytest.raises(PairModelError, match="cannot read"):
        PairModel.load(tmp_path)


def test_a_batch_answers_as_single_pairs_do():
    model = PairModel.load()
    pairs = [
        ("Ana owns a boat", "Ana has a boat"),
        ("The tall gate of the old mill was painted red", "It rains"),
        ("a", "b"),
    ]
    together = model.logits(pairs)
    alone = np.concatenate([model.logits([pair]) for pair in pairs])
    assert together.shape == (3, COLUMNS)
    # Activations are quantised per batch, so that padding shifts them by a little.
    np.testing.assert_allclose(together, alone, atol=0.6)


@pytest.mark.parametrize(
    ("known", "statement"),
    [
        ("Alice lives in Paris", "Alice resides in Paris"),
        ("The gate opens at 6 pm", "The gate opens at 18:00"),
        ("The race is 5 km long", "The race is 5000 m long"),
    ],
)
def test_a_paraphrase_merges(decision, known, statement):
    assert decision(known, statement) is ChoiceKind.MERGE


@pytest.mark.parametrize(
    ("known", "statement"),
    [
        ("The checkout service times out after 30 seconds", "The checkout service times out after 60 seconds"),
        ("The orders database listens on port 5432", "The orders database listens on port 6543"),
        ("Globex employs 900 people", "Globex employs 950 people"),
        ("Backups run nightly", "Backups run weekly"),
    ],
)
def test_a_changed_value_contradicts(decision, known, statement):
    assert decision(known, statement) is ChoiceKind.CONTRADICT
    assert decision(statement, known) is ChoiceKind.CONTRADICT


@pytest.mark.parametrize(
    ("known", "statement"),
    [
        ("Alice lives in Paris", "Alice works in Paris"),
        ("Alice lives in Paris", "Bob lives in Paris"),
        ("Alice works in Paris", "Bob lives in Paris"),
        ("Priya's manager is Tom", "Tom's manager is Priya"),
        ("Globex makes turbines", "Globex will merge with Hooli"),
        ("東京は日本の首都です", "서울은 한국의 수도입니다"),
        ("Noor likes tea", "Noor likes coffee"),
    ],
)
def test_what_is_compatible_or_about_another_neither_merges_nor_replaces(decision, known, statement):
    assert decision(known, statement) in (ChoiceKind.BRANCH, ChoiceKind.CREATE)


def test_a_negation_never_merges(decision):
    assert decision("Sam is allergic to peanuts", "Sam is not allergic to peanuts") is not ChoiceKind.MERGE


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=60), st.text(max_size=60), st.floats(-1, 1))
def test_any_two_texts_get_consistent_probabilities(judge, statement, known, similarity):
    (judgement,) = judge.judge_now([JudgePair(statement, known, similarity)])
    assert judgement.consistent
    assert set(judgement.probabilities) <= set(Relation)
    assert "\n" not in judgement.rationale or "\n" in statement + known


async def test_judging_leaves_the_event_loop_free(judge):
    pairs = [JudgePair(f"The {i} gate is open", f"The {i} gate is shut", 0.9) for i in range(64)]
    task = asyncio.create_task(judge.judge(pairs))
    turns = 0
    while not task.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 1
    assert len(await task) == len(pairs)


async def test_nothing_to_judge_is_nothing_judged(judge):
    assert await judge.judge([]) == []
