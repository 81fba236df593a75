"""Exports of small models with random weights must do what sentence-transformers does with the same model."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from concord_server.providers.embedders import export
from concord_server.providers.embedders.export import MIN_COSINE, export_model
from concord_server.providers.embedders.model_files import GRAPH_FILE, ExportedModel, ExportError
from concord_server.providers.embedders.onnx import OnnxModel

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *["the", "a", "tea", "team", "met", "on", "monday", "and", "left", "red", "blue", "##s", "1", "2", "3"],
]


def small_model(
    directory: Path, pooling: Any, *, dense: bool = False, normalised: bool = True, prompt: str = ""
) -> Path:
    pytest.importorskip("torch", reason="small models are made and exported by PyTorch")
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(7)
    bert = directory / "bert"
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(bert)
    (directory / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizerFast(str(directory / "vocab.txt")).save_pretrained(bert)
    transformer = Transformer(str(bert), max_seq_length=12)
    modules: list[Any] = [transformer, Pooling(32, pooling)]
    width = modules[1].get_embedding_dimension()
    modules += [Dense(width, 16)] if dense else []
    modules += [Normalize()] if normalised else []
    prompts = {"default": prompt} if prompt else {}
    made = SentenceTransformer(
        modules=modules, device="cpu", prompts=prompts, default_prompt_name="default" if prompt else None
    )
    made.save_pretrained(str(directory / "model"))
    return directory / "model"


SMALL_TEXTS = ["the tea", "The team met on Monday and left", "a", "", "red 1 2 3 " * 20]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a small model and its export."""
    directory = tmp_path_factory.mktemp("small")
    export_model(str(small_model(directory, "mean")), directory / "export")
    return directory


@pytest.mark.parametrize(
    "variant",
    [
        {"pooling": "mean", "dense": True},
        {"pooling": ("cls", "max"), "normalised": False, "prompt": "a tea : "},
        {"pooling": "lasttoken"},
    ],
    ids=lambda variant: "-".join(map(str, variant.values())),
)
def test_an_export_does_what_the_model_does(tmp_path: Path, variant: dict[str, Any]):
    path = small_model(tmp_path, **variant)
    exported = export_model(str(path), tmp_path / "export")
    from concord_server.providers.embedders.torch_graph import SourceModel

    assert exported.manifest.name == "model"
    assert exported.manifest.max_seq_length == 12
    assert exported.manifest.prompt == variant.get("prompt", "")
    served = OnnxModel(exported).encode(SMALL_TEXTS)
    reference = SourceModel(path).encode(SMALL_TEXTS)
    assert served.shape == reference.shape == (len(SMALL_TEXTS), exported.manifest.dimension)
    assert (served * reference).sum(axis=1).min() >= MIN_COSINE
    np.testing.assert_allclose(np.linalg.norm(served, axis=1), 1, atol=1e-6)


def test_an_export_that_disagrees_with_its_model_is_refused(small: Path):
    exported = ExportedModel.read(small / "export")
    reference = OnnxModel(exported).encode(export._CHECK_TEXTS)
    export._check(exported, reference)
    with pytest.raises(ExportError, match="disagrees with sentence-transformers"):
        export._check(exported, reference[::-1])


def test_a_model_is_exported_again_when_its_files_change(small: Path, tmp_path: Path):
    directory = shutil.copytree(small, tmp_path / "copy")
    path, target = directory / "model", directory / "export"
    stamp = (target / GRAPH_FILE).stat().st_mtime_ns
    export_model(str(path), target)
    assert (target / GRAPH_FILE).stat().st_mtime_ns == stamp
    os.utime(path / "config.json")
    export_model(str(path), target)
    assert (target / GRAPH_FILE).stat().st_mtime_ns != stamp
    assert names(directory) == names(small), "nothing is left of the scratch directory or the old export"


def test_a_failed_export_leaves_the_old_one_in_place(small: Path, monkeypatch: pytest.MonkeyPatch):
    from concord_server.providers.embedders.torch_graph import SourceModel

    def fail(_model: SourceModel, path: Path) -> None:
        path.write_text("half a graph")
        raise ExportError("it went wrong")

    before, listed = ExportedModel.read(small / "export"), names(small)
    monkeypatch.setattr(SourceModel, "save_graph", fail)
    with pytest.raises(ExportError, match="it went wrong"):
        export_model(str(small / "model"), small / "export", force=True)
    assert ExportedModel.read(small / "export") == before
    assert before.damaged_files() == []
    assert names(small) == listed


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_model_that_is_no_transformer_is_refused(tmp_path: Path):
    pytest.importorskip("torch", reason="small models are made and exported by PyTorch")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models

    tokenizer = Tokenizer(models.WordPiece({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=8)], device="cpu").save_pretrained(
        str(tmp_path / "static")
    )
    with pytest.raises(ExportError, match="starts with StaticEmbedding"):
        export_model(str(tmp_path / "static"), tmp_path / "export")


def test_a_directory_with_something_else_is_not_replaced(tmp_path: Path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ExportError, match="holds no exported model"):
        export_model("owner/no-such-model", tmp_path)
    assert (tmp_path / "letter.txt").read_text() == "dear"


def test_a_failure_is_one_line_and_an_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("torch", reason="without PyTorch the failure is another one")
    code = export.main(["--model", str(tmp_path / "missing"), "--target", str(tmp_path / "export")])
    captured = capsys.readouterr()
    assert code == 1
    assert captured.err.startswith(f"cannot export {tmp_path / 'missing'}: the model cannot be loaded: ")
    assert captured.out == ""


def test_without_pytorch_the_failure_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "concord_server.providers.embedders.torch_graph", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ExportError, match=r"torch is not installed.*concord-server\[export\]"):
        export_model("owner/a-model", tmp_path / "export")
