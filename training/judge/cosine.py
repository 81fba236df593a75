"""Cosine of the default embedder, for training and evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModel

from training.judge.model import pretrained


class Cosine:
    """Embeds with all-MiniLM-L6-v2: the mean of the token states, at unit length."""

    def __init__(self, cache: Path | None = None) -> None:
        """Loads the weights; ``cache`` is a file that keeps vectors between runs."""
        torch.set_num_threads(1)
        folder = pretrained()
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(256)
        self._tokenizer.enable_padding()
        self._model = AutoModel.from_pretrained(folder).eval()
        self._cache = cache
        self._known: dict[str, np.ndarray] = {}
        if cache is not None and cache.exists():
            with np.load(cache, allow_pickle=False) as stored:
                self._known = dict(zip(stored["texts"].tolist(), stored["vectors"], strict=True))

    def of(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """Returns the cosine of every pair."""
        missing = sorted({t for pair in pairs for t in pair if t not in self._known}, key=len)
        for start in range(0, len(missing), 64):
            texts = missing[start : start + 64]
            self._known.update(zip(texts, self._embed(texts), strict=True))
        if missing and self._cache is not None:
            np.savez(self._cache, texts=np.array(list(self._known)), vectors=np.stack(list(self._known.values())))
        return np.array([float(self._known[a] @ self._known[b]) for a, b in pairs])

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        encodings = self._tokenizer.encode_batch(list(texts))
        ids = torch.tensor([e.ids for e in encodings])
        mask = torch.tensor([e.attention_mask for e in encodings])
        with torch.no_grad():
            states = self._model(input_ids=ids, attention_mask=mask).last_hidden_state
        mean = (states * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        return torch.nn.functional.normalize(mean, dim=1).numpy()
