"""The PyTorch side of an export: loads a sentence-transformers model and writes it as one ONNX graph.

The only module that imports PyTorch. The graph is traced through the model's own modules (transformer, pooling,
dense, normalising), so whatever they do is what the graph does, and its vectors have unit length.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from transformers.utils import logging as transformers_logging

from concord_server.providers.embedders.model_files import ExportError

OUTPUT_NAME = "sentence_embedding"

# Longest text that counts where a model itself sets no bound; tokenizers then report a number like 10**30.
_NO_LIMIT = 1_000_000


class SourceModel:
    """A sentence-transformers model, in 32-bit floats on the CPU."""

    def __init__(self, source: Path | str) -> None:
        """Loads the model.

        Args:
            source: a model's directory, which is loaded without network access, or the name of a published model.

        Raises:
            ExportError: it cannot be loaded, or is no transformer with a fast tokenizer.
        """
        try:
            with _quiet():
                self._model = SentenceTransformer(
                    str(source),
                    device="cpu",
                    local_files_only=isinstance(source, Path),
                    model_kwargs={"attn_implementation": "eager", "dtype": "float32"},
                ).eval()
        except (OSError, ValueError, KeyError, ImportError) as error:
            raise ExportError(f"the model cannot be loaded: {error}") from error
        first = self._model[0]
        if not isinstance(first, Transformer):
            raise ExportError(f"the model starts with {type(first).__name__}; only transformers can be exported")
        self._tokenizer = first.tokenizer
        if not getattr(self._tokenizer, "is_fast", False):
            raise ExportError("the model has no fast tokenizer")

    @property
    def max_seq_length(self) -> int:
        """Tokens of a text that count, special tokens included."""
        config = self._model[0].auto_model.config
        limits = (self._model.max_seq_length, getattr(config, "max_position_embeddings", None))
        for limit in limits:
            if limit and limit < _NO_LIMIT:
                return int(limit)
        raise ExportError("the model sets no longest sequence length")

    @property
    def prompt(self) -> str:
        """What the model puts before a text by default."""
        name = self._model.default_prompt_name
        return self._model.prompts[name] if name else ""

    def save_tokenizer(self, path: Path) -> None:
        """Writes the tokenizer, set to cut at the longest length and to pad to the longest text of a batch."""
        described = self._tokenizer
        tokenizer = described.backend_tokenizer
        tokenizer.enable_truncation(self.max_seq_length, direction=described.truncation_side)
        tokenizer.enable_padding(
            direction=described.padding_side,
            pad_id=described.pad_token_id,
            pad_type_id=described.pad_token_type_id,
            pad_token=described.pad_token,
        )
        tokenizer.save(str(path))

    def save_graph(self, path: Path) -> None:
        """Writes the graph; every input has the shape (batch, sequence), the output (batch, dimension).

        Raises:
            ExportError: the model does something that ONNX cannot express.
        """
        with _quiet():
            features = self._model.preprocess(["A first text, to trace the graph with.", "Another one."])
            names = [name for name, value in features.items() if isinstance(value, torch.Tensor)]
            any_shape = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
            try:
                torch.onnx.export(
                    _Graph(self._model, names),
                    tuple(features[name] for name in names),
                    str(path),
                    input_names=names,
                    output_names=[OUTPUT_NAME],
                    dynamic_shapes=(tuple(any_shape for _ in names),),
                    external_data=True,
                    dynamo=True,
                    verbose=False,
                )
            except (torch.onnx.errors.OnnxExporterError, RuntimeError, ValueError) as error:
                raise ExportError(f"the model cannot be written as ONNX: {error}") from error

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """The reference: what sentence-transformers makes of the texts, at unit length."""
        with _quiet():
            vectors = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)


class _Graph(torch.nn.Module):
    """The model as a function of tensors."""

    def __init__(self, model: SentenceTransformer, names: Sequence[str]) -> None:
        super().__init__()
        self._model = model
        self._names = names

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        vectors = self._model(dict(zip(self._names, tensors, strict=True)))[OUTPUT_NAME]
        return torch.nn.functional.normalize(vectors[:, : self._model.truncate_dim], p=2.0, dim=1)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps progress bars and remarks meant for developers of exporters out of the user's terminal."""
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "sentence_transformers", "onnxscript")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
