"""The training mixture: which sets, how many pairs of each, and how their labels become partial targets.

Run ``python -m training.judge.recipe --data ../shared/data --out build/judge`` to write ``train.tsv`` and
``held_out.tsv`` (columns: known, statement, forward, backward, distinct, kind).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

from training.judge.generate import Pair, generate
from training.judge.more_frames import MORE_FRAMES
from training.judge.transform import transformed
from training.judge.wordnet import DEFAULT_DIRECTORY

LABELS: dict[str, tuple[str, str, str]] = {
    "entailment": ("E", "e", "0"),
    "neutral": ("N", "e", "x"),
    "contradiction": ("C", "C", "x"),
    "duplicate": ("E", "E", "0"),
    "not_duplicate": ("n", "x", "x"),
}
"""Label of a public pair → (forward, backward, distinct), as in ``generate.Pair``."""

PUBLIC: dict[str, int] = {
    "lonli": 9000,
    "hans": 3000,
    "lre_relations": 6000,
    "mnli_dev": 12000,
    "hallueditbench": 3000,
    "conjnli": 5000,
    "dnc_megaveridicality": 1000,
    "dnc_function_words": 1500,
    "numersense_swaps": 4000,
    "scone": 2500,
    "negation_nli": 4500,
    "scitail_dev_test": 1500,
    "timesensitiveqa": 1000,
    "foolmetwice": 1000,
    "ambient_disambiguated": 2000,
    "newprotocols_base": 5000,
    "newprotocols_contrast": 4000,
    "newprotocols_edit_premise": 4000,
    "newprotocols_edit_other": 3000,
    "wikisplit": 4000,
    "semiauto_wiki": 4000,
    "cad_nli": 9000,
    "help_and_or": 2500,
    "fever_symmetric": 700,
    "comve_swaps": 4000,
}
"""Set of ``train/`` → most pairs taken."""

SINGLE_WORD = {"wikifactcheck": 8000, "breaking_nli": 6000, "semantoneg": 7400}
"""Set of ``train_pairs.tsv`` → most pairs taken."""

IN_PAIRS = {"snli": 10000, "med": 4500}
"""Sets of ``pairs.tsv`` that may be trained on; no other set of that file is read here."""

LONGEST = 240
"""Most characters of both texts together: facts are short, and short pairs train faster."""


def _rows(path: Path) -> Iterator[dict[str, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t")


def _pair(row: dict[str, str], kind: str) -> Pair | None:
    label = LABELS.get(row["label"])
    if label is None or len(row["text_a"]) + len(row["text_b"]) > LONGEST:
        return None
    return Pair(row["text_a"].strip(), row["text_b"].strip(), *label, kind)


def _public(data: Path) -> Iterator[tuple[str, int, list[Pair]]]:
    for name, most in PUBLIC.items():
        pairs = [pair for row in _rows(data / "train" / f"{name}.tsv.gz") if (pair := _pair(row, name))]
        yield name, most, pairs
    for file, wanted in (("train_pairs.tsv", SINGLE_WORD), ("pairs.tsv", IN_PAIRS)):
        grouped: dict[str, list[Pair]] = {name: [] for name in wanted}
        for row in _rows(data / file):
            name = row["set"].split("-")[0]
            if name in wanted and (pair := _pair(row, name)):
                grouped[name].append(pair)
        for name, pairs in grouped.items():
            yield name, wanted[name], pairs


def build(data: Path, wordnet: Path, seed: int, generated: int) -> tuple[list[Pair], list[Pair]]:
    """Returns (training pairs, held-out pairs): 4% of every set is held out, by the pair's first text."""
    rng = random.Random(seed)
    chosen: list[Pair] = []
    sentences: list[str] = []
    for name, most, pairs in _public(data):
        rng.shuffle(pairs)
        chosen += pairs[:most]
        if name in ("snli", "cad_nli", "mnli_dev", "newprotocols_base", "med", "semiauto_wiki", "wikisplit"):
            sentences += [
                text for pair in pairs[:4500] for text in (pair.known, pair.statement) if 15 < len(text) < 100
            ]
    unique = sorted(set(sentences))
    rng.shuffle(unique)
    chosen += list(transformed(unique[:26_000], wordnet, seed + 1))
    chosen += list(generate(generated, seed))
    held_texts = {text for text in sorted({pair.known for pair in chosen}) if rng.random() < 0.04}
    train = [pair for pair in chosen if pair.known not in held_texts and pair.statement not in held_texts]
    held = [pair for pair in chosen if pair.known in held_texts]
    rng.shuffle(train)
    return train, held


def second_pass(train: list[Pair], held: list[Pair], seed: int, generated: int) -> list[Pair]:
    """Returns the pairs of the second pass: half of the first, and new ones from more frames; held-out texts stay out."""
    rng = random.Random(seed)
    kept = [pair for pair in train if rng.random() < 0.5]
    unseen = {pair.known for pair in held} | {pair.statement for pair in held}
    kept += [pair for pair in generate(generated, seed, MORE_FRAMES) if not {pair.known, pair.statement} & unseen]
    rng.shuffle(kept)
    return kept


def write(path: Path, pairs: Iterable[Pair]) -> None:
    """Writes pairs as tab-separated values without a header."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        for pair in pairs:
            writer.writerow((pair.known, pair.statement, pair.forward, pair.backward, pair.distinct, pair.kind))


def main() -> None:
    """Writes the training and the held-out file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--wordnet", type=Path, default=DEFAULT_DIRECTORY)
    parser.add_argument("--out", type=Path, default=Path("build/judge"))
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--generated", type=int, default=60_000)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    train, held = build(arguments.data, arguments.wordnet, arguments.seed, arguments.generated)
    write(arguments.out / "train.tsv", train)
    write(arguments.out / "held_out.tsv", held)
    second = arguments.out / "second"
    second.mkdir(exist_ok=True)
    write(second / "train.tsv", second_pass(train, held, arguments.seed + 2, arguments.generated))
    write(second / "held_out.tsv", held)


if __name__ == "__main__":
    main()
