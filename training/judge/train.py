"""Fine-tunes the pair model for a given number of minutes.

Run ``python -m training.judge.train --data build/judge --out build/judge/model --minutes 60``. The learning rate
follows the clock, so that a run on a slower machine sees fewer pairs but ends as planned; the model card says how
many the shipped weights saw. A checkpoint is written every ten minutes.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer

from training.judge.generate import Pair
from training.judge.model import PairModel, pretrained

LONGEST_TOKENS = 80
WEIGHTS = {"transformed-synonym": 0.5, "hallueditbench": 0.5, "transformed-antonym": 0.7, "hans": 0.7}
"""Noisy sets count less."""
_CLASSES = "ENC"


@dataclass(frozen=True, slots=True)
class Batch:
    """Tensors of one batch: inputs of shape (pairs, tokens), targets per pair."""

    inputs: dict[str, torch.Tensor]
    pairs: list[Pair]


def read(path: Path) -> list[Pair]:
    """Returns the pairs of a file that ``recipe`` wrote."""
    with path.open(encoding="utf-8", newline="") as file:
        return [Pair(*row) for row in csv.reader(file, delimiter="\t")]


def swapped(pair: Pair) -> Pair:
    """Returns the same pair the other way round."""
    return Pair(pair.statement, pair.known, pair.backward, pair.forward, pair.distinct, pair.kind)


def encode(tokenizer: Tokenizer, pairs: list[Pair]) -> dict[str, torch.Tensor]:
    """Returns padded inputs for ``pairs``."""
    encodings = tokenizer.encode_batch([(pair.known, pair.statement) for pair in pairs])
    return {
        "input_ids": torch.tensor([e.ids for e in encodings]),
        "attention_mask": torch.tensor([e.attention_mask for e in encodings]),
        "token_type_ids": torch.tensor([e.type_ids for e in encodings]),
    }


def load_tokenizer(folder: Path) -> Tokenizer:
    """Returns the WordPiece tokenizer, cutting at ``LONGEST_TOKENS`` and padding to the longest of a batch."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST_TOKENS)
    tokenizer.enable_padding()
    return tokenizer


def batches(pairs: list[Pair], tokenizer: Tokenizer, size: int, rng: random.Random) -> Iterator[Batch]:
    """Yields shuffled batches of pairs of similar length, for ever."""
    while True:
        rng.shuffle(pairs)
        for start in range(0, len(pairs), size * 50):
            window = sorted(pairs[start : start + size * 50], key=lambda p: len(p.known) + len(p.statement))
            groups = [window[i : i + size] for i in range(0, len(window), size)]
            rng.shuffle(groups)
            for group in groups:
                mixed = [swapped(pair) if rng.random() < 0.5 else pair for pair in group]
                yield Batch(encode(tokenizer, mixed), mixed)


def direction_loss(logits: torch.Tensor, labels: list[str]) -> torch.Tensor:
    """Returns the loss per pair of one direction; partial labels only push the excluded class down."""
    log_p = torch.log_softmax(logits, dim=1)
    p = log_p.exp()
    total = torch.zeros(len(labels))
    smoothed = 0.96 * log_p + 0.04 * log_p.mean(dim=1, keepdim=True)
    for name, column in (("E", 0), ("N", 1), ("C", 2)):
        mask = torch.tensor([label == name for label in labels], dtype=torch.float32)
        total = total - mask * smoothed[:, column]
    for name, column in (("e", 2), ("n", 0)):
        mask = torch.tensor([label == name for label in labels], dtype=torch.float32)
        total = total - mask * torch.log1p(-p[:, column].clamp(max=0.999)) * (0.5 if name == "e" else 1.0)
    return total


def loss_of(logits: torch.Tensor, pairs: list[Pair]) -> torch.Tensor:
    """Returns the mean weighted loss of a batch."""
    weight = torch.tensor([WEIGHTS.get(pair.kind, 1.0) for pair in pairs])
    loss = direction_loss(logits[:, :3], [p.forward for p in pairs]) + direction_loss(
        logits[:, 3:6], [p.backward for p in pairs]
    )
    known = torch.tensor([pair.distinct != "x" for pair in pairs], dtype=torch.float32)
    target = torch.tensor([pair.distinct == "1" for pair in pairs], dtype=torch.float32)
    subject = torch.nn.functional.binary_cross_entropy_with_logits(logits[:, 6], target, reduction="none") * known
    return ((loss + 0.5 * subject) * weight).mean()


def evaluate(model: PairModel, tokenizer: Tokenizer, pairs: list[Pair]) -> dict[str, float]:
    """Returns accuracy of the forward label per kind of pair, over pairs whose label is certain."""
    model.eval()
    right: dict[str, list[float]] = {}
    ordered = sorted((p for p in pairs if p.forward in _CLASSES), key=lambda p: len(p.known) + len(p.statement))
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for start in range(0, len(ordered), 64):
            group = ordered[start : start + 64]
            best = model(**encode(tokenizer, group)).float()[:, :3].argmax(1)
            for pair, column in zip(group, best.tolist(), strict=True):
                right.setdefault(pair.kind, []).append(float(_CLASSES[column] == pair.forward))
    model.train()
    return {kind: round(sum(values) / len(values), 4) for kind, values in sorted(right.items())}


def main() -> None:
    """Trains, evaluates on the held-out pairs, and saves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("build/judge"))
    parser.add_argument("--out", type=Path, default=Path("build/judge/model"))
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=1.2e-4)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--start", type=Path, help="weights to go on from")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    arguments.out.mkdir(parents=True, exist_ok=True)
    train(arguments)


def train(arguments: argparse.Namespace) -> None:
    """Runs the training loop."""
    folder = pretrained()
    tokenizer, model = load_tokenizer(folder), PairModel(folder).train()
    if arguments.start is not None:
        model.load_state_dict(torch.load(arguments.start))
    # The word embeddings stay as they are: half of the weights, learnt from far more text than the pairs hold,
    # and the optimiser is twice as fast without them.
    model.encoder.embeddings.word_embeddings.weight.requires_grad_(False)
    head = [*model.dense.parameters(), *model.out.parameters()]
    body = [p for p in model.encoder.parameters() if p.requires_grad]
    groups = [{"params": body, "lr": arguments.rate}, {"params": head, "lr": arguments.rate * 4}]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01, fused=True)
    pairs, held = read(arguments.data / "train.tsv"), read(arguments.data / "held_out.tsv")
    rng = random.Random(arguments.seed)
    started, seconds, saved, step, mean = time.monotonic(), arguments.minutes * 60, 0.0, 0, 1.0
    for batch in batches(pairs, tokenizer, arguments.batch, rng):
        elapsed = time.monotonic() - started
        if elapsed >= seconds:
            break
        share = min(1.0, (step + 1) / 200) * max(0.02, 1 - elapsed / seconds)
        for group, rate in zip(optimiser.param_groups, (arguments.rate, arguments.rate * 4), strict=True):
            group["lr"] = rate * share
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(**batch.inputs)
        loss = loss_of(logits.float(), batch.pairs)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        step, mean = step + 1, 0.98 * mean + 0.02 * loss.item()
        if step % 100 == 0:
            print(f"{elapsed:6.0f} s  step {step}  pairs {step * arguments.batch}  loss {mean:.3f}", flush=True)
        if elapsed - saved > 600:
            saved = elapsed
            torch.save(model.state_dict(), arguments.out / "checkpoint.pt")
    torch.save(model.state_dict(), arguments.out / "model.pt")
    report = {
        "pairs_seen": step * arguments.batch,
        "minutes": arguments.minutes,
        "held_out": evaluate(model, tokenizer, held),
    }
    (arguments.out / "report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
