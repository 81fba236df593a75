"""Tables of what the judge did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from concord_server.domain.judgement import Relation
from concord_server.domain.model import Thresholds

from bench.judge.measure import THRESHOLDS, Outcome, Result, outcomes, saw_contradiction

ACTIONS = ("merged", "contradiction", "correction", "refinement", "extension", "new")

Row = dict[str, str | int | float]

_AT_MOST = {
    ("value_pairs", "contradiction"): 1 / 159,
    ("value_pairs", "distinct"): 0.0,
    ("becel-negation", "contradiction"): 0.01,
    ("becel-antonym", "contradiction"): 0.05,
    ("sick", "contradiction"): 0.01,
    ("sick", "neutral"): 0.03,
    ("memory_updates", "contradiction"): 1 / 16,
}
_AT_LEAST = {
    ("value_pairs", "duplicate"): 0.95,
    ("sick", "duplicate"): 0.90,
    ("becel-paraphrase", "duplicate"): 0.75,
}


_CALLED = (("value_pairs", "contradiction"), ("sick", "contradiction"))


def summary(done: Sequence[Outcome]) -> list[Row]:
    """Returns one row per set and label: counts of every action, and of what was judged a contradiction."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in done:
        groups.setdefault((outcome.result.case.set_name, outcome.result.case.label), []).append(outcome)
    rows: list[Row] = []
    for (name, label), members in sorted(groups.items()):
        counts = Counter(outcome.action for outcome in members)
        seen = sum(saw_contradiction(outcome.result) for outcome in members)
        row: Row = {"set": name, "label": label, "pairs": len(members), "judged_contradiction": seen}
        row |= {action: counts[action] for action in ACTIONS}
        rows.append(row)
    return rows


def print_table(rows: Sequence[Row]) -> None:
    """Prints counts and shares."""
    actions = " ".join(f"{action[:9]:>9}" for action in ACTIONS[1:])
    print(f"{'set':18} {'label':14} {'pairs':>6} {'merged':>13} {actions}    seen")
    for row in rows:
        share = 100 * int(row["merged"]) / int(row["pairs"])
        others = " ".join(f"{row[action]:>9}" for action in ACTIONS[1:])
        merged, seen = f"{row['merged']} ({share:.1f}%)", row["judged_contradiction"]
        print(f"{row['set']:18} {row['label']:14} {row['pairs']:>6} {merged:>13} {others} {seen:>7}")


def targets(rows: Sequence[Row]) -> list[Row]:
    """Prints and returns every target beside what was reached."""
    found: list[Row] = []
    for row in rows:
        key = (str(row["set"]), str(row["label"]))
        name = " ".join(key)
        share = int(row["merged"]) / int(row["pairs"])
        if key in _AT_MOST:
            found.append(_goal(f"{name} merged, at most", _AT_MOST[key], share, met=share <= _AT_MOST[key] + 1e-9))
        if key in _AT_LEAST:
            found.append(_goal(f"{name} merged, at least", _AT_LEAST[key], share, met=share >= _AT_LEAST[key]))
        if key in _CALLED:
            apart = max(1, int(row["pairs"]) - int(row["merged"]))
            called = (int(row["contradiction"]) + int(row["correction"])) / apart
            found.append(_goal(f"{name} kept apart as contradiction, at least", 0.8, called, met=called >= 0.8))
    print()
    for goal in found:
        sign = "ok  " if goal["met"] else "MISS"
        print(f"{sign} {goal['target']} {float(goal['limit']):.3f}: {float(goal['share']):.3f}")
    return found


def _goal(target: str, limit: float, share: float, *, met: bool) -> Row:
    return {"target": target, "limit": limit, "share": share, "met": int(met)}


def calibration(results: Sequence[Result], bins: int = 10) -> dict[str, object]:
    """Prints and returns the reliability of p(same) over candidates whose label says whether they are the same."""
    points = [
        (r.judgement.probability(Relation.SAME), r.case.label in ("duplicate", "entailment"))
        for r in results
        if r.candidate and r.case.set_name != "memory_updates"
    ]
    rows, error = [], 0.0
    for index in range(bins):
        inside = [(p, hit) for p, hit in points if min(int(p * bins), bins - 1) == index]
        if inside:
            mean, share = sum(p for p, _ in inside) / len(inside), sum(hit for _, hit in inside) / len(inside)
            error += len(inside) / len(points) * abs(mean - share)
            rows.append((round(mean, 3), round(share, 3), len(inside)))
    print("\np(same), mean / came true / pairs: " + "  ".join(f"{m:.2f}/{s:.2f}/{n}" for m, s, n in rows))
    print(f"expected calibration error {error:.4f} over {len(points)} candidates")
    return {"bins": rows, "expected_calibration_error": error, "pairs": len(points)}


def curve(results: Sequence[Result]) -> list[Row]:
    """Prints and returns what other thresholds would merge: the trade-off."""
    rows: list[Row] = []
    for similarity in (0.80, 0.85, 0.90, 1.01):
        for probability in (0.6, 0.75, 0.9):
            thresholds = Thresholds(similarity, THRESHOLDS.conflict, probability, THRESHOLDS.supersede_probability)
            row: Row = {"similarity": similarity, "merge_probability": probability}
            for line in summary(outcomes(results, thresholds)):
                row[f"{line['set']} {line['label']}"] = round(int(line["merged"]) / int(line["pairs"]), 4)
            rows.append(row)
    names = [name for name in rows[0] if name not in ("similarity", "merge_probability")]
    print("\nshare merged at other thresholds (similarity / probability):")
    print(f"{'':34}" + " ".join(f"{r['similarity']}/{r['merge_probability']:<5}" for r in rows))
    for name in names:
        print(f"{name:34}" + " ".join(f"{100 * float(r[name]):>9.1f}" for r in rows))
    return rows
