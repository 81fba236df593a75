"""The embedder that serves: an exported model on ONNX Runtime, shared by concurrent callers in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors
from tokenizers import Encoding, Tokenizer

from concord_server.ports.embedder import EmbedderOverloadedError, EmbedderUnavailableError, Vector
from concord_server.providers.embedders.batching import (
    BatcherClosedError,
    BatcherFullError,
    BatchLimits,
    MicroBatcher,
)
from concord_server.providers.embedders.model_files import DEFAULT_MODEL, ExportedModel, find_model

# What the runtime raises when a graph that loaded cannot be run, for want of memory for one.
_RUN_ERRORS = (
    ort_errors.RuntimeException,
    ort_errors.Fail,
    ort_errors.EPFail,
    ort_errors.EngineError,
    MemoryError,
)

_LOAD_ERRORS = (
    *_RUN_ERRORS,
    ort_errors.InvalidArgument,
    ort_errors.InvalidGraph,
    ort_errors.InvalidProtobuf,
    ort_errors.NoModel,
    ort_errors.NoSuchFile,
    ort_errors.NotImplemented,
)

# The stock kernel of this fusion is three times slower than the two it replaces: 15 % of a batch of 32.
_SLOW_FUSIONS = ["SkipLayerNormFusion"]

# For each input of a graph: the field of an encoding, and the padding's setting (0 where there is none).
_FEATURES = {
    "input_ids": ("ids", "pad_id"),
    "attention_mask": ("attention_mask", ""),
    "token_type_ids": ("type_ids", "pad_type_id"),
}


class ModelLoadError(Exception):
    """The files of an exported model are there but cannot be used; exporting again with `--force` may help."""


class InferenceError(Exception):
    """The runtime failed to run the model, or the model answered with something that is no vector."""


@dataclass(frozen=True, slots=True)
class OnnxOptions:
    """How much of the machine one embedder may take.

    Attributes:
        threads: cores that work on one batch.
        limits: bounds of a batch and of the queue; a unit of cost is a token.
    """

    threads: int = 1
    limits: BatchLimits = field(default_factory=BatchLimits)


class OnnxModel:
    """An exported model as a blocking function of texts; may be called from several threads."""

    def __init__(self, exported: ExportedModel, options: OnnxOptions | None = None) -> None:
        """Loads the model and runs it once.

        Raises:
            ModelLoadError: the files are damaged, or were made for another runtime.
        """
        options = options or OnnxOptions()
        self.manifest = exported.manifest
        self._max_tokens = options.limits.max_cost
        if damaged := exported.damaged_files():
            raise ModelLoadError(f"{exported.directory}: {', '.join(damaged)} changed since the export")
        self._tokenizer = Tokenizer.from_file(str(exported.tokenizer_path))
        self._padding = self._tokenizer.padding or {}
        self._tokenizer.no_padding()  # done per group, when it is known what is computed together
        try:
            self._session = ort.InferenceSession(
                str(exported.graph_path),
                _session_options(options.threads),
                providers=["CPUExecutionProvider"],
                disabled_optimizers=_SLOW_FUSIONS,
            )
            self._inputs = [node.name for node in self._session.get_inputs()]
            self.encode(["warm"])
        except (*_LOAD_ERRORS, InferenceError) as error:
            raise ModelLoadError(f"{exported.graph_path}: {error}") from error

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Returns a read-only matrix of shape (texts, dimension) with rows of unit length.

        Equal texts are computed once, so their rows are equal to the last bit.

        Raises:
            InferenceError: the model cannot be run.
        """
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        encodings = self._tokenizer.encode_batch_fast([self.manifest.prompt + text for text in rows])
        unique = np.empty((len(rows), self.manifest.dimension), dtype=np.float32)
        for group in group_by_length([len(encoding) for encoding in encodings], self._max_tokens):
            unique[group] = self._run([encodings[row] for row in group])
        matrix = unique[[rows[text] for text in texts]]
        matrix.flags.writeable = False
        return matrix

    def _run(self, encodings: Sequence[Encoding]) -> npt.NDArray[np.float32]:
        try:
            vectors: npt.NDArray[np.float32]
            [vectors] = self._session.run(None, {name: self._feature(name, encodings) for name in self._inputs})
        except _RUN_ERRORS as error:
            raise InferenceError(str(error)) from error
        if not np.isfinite(vectors).all():
            raise InferenceError("the model answered with numbers that are not finite")
        return vectors

    def _feature(self, name: str, encodings: Sequence[Encoding]) -> npt.NDArray[np.int64]:
        """One input of the graph, padded to the longest text: shape (texts, tokens)."""
        values, pad_with = _FEATURES[name]
        longest = max(map(len, encodings))
        feature = np.full((len(encodings), longest), self._padding.get(pad_with, 0), dtype=np.int64)
        left = self._padding.get("direction") == "left"
        for row, encoding in zip(feature, encodings, strict=True):
            length = len(encoding)
            row[longest - length if left else 0 : None if left else length] = getattr(encoding, values)
        return feature


class OnnxEmbedder:
    """Serves an exported model to concurrent callers (the port `Embedder`).

    Inference runs in threads of its own, so the event loop stays free. Belongs to one event loop.
    """

    def __init__(self, model: OnnxModel, limits: BatchLimits | None = None) -> None:
        """Makes an embedder of a loaded model; `close` it in the end."""
        limits = limits or BatchLimits()
        self._model = model
        self._threads = ThreadPoolExecutor(limits.concurrency, thread_name_prefix="embedder")
        self._batcher: MicroBatcher[str, Vector] = MicroBatcher(
            self._run, cost=self._estimated_tokens, limits=limits
        )

    @classmethod
    def load(
        cls, model: str = DEFAULT_MODEL, models_dir: Path | None = None, options: OnnxOptions | None = None
    ) -> OnnxEmbedder:
        """Loads the export of a model; blocks for some tenths of a second.

        Args:
            model: the name or path of a sentence-transformers model, or the directory of an export.
            models_dir: the directory of all exports, by default `default_models_dir()`.
            options: how much of the machine it may take.

        Raises:
            ModelNotFoundError: the model was not exported; the message names the command that does it.
            ModelLoadError: the export cannot be used.
        """
        options = options or OnnxOptions()
        return cls(OnnxModel(find_model(model, models_dir), options), options.limits)

    @property
    def name(self) -> str:
        """Model name, stored with the database and checked at start."""
        return self._model.manifest.name

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._model.manifest.dimension

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Returns one unit-length, read-only vector per text, in order; concurrent calls share batches.

        A text's vector differs by float noise alone (below 1e-6) with what it is computed beside. Tokens past the
        model's longest sequence do not count.

        Raises:
            EmbedderUnavailableError: the runtime failed, or the embedder is closed.
            EmbedderOverloadedError: too many texts are waiting.
            ValueError: a text holds a lone surrogate.
        """
        if isinstance(texts, str):
            raise TypeError("embed takes a sequence of texts, not one text")
        try:
            return await self._batcher.submit(texts)
        except InferenceError as error:
            raise EmbedderUnavailableError(f"embedder {self.name} failed: {error}") from error
        except BatcherClosedError as error:
            raise EmbedderUnavailableError(f"embedder {self.name} is closed") from error
        except BatcherFullError as error:
            raise EmbedderOverloadedError(f"embedder {self.name} is overloaded: {error}") from error

    async def close(self) -> None:
        """Refuses new calls, fails those that wait, and returns when the running batches have ended."""
        await self._batcher.close()
        self._threads.shutdown()

    async def _run(self, texts: list[str]) -> Sequence[Vector]:
        loop = asyncio.get_running_loop()
        return list(await loop.run_in_executor(self._threads, self._model.encode, texts))

    def _estimated_tokens(self, text: str) -> int:
        # Four bytes of UTF-8 a token is near enough in most scripts to keep batches alike; the model counts again.
        return min(len(text.encode()) // 4 + 2, self._model.manifest.max_seq_length)


def group_by_length(lengths: Sequence[int], max_tokens: int) -> Iterator[list[int]]:
    """Splits a batch into groups that are computed together, texts of like length beside each other.

    Args:
        lengths: tokens per text, each at least 1.
        max_tokens: most tokens in a group, padding included; one longer text makes a group of its own.

    Yields:
        Positions in `lengths`; each occurs once.
    """
    group: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if group and lengths[position] * (len(group) + 1) > max_tokens:
            yield group
            group = []
        group.append(position)
    if group:
        yield group


def _session_options(threads: int) -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Waiting threads sleep: the same cores serve the database and the other processes.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return options
