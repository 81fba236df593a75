"""Judges cases as Reconcile does: cosine, candidates, judge, choice."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from concord_server.domain.choice import ChoiceKind, Hit, choose
from concord_server.domain.judgement import Judgement, Relation
from concord_server.domain.model import Thresholds
from concord_server.domain.text import text_key
from concord_server.ports.judge import JudgePair
from concord_server.providers.embedders.model_files import find_model
from concord_server.providers.embedders.onnx import OnnxModel
from concord_server.providers.judges.local import LocalJudge

THRESHOLDS = Thresholds()
_BATCH = 64


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled pair: ``known`` was said first."""

    set_name: str
    label: str
    known: str
    statement: str
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """A case with its cosine and what the judge said."""

    case: Case
    similarity: float
    judgement: Judgement

    @property
    def candidate(self) -> bool:
        """Whether Reconcile would judge the pair at all."""
        return self.similarity >= THRESHOLDS.conflict


@dataclass(frozen=True, slots=True)
class Outcome:
    """What Reconcile does: "merged", "contradiction", "correction", "refinement", "extension" or "new"."""

    result: Result
    action: str


def similarities(cases: Sequence[Case]) -> list[float]:
    """Returns the cosine of every case."""
    model = OnnxModel(find_model())
    texts = sorted({text for case in cases for text in (case.known, case.statement)}, key=len)
    vectors = {
        text: vector
        for start in range(0, len(texts), _BATCH)
        for text, vector in zip(
            texts[start : start + _BATCH], model.encode(texts[start : start + _BATCH]), strict=True
        )
    }
    return [float(np.dot(vectors[case.known], vectors[case.statement])) for case in cases]


def judged(cases: Sequence[Case]) -> list[Result]:
    """Judges every case, candidates or not."""
    judge = LocalJudge.load()
    cosines = similarities(cases)
    pairs = [
        JudgePair(case.statement, case.known, cosine, case.owner)
        for case, cosine in zip(cases, cosines, strict=True)
    ]
    # Pairs of like length share a batch: padding costs time and changes nothing else.
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i].statement) + len(pairs[i].known))
    judgements: dict[int, Judgement] = {}
    for start in range(0, len(order), _BATCH):
        chunk = order[start : start + _BATCH]
        judgements.update(zip(chunk, judge.judge_now([pairs[i] for i in chunk]), strict=True))
    return [Result(case, cosines[i], judgements[i]) for i, case in enumerate(cases)]


def outcomes(results: Sequence[Result], thresholds: Thresholds = THRESHOLDS) -> list[Outcome]:
    """Returns what Reconcile does with each pair when the known fact is the only one stored."""
    return [Outcome(result, _action(result, thresholds)) for result in results]


def _action(result: Result, thresholds: Thresholds) -> str:
    if text_key(result.case.known) == text_key(result.case.statement):
        return "merged"
    if not result.candidate:
        return "new"
    choice = choose([Hit(result.similarity, result.judgement)], thresholds)
    if choice.kind is ChoiceKind.MERGE:
        return "merged"
    return choice.evolution_type.value.lower() if choice.evolution_type is not None else "new"


def latency(cases: Sequence[Case], rounds: int = 120, candidates: int = 5) -> dict[str, float]:
    """Returns milliseconds, of the clock and of the CPU, of judging one statement against five candidates."""
    judge = LocalJudge.load(threads=1)
    times, cpu = [], []
    for start in range(rounds):
        offset = start * candidates % max(1, len(cases) - candidates)
        group = cases[offset : offset + candidates]
        pairs = [JudgePair(group[0].statement, case.known, 0.9) for case in group]
        began, worked = time.perf_counter(), time.thread_time()
        judge.judge_now(pairs)
        times.append((time.perf_counter() - began) * 1e3)
        cpu.append((time.thread_time() - worked) * 1e3)
    ordered = sorted(times)
    return {
        "p50": statistics.median(times),
        "p99": ordered[int(len(ordered) * 0.99)],
        "best": ordered[0],
        "cpu_p50": statistics.median(cpu),
    }


def saw_contradiction(result: Result) -> bool:
    """Whether the judge itself takes a pair for a contradiction or correction, candidate or not."""
    largest = result.judgement.largest()
    return largest in (Relation.CONTRADICTION, Relation.CORRECTION)
