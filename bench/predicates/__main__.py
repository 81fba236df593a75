"""Which pairs of predicate names the proposal confirms, suggests, or takes no notice of.

    python -m bench.predicates [--pairs FILE] [--no-generated] [--json FILE]

Each pair is put as Reconcile puts it: the subject has a fact by the first name, and a claim comes by the second one
with another value. ``same`` pairs mean the same, ``other`` ones do not, however near they are. The rules were made with
the ``seen`` pairs in view; the ``fresh`` ones were written afterwards, and nothing was changed for them. All pairs of
names with one of six heads and two of 25 modifiers are ``generated``. Nothing here is random.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from concord_server.domain.predicates import Near, Vocabulary, confirms, nearest, questions, worth_judging
from concord_server.ports.embedder import Embedder
from concord_server.ports.judge import Judge, JudgePair
from concord_server.providers.embedders.onnx import OnnxEmbedder
from concord_server.providers.judges.local import LocalJudge

PAIRS = Path(__file__).with_name("pairs.tsv")

CONFIRMED, SUGGESTED, SILENT = "confirmed", "suggested", "neither"

_MODIFIERS = """
home work billing shipping birth death start end mother father spouse child primary emergency current previous min max
gross net legal first second new temporary
""".split()  # noqa: SIM905 - a list literal of so many words is hard to read
_HEADS = {
    "address": ("12 Mill Lane", "4 Rue Haute"),
    "date": ("2026-03-01", "2026-09-30"),
    "name": ("Lin", "Omar"),
    "phone": ("+44 20 7946 0018", "+1 202 555 0143"),
    "city": ("Lagos", "Porto"),
    "score": ("12", "31"),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two names; ``value`` is the claim's, ``known_value`` that of the known fact."""

    set_name: str
    same: bool
    known: str
    candidate: str
    known_value: str
    value: str


def read_pairs(path: Path = PAIRS) -> list[Pair]:
    """Reads a file with the columns set, label, known, candidate, value, other_value."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Pair(r["set"], r["label"] == "same", r["known"], r["candidate"], r["value"], r["other_value"])
            for r in csv.DictReader(file, delimiter="\t")
        ]


def generated() -> Iterator[Pair]:
    """Yields every pair of names with one head and two modifiers."""
    for head, (known_value, value) in _HEADS.items():
        for one, other in itertools.combinations(_MODIFIERS, 2):
            yield Pair("generated", False, f"{one}_{head}", f"{other}_{head}", known_value, value)


async def propose(embedder: Embedder, judge: Judge, pairs: Sequence[Pair]) -> list[str]:
    """Returns what becomes of each pair."""
    names = sorted({name for pair in pairs for name in (pair.known, pair.candidate)})
    vectors = dict(zip(names, await embedder.embed([name.replace("_", " ") for name in names]), strict=True))
    outcomes = []
    for pair in pairs:
        similarity = float(vectors[pair.known] @ vectors[pair.candidate])
        near = nearest(pair.candidate, [Near(pair.known, similarity, pair.known_value)])
        if not near:
            outcomes.append(SILENT)
        elif worth_judging(pair.candidate, near[0], Vocabulary()) and await _confirmed(
            embedder, judge, pair, near[0]
        ):
            outcomes.append(CONFIRMED)
        else:
            outcomes.append(SUGGESTED)
    return outcomes


async def _confirmed(embedder: Embedder, judge: Judge, pair: Pair, near: Near) -> bool:
    asked = questions("Sam", pair.candidate, pair.value, near)
    texts = sorted({text for question in asked for text in question})
    vectors = dict(zip(texts, await embedder.embed(texts), strict=True))
    return confirms(await judge.judge([JudgePair(s, k, float(vectors[s] @ vectors[k])) for s, k in asked]))


def summary(pairs: Sequence[Pair], outcomes: Sequence[str]) -> list[dict[str, object]]:
    """Returns a row per set and label."""
    counts: dict[tuple[str, bool], Counter[str]] = {}
    for pair, outcome in zip(pairs, outcomes, strict=True):
        counts.setdefault((pair.set_name, pair.same), Counter())[outcome] += 1
    rows: list[dict[str, object]] = []
    for (name, same), found in counts.items():
        row: dict[str, object] = {"set": name, "meaning": "same" if same else "other", "pairs": found.total()}
        row.update((outcome, found[outcome]) for outcome in (CONFIRMED, SUGGESTED, SILENT))
        rows.append(row)
    return rows


async def _measure(pairs: Sequence[Pair]) -> tuple[list[str], float]:
    embedder, judge = OnnxEmbedder.load(), LocalJudge.load()
    try:
        started = time.perf_counter()
        outcomes = await propose(embedder, judge, pairs)
        return outcomes, (time.perf_counter() - started) / len(pairs)
    finally:
        await embedder.close()


def main() -> int:
    """Prints the table and which pairs were confirmed wrongly; returns 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=Path, default=PAIRS)
    parser.add_argument("--no-generated", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    pairs = read_pairs(given.pairs) + ([] if given.no_generated else list(generated()))
    outcomes, seconds = asyncio.run(_measure(pairs))
    rows = summary(pairs, outcomes)
    print("\t".join(rows[0]))
    for row in rows:
        print("\t".join(str(value) for value in row.values()))
    wrong = [
        f"{p.known}/{p.candidate}" for p, o in zip(pairs, outcomes, strict=True) if o == CONFIRMED and not p.same
    ]
    missed = [
        f"{p.known}/{p.candidate}" for p, o in zip(pairs, outcomes, strict=True) if o != CONFIRMED and p.same
    ]
    print(f"confirmed wrongly: {', '.join(wrong) or 'none'}")
    print(f"left to the admin: {', '.join(missed)}")
    print(f"{seconds * 1000:.1f} ms a pair")
    if given.json:
        given.json.write_text(json.dumps({"rows": rows, "wrong": wrong, "missed": missed}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
