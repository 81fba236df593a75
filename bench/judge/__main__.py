"""What the whole Reconcile decision does with labelled pairs, per set and label, with default thresholds.

    python -m bench.judge [--data DIR] [--pairs FILE] [--value-pairs FILE] [--updates FILE] [--json FILE]

The first text of a pair is the known fact, the second the statement. A pair whose cosine is below the conflict
threshold is no candidate: it is "new" without being judged. Nothing here is random; texts come in file order.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.judge.measure import Case, Outcome, judged, latency, outcomes
from bench.judge.report import calibration, curve, print_table, summary, targets

TRAINED_ON = frozenset(("snli", "med"))
"""Sets of ``pairs.tsv`` that were trained on: measured only when asked for."""


def read_pairs(path: Path, *, trained: bool) -> Iterator[Case]:
    """Yields the cases of a file with the columns set, text_a, text_b, label."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if trained or row["set"] not in TRAINED_ON:
                yield Case(row["set"], row["label"], row["text_a"], row["text_b"])


def read_value_pairs(path: Path) -> Iterator[Case]:
    """Yields the cases of a file with the columns kind, text_a, text_b, label."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            yield Case("value_pairs", row["label"], row["text_a"], row["text_b"])


def read_updates(path: Path) -> Iterator[Case]:
    """Yields the cases of a JSON-lines file with the fields user_id, old, new."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield Case("memory_updates", "contradiction", row["old"], row["new"], row["user_id"])


def _cases(arguments: argparse.Namespace) -> list[Case]:
    data: Path = arguments.data
    value_pairs = arguments.value_pairs or data / "value_pairs.tsv"
    updates = arguments.updates or data / "memory_updates.jsonl"
    pairs = arguments.pairs or data / "pairs.tsv"
    cases: list[Case] = []
    if value_pairs.exists():
        cases += read_value_pairs(value_pairs)
    if updates.exists():
        cases += read_updates(updates)
    if pairs.exists() and not arguments.development:
        cases += [
            case for case in read_pairs(pairs, trained=arguments.trained) if case.set_name not in arguments.skip
        ]
    return cases


def main() -> int:
    """Prints the tables; returns 1 when there is nothing to measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the files below")
    parser.add_argument("--pairs", type=Path, help="pairs.tsv")
    parser.add_argument("--value-pairs", type=Path, help="value_pairs.tsv")
    parser.add_argument("--updates", type=Path, help="memory_updates.jsonl")
    parser.add_argument("--skip", action="append", default=[], metavar="SET", help="leave a set of pairs.tsv out")
    parser.add_argument("--development", action="store_true", help="only the sets that may be tuned on")
    parser.add_argument("--trained", action="store_true", help="also the sets that were trained on")
    parser.add_argument("--json", type=Path, help="write every figure here")
    arguments = parser.parse_args()
    cases = _cases(arguments)
    if not cases:
        print(f"no pairs found under {arguments.data}: give --pairs and --value-pairs")
        return 1
    results = judged(cases)
    done: list[Outcome] = outcomes(results)
    rows = summary(done)
    print_table(rows)
    goals = targets(rows)
    reliability = calibration(results)
    tradeoff = curve(results)
    milliseconds = latency(cases)
    times = ", ".join(f"{name} {value:.1f} ms" for name, value in milliseconds.items())
    print(f"\njudging 5 candidates on one thread: {times}")
    if arguments.json:
        figures = {
            "rows": rows,
            "targets": goals,
            "calibration": reliability,
            "curve": tradeoff,
            "latency_ms": milliseconds,
        }
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
