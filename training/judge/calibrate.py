"""Fits the judge's coefficients on held-out pairs, and reports how well its probabilities are calibrated.

Run ``python -m training.judge.calibrate --data build/judge --out server/concord_server/providers/judges/data``.
Half of the held-out pairs (by a hash of the known text) fits, the other half is measured.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from concord_server.domain.judgement import Relation
from concord_server.providers.judges.calibration import CLASSES
from concord_server.providers.judges.evidence import FEATURES, features, gather
from concord_server.providers.judges.pair_model import PairModel

from training.judge.cosine import Cosine
from training.judge.generate import Pair
from training.judge.train import read, swapped

CANDIDATE = 0.60
"""Only pairs from this cosine on are ever judged."""

_ADDS = {"snli", "cad_nli", "help_and_or", "generated-detail", "med", "newprotocols_base", "conjnli", "wikisplit"}
"""Sets in which the reverse of an entailment usually says more than it."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Features of shape ``(pairs, features)``, classes, weights, and the pairs themselves."""

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    pairs: list[Pair]
    cosines: np.ndarray


def relation(pair: Pair) -> Relation | None:
    """Returns the relation that a labelled pair shows, ``None`` when its label does not tell."""
    if pair.forward == "C":
        return Relation.CONTRADICTION
    if pair.distinct == "1":
        return Relation.DISTINCT
    if pair.forward == "E":
        return Relation.SAME
    if pair.backward == "E" and pair.kind in _ADDS:
        return Relation.REFINEMENT
    if pair.forward == "N":
        return Relation.EXTENSION
    return None


def first_half(pair: Pair) -> bool:
    """Whether a pair belongs to the half that fits."""
    return hashlib.sha256(pair.known.encode()).digest()[0] % 2 == 0


def examples(pairs: list[Pair], model: PairModel, cosine: Cosine) -> Examples:
    """Returns the pairs that would be judged and whose relation is known, with both orders of lopsided ones."""
    both = pairs + [swapped(p) for p in pairs if p.forward == "E" and p.backward != "E" and p.kind in _ADDS]
    labelled = [(pair, name) for pair in both if (name := relation(pair)) is not None]
    cosines = cosine.of([(pair.known, pair.statement) for pair, _ in labelled])
    kept = [(pair, name, c) for (pair, name), c in zip(labelled, cosines, strict=True) if c >= CANDIDATE]
    gathered = [gather(p.statement, p.known, float(c)) for p, _, c in kept]
    logits = model.logits([(p.known, e.wording) for (p, _, _), e in zip(kept, gathered, strict=True)])
    rows = [features(evidence, row) for evidence, row in zip(gathered, logits, strict=True)]
    y = np.array([CLASSES.index(name) for _, name, _ in kept])
    weight = np.array([WEIGHTS.get(pair.kind, 1.0) for pair, _, _ in kept])
    return Examples(np.array(rows), y, weight, [p for p, _, _ in kept], np.array([c for _, _, c in kept]))


WEIGHTS = {"transformed-synonym": 0.4, "hallueditbench": 0.3, "dnc_megaveridicality": 0.3, "timesensitiveqa": 0.3}
"""Sets that are noisy or unlike statements of facts count less."""


def fit(data: Examples, ridge: float = 2e-3) -> np.ndarray:
    """Returns coefficients of shape (classes, features)."""
    x, y, w = (torch.tensor(v, dtype=torch.float64) for v in (data.x, data.y, data.weight))
    weights = torch.zeros((len(CLASSES), x.shape[1]), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights], max_iter=300, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        losses = torch.nn.functional.cross_entropy(x @ weights.T, y.long(), reduction="none")
        loss = (losses * w).sum() / w.sum() + ridge * weights.pow(2).mean() * len(CLASSES)
        loss.backward()
        return loss

    optimiser.step(closure)
    return weights.detach().numpy()


def probabilities(weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Returns probabilities of shape (pairs, classes)."""
    scores = x @ weights.T
    exponents = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponents / exponents.sum(axis=1, keepdims=True)


def reliability(p: np.ndarray, hit: np.ndarray, bins: int = 10) -> tuple[list[tuple[float, float, int]], float]:
    """Returns rows of (mean probability, share that came true, pairs) and the expected calibration error."""
    rows, error = [], 0.0
    for low in np.linspace(0, 1, bins, endpoint=False):
        inside = (p >= low) & ((p < low + 1 / bins) | (low + 1 / bins >= 1))
        if inside.any():
            rows.append((float(p[inside].mean()), float(hit[inside].mean()), int(inside.sum())))
            error += inside.mean() * abs(p[inside].mean() - hit[inside].mean())
    return rows, float(error)


def main() -> None:
    """Fits, reports and writes ``calibration.json``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("build/judge"))
    parser.add_argument("--model", type=Path, help="folder of the exported model; the shipped one by default")
    parser.add_argument("--out", type=Path, default=Path("server/concord_server/providers/judges/data"))
    arguments = parser.parse_args()
    model, cosine = PairModel.load(arguments.model), Cosine(arguments.data / "vectors.npz")
    data = examples(read(arguments.data / "held_out.tsv"), model, cosine)
    fitting = np.array([first_half(pair) for pair in data.pairs])
    weights = fit(Examples(data.x[fitting], data.y[fitting], data.weight[fitting], [], np.array([])))
    p = probabilities(weights, data.x[~fitting])
    y = data.y[~fitting]
    rows, error = reliability(p[:, 0], y == 0)
    stored = {"features": FEATURES, "classes": CLASSES, "weights": np.round(weights, 5).tolist()}
    (arguments.out / "calibration.json").write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    for mean, share, count in rows:
        print(f"p(same) {mean:.3f}  came true {share:.3f}  pairs {count}")
    accuracy = float((p.argmax(1) == y).mean())
    print(f"fitted on {fitting.sum()}, measured on {(~fitting).sum()}: ECE {error:.4f}, accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
