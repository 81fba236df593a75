"""The embedder as it serves, on the default model."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from concord_server.ports.embedder import Embedder, EmbedderOverloadedError, EmbedderUnavailableError
from concord_server.providers.embedders import export
from concord_server.providers.embedders.batching import BatchLimits
from concord_server.providers.embedders.export import MIN_COSINE, export_model
from concord_server.providers.embedders.model_files import (
    DEFAULT_MODEL,
    WEIGHTS_FILE,
    ExportedModel,
    ModelNotFoundError,
    export_directory,
    find_model,
)
from concord_server.providers.embedders.onnx import (
    InferenceError,
    ModelLoadError,
    OnnxEmbedder,
    OnnxModel,
    OnnxOptions,
)

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("CONCORD_SHARED", ROOT.parent / "shared"))
FACTS = SHARED / "data" / "locomo_facts.jsonl"

TEXTS = [
    "Priya leads the payments team.",
    "The payments team is led by Priya.",
    "The deadline moved from Monday to Tuesday.",
    "東京には行ったことがない。",
    "Zoë's café opened at 09:30 — before the rain 🌧️.",
    "مرحبا بالعالم",
    "a",
    "",
    "   \n\t ",
    "\x00",
    "The committee met again and could not agree on the budget for the coming year. " * 8,
]


@pytest.fixture(scope="session")
def exported() -> ExportedModel:
    """The default model, exported if that was not done at set-up."""
    try:
        return find_model()
    except ModelNotFoundError as error:
        pytest.importorskip("torch", reason=f"the model cannot be exported without PyTorch ({error})")
        return export_model(DEFAULT_MODEL, export_directory(DEFAULT_MODEL))


@pytest.fixture(scope="session")
def model(exported: ExportedModel) -> OnnxModel:
    return OnnxModel(exported)


def cosines(left: npt.ArrayLike, right: npt.ArrayLike) -> npt.NDArray[np.float64]:
    a, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    return np.asarray((a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1))


async def test_vectors_are_those_of_sentence_transformers(model: OnnxModel):
    if not FACTS.exists():
        pytest.skip(f"the 500 real sentences are not there: {FACTS}")
    pytest.importorskip("sentence_transformers", reason="the reference needs the export extra")
    from concord_server.providers.embedders.torch_graph import SourceModel

    lines = FACTS.read_text(encoding="utf-8").splitlines()
    sentences = list(dict.fromkeys(json.loads(line)["text"] for line in lines))[:500]
    assert len(sentences) == 500
    embedder = OnnxEmbedder(model)
    served = await embedder.embed(sentences)
    await embedder.close()
    reference = SourceModel(export._source(DEFAULT_MODEL)).encode(sentences)
    assert cosines(served, reference).min() >= MIN_COSINE
    assert np.abs(np.stack(served) - reference).max() < 1e-5


async def test_vectors_have_unit_length_whatever_the_text(model: OnnxModel):
    embedder: Embedder = OnnxEmbedder(model)
    vectors = await embedder.embed(TEXTS)
    assert embedder.name == DEFAULT_MODEL
    assert embedder.dimension == 384
    assert [vector.shape for vector in vectors] == [(384,)] * len(TEXTS)
    assert {vector.dtype for vector in vectors} == {np.dtype(np.float32)}
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


async def test_a_paraphrase_is_nearer_than_another_matter(model: OnnxModel):
    led, leads, other = await OnnxEmbedder(model).embed([TEXTS[0], TEXTS[1], TEXTS[2]])
    assert led @ leads > 0.9 > 0.5 > led @ other


async def test_no_texts_make_no_vectors(model: OnnxModel):
    assert await OnnxEmbedder(model).embed([]) == []


async def test_what_lies_past_the_longest_sequence_does_not_count(model: OnnxModel):
    long = "word " * 300
    cut, longer, other = await OnnxEmbedder(model).embed([long, long + "and more " * 5000, "word"])
    np.testing.assert_allclose(cut, longer, atol=1e-6)
    assert cut @ other < 0.999


def test_a_vector_does_not_depend_on_its_neighbours(model: OnnxModel):
    texts = [text * times for text in TEXTS for times in (1, 2, 7)]
    alone = np.concatenate([model.encode([text]) for text in texts])
    together = model.encode(texts)
    backwards = model.encode(texts[::-1])[::-1]
    assert np.abs(alone - together).max() < 1e-6
    assert np.abs(backwards - together).max() < 1e-6


def test_equal_texts_have_equal_and_read_only_vectors(model: OnnxModel):
    vectors = model.encode(["again", TEXTS[0], "again"])
    assert (vectors[0] == vectors[2]).all()
    assert not (vectors[0] == vectors[1]).all()
    with pytest.raises(ValueError, match="read-only"):
        vectors[0][0] = 1


class HeldModel(OnnxModel):
    """The real model, which notes its runs and waits before each until told to go on."""

    def __init__(self, exported: ExportedModel) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.runs: list[list[str]] = []
        self.failing_on = ""
        super().__init__(exported)

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.runs.append(list(texts))
        self.gate.wait(timeout=60)
        if self.failing_on in texts:
            raise InferenceError("no memory")
        return super().encode(texts)


@pytest.fixture
def held(exported: ExportedModel) -> HeldModel:
    model = HeldModel(exported)
    model.failing_on = "fails"
    model.runs.clear()
    return model


async def test_concurrent_calls_share_runs_and_get_their_own_vectors(held: HeldModel):
    embedder = OnnxEmbedder(held)
    texts = [f"{text} {number}" for number in range(8) for text in TEXTS]
    answers = await asyncio.gather(*(embedder.embed([text]) for text in texts))
    assert len(held.runs) < len(texts) / 4
    together = await embedder.embed(texts)
    assert np.abs(np.stack([vector for [vector] in answers]) - together).max() < 1e-6
    await embedder.close()


async def test_a_failure_of_the_runtime_is_unavailability_for_its_callers_alone(held: HeldModel):
    embedder = OnnxEmbedder(held, BatchLimits(max_items=1))
    answers = await asyncio.gather(
        embedder.embed(["works"]), embedder.embed(["fails"]), embedder.embed(["works too"]), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [list, EmbedderUnavailableError, list]
    assert "no memory" in str(answers[1])
    await embedder.close()


async def test_a_text_that_is_no_unicode_is_refused_before_it_is_batched(held: HeldModel):
    embedder = OnnxEmbedder(held)
    good, bad = await asyncio.gather(embedder.embed(["good"]), embedder.embed(["\ud800"]), return_exceptions=True)
    assert isinstance(good, list)
    assert isinstance(bad, ValueError)
    assert held.runs == [["good"]]
    with pytest.raises(TypeError):
        await embedder.embed("one text")
    await embedder.close()


async def test_too_many_waiting_texts_are_overload(held: HeldModel):
    embedder = OnnxEmbedder(held, BatchLimits(max_items=1, max_waiting=1))
    held.gate.clear()
    call = asyncio.create_task(embedder.embed(["a", "b", "c"]))
    await asyncio.sleep(0)
    with pytest.raises(EmbedderOverloadedError):
        await embedder.embed(["d"])
    held.gate.set()
    assert len(await call) == 3
    await embedder.close()


async def test_a_closed_embedder_is_unavailable(held: HeldModel):
    embedder = OnnxEmbedder(held)
    await embedder.close()
    await embedder.close()
    with pytest.raises(EmbedderUnavailableError, match="closed"):
        await embedder.embed(["a"])


def test_the_process_that_serves_imports_no_torch(exported: ExportedModel):
    program = """
import asyncio, sys
from concord_server.providers.embedders.onnx import OnnxEmbedder

async def main():
    embedder = OnnxEmbedder.load(sys.argv[1])
    [vector] = await embedder.embed(["served"])
    await embedder.close()
    heavy = {"torch", "transformers", "sentence_transformers", "onnx", "scipy", "sklearn"} & set(sys.modules)
    print(len(vector), sorted(heavy))

asyncio.run(main())
"""
    command = [sys.executable, "-c", program, str(exported.directory)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert answer.stdout == "384 []\n"


def test_a_second_export_does_nothing_and_imports_no_torch(exported: ExportedModel):
    if exported.manifest.source != export._weights_id(DEFAULT_MODEL):
        pytest.skip("the exported model is of other weights than those installed")
    program = """
import sys
from concord_server.providers.embedders.export import main
code = main(["--target", sys.argv[1]])
sys.exit(code or "torch" in sys.modules)
"""
    before = {path: path.stat().st_mtime_ns for path in exported.directory.iterdir()}
    command = [sys.executable, "-c", program, str(exported.directory)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert answer.stdout.startswith(f"{DEFAULT_MODEL} (384 dimensions, 256 tokens) in ")
    assert before == {path: path.stat().st_mtime_ns for path in exported.directory.iterdir()}


def damaged(exported: ExportedModel, directory: Path) -> ExportedModel:
    """A copy whose weights lack their end."""
    for path in exported.directory.iterdir():
        (directory / path.name).symlink_to(path)
    weights = directory / WEIGHTS_FILE
    weights.unlink()
    weights.write_bytes((exported.directory / WEIGHTS_FILE).read_bytes()[:-4096])
    return ExportedModel.read(directory)


def test_a_damaged_export_is_refused_at_load(exported: ExportedModel, tmp_path: Path):
    with pytest.raises(ModelLoadError, match=WEIGHTS_FILE):
        OnnxModel(damaged(exported, tmp_path))


def test_more_threads_make_the_same_vectors(exported: ExportedModel, model: OnnxModel):
    threaded = OnnxModel(exported, OnnxOptions(threads=2))
    assert np.abs(threaded.encode(TEXTS) - model.encode(TEXTS)).max() < 1e-6
