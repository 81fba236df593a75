"""The trained pair model: reads two statements together and says what each means for the other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from tokenizers import Tokenizer

LONGEST_TOKENS = 80
"""Both statements together are cut to this many tokens, as in training."""

COLUMNS = 7
"""Logits per pair: entailment, neutral, contradiction from known to statement, the same three the other way, and
"about another subject"."""

_TURNED = [3, 4, 5, 0, 1, 2, 6]
_SURE = 0.9
_BATCH = 32
# The stock kernel of this fusion is slower than the two that it replaces.
_SLOW_FUSIONS = ["SkipLayerNormFusion"]
_DATA = "concord_server.providers.judges.data"


class PairModelError(Exception):
    """The model's files are missing, damaged, or not what this version expects."""


class PairModel:
    """Runs the model on the CPU. Safe to share between threads."""

    def __init__(self, session: ort.InferenceSession, tokenizer: Tokenizer, version: str) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self.version = version
        """First eight digits of the SHA-256 of the weights."""

    @classmethod
    def load(cls, folder: Path | None = None, *, threads: int = 1) -> Self:
        """Loads the model of ``folder``, or the one that comes with the package.

        Args:
            folder: holds ``pair_model.onnx``, ``tokenizer.json`` and ``SHA256SUMS``.
            threads: threads of one call.

        Raises:
            PairModelError: a file is missing or damaged.
        """
        source = resources.files(_DATA) if folder is None else folder
        try:
            weights, vocabulary, sums = (
                source.joinpath(name).read_bytes() for name in ("pair_model.onnx", "tokenizer.json", "SHA256SUMS")
            )
        except OSError as error:
            raise PairModelError(f"cannot read the pair model: {error}") from error
        digests = [hashlib.sha256(content).hexdigest() for content in (weights, vocabulary)]
        if any(digest not in sums.decode("ascii") for digest in digests):
            raise PairModelError("the pair model is damaged: its checksums are not those of SHA256SUMS")
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Spinning threads would burn the core that the server's event loop needs between two calls.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        session = ort.InferenceSession(
            weights, options, providers=["CPUExecutionProvider"], disabled_optimizers=_SLOW_FUSIONS
        )
        tokenizer = Tokenizer.from_str(vocabulary.decode("utf-8"))
        tokenizer.enable_truncation(LONGEST_TOKENS)
        tokenizer.enable_padding()
        return cls(session, tokenizer, digests[0][:8])

    def logits(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float32]:
        """Returns logits of shape ``(len(pairs), 7)`` for (known, statement) pairs; see ``COLUMNS``.

        A pair of which the model is unsure is read in the other order too, and the answers are averaged.
        """
        if not pairs:
            return np.zeros((0, COLUMNS), np.float32)
        rows = self._batched(pairs)
        unsure = [i for i, row in enumerate(rows) if min(_surest(row[:3]), _surest(row[3:6])) < _SURE]
        if unsure:
            turned = self._batched([(pairs[i][1], pairs[i][0]) for i in unsure])
            rows[unsure] = (rows[unsure] + turned[:, _TURNED]) / 2
        return rows

    def _batched(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float32]:
        return np.concatenate([self._run(pairs[i : i + _BATCH]) for i in range(0, len(pairs), _BATCH)])

    def _run(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float32]:
        encodings = self._tokenizer.encode_batch([(_encodable(a), _encodable(b)) for a, b in pairs])
        inputs = {
            "input_ids": np.array([e.ids for e in encodings], np.int64),
            "attention_mask": np.array([e.attention_mask for e in encodings], np.int64),
            "token_type_ids": np.array([e.type_ids for e in encodings], np.int64),
        }
        result: npt.NDArray[np.float32] = self._session.run(["logits"], inputs)[0]
        return result


def _surest(logits: npt.NDArray[np.float32]) -> float:
    """Returns the probability of the most probable of three classes."""
    exponents = np.exp(logits - logits.max())
    return float(exponents.max() / exponents.sum())


def _encodable(text: str) -> str:
    """Lone surrogates have no UTF-8 and would be refused by the tokenizer."""
    return text.encode("utf-8", "replace").decode("utf-8")
