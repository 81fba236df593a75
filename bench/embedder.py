"""How fast texts become vectors: one caller, many callers, one large batch, each beside the bare runtime.

    python bench/embedder.py [--facts FILE] [--seconds S] [--threads N] [--concurrency N] [--json FILE]

The bare runtime runs the same graph on the same texts, tokenized and padded beforehand in batches of like length:
the rate that nothing can exceed with the same settings. Each round measures everything in turn; of times and rates
the best round counts, since a busy machine only ever slows things down, and of ratios the median. CPU time is that
of the process, and says on a busy machine what a rate cannot.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil
from concord_server.providers.embedders.batching import BatchLimits
from concord_server.providers.embedders.model_files import DEFAULT_MODEL
from concord_server.providers.embedders.onnx import OnnxEmbedder, OnnxModel, OnnxOptions, group_by_length

CALLERS = 64
BATCH = 500
SINGLES = 200


@dataclass(frozen=True, slots=True)
class Round:
    """What one round measured; times in milliseconds, rates in texts a second, CPU time in milliseconds a text."""

    one_p50: float
    one_p99: float
    one_bare: float
    many_rate: float
    many_p99: float
    many_cpu: float
    batch_rate: float
    batch_cpu: float
    bare_rate: float
    bare_cpu: float


class Stopwatch:
    """Time and CPU time since it was made."""

    def __init__(self) -> None:
        self._started = (time.perf_counter(), time.process_time())

    def read(self) -> tuple[float, float]:
        """Seconds, and seconds of CPU."""
        return time.perf_counter() - self._started[0], time.process_time() - self._started[1]


def sentences(path: Path | None) -> list[str]:
    """The texts of a JSON-lines file, else made-up ones of like length."""
    if path:
        return list(dict.fromkeys(json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()))
    choose = random.Random(7).choice
    people, verbs = ["Priya", "Tom", "Melanie", "Caroline"], ["led", "joined", "left", "founded", "described"]
    things = ["the payments team", "a support group in Leeds", "the pottery class", "a long hike with her kids"]
    ends = [
        "last summer",
        "on 3 March 2024",
        "because it helped her relax after work",
        "two days before the deadline",
    ]
    parts = itertools.islice(iter(lambda: (choose(people), choose(verbs), choose(things), choose(ends)), ()), 1000)
    return [f"{' '.join(words)}, as note {number} says." for number, words in enumerate(parts)]


def bare_batches(model: OnnxModel, texts: Sequence[str], max_items: int) -> Iterator[dict[str, Any]]:
    """The texts as inputs of the graph, in batches of like length."""
    encodings = model._tokenizer.encode_batch_fast(list(texts))
    for group in group_by_length([len(encoding) for encoding in encodings], model._max_tokens):
        for start in range(0, len(group), max_items):
            chosen = [encodings[position] for position in group[start : start + max_items]]
            yield {name: model._feature(name, chosen) for name in model._inputs}


def bare_seconds(model: OnnxModel, batches: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Time and CPU time of nothing but the runtime."""
    watch = Stopwatch()
    for feeds in batches:
        model._session.run(None, feeds)
    return watch.read()


async def one_caller(embedder: OnnxEmbedder, texts: Sequence[str]) -> list[float]:
    """Seconds of each of some calls, one after the other."""
    seconds = []
    for text in texts:
        started = time.perf_counter()
        await embedder.embed([text])
        seconds.append(time.perf_counter() - started)
    return seconds


async def many_callers(embedder: OnnxEmbedder, texts: Sequence[str], duration: float) -> list[float]:
    """Seconds of each call of callers that ask again at once."""
    source, seconds = itertools.cycle(texts), []
    watch = Stopwatch()

    async def caller() -> None:
        while watch.read()[0] < duration:
            begun = time.perf_counter()
            await embedder.embed([next(source)])
            seconds.append(time.perf_counter() - begun)

    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return seconds


async def measure(model: OnnxModel, embedder: OnnxEmbedder, texts: Sequence[str], duration: float) -> Round:
    """One round of everything."""
    large = texts[:BATCH]
    limits = BatchLimits()
    singles = [feeds for text in texts[:SINGLES] for feeds in bare_batches(model, [text], 1)]
    batches = list(bare_batches(model, large, limits.max_items))
    one = await one_caller(embedder, texts[:SINGLES])
    one_bare, _ = bare_seconds(model, singles)
    watch = Stopwatch()
    many = await many_callers(embedder, texts, duration)
    many_seconds, many_cpu = watch.read()
    watch = Stopwatch()
    await embedder.embed(large)
    batch_seconds, batch_cpu = watch.read()
    bare, bare_cpu = bare_seconds(model, batches)
    return Round(
        one_p50=float(np.percentile(one, 50)) * 1e3,
        one_p99=float(np.percentile(one, 99)) * 1e3,
        one_bare=one_bare / SINGLES * 1e3,
        many_rate=len(many) / many_seconds,
        many_p99=float(np.percentile(many, 99)) * 1e3,
        many_cpu=many_cpu / len(many) * 1e3,
        batch_rate=len(large) / batch_seconds,
        batch_cpu=batch_cpu / len(large) * 1e3,
        bare_rate=len(large) / bare,
        bare_cpu=bare_cpu / len(large) * 1e3,
    )


async def run(options: argparse.Namespace) -> dict[str, float]:
    """Measures and returns the figures by name."""
    texts = sentences(options.facts)
    limits = BatchLimits(concurrency=options.concurrency)
    process = psutil.Process()
    before = process.memory_info().rss
    watch = Stopwatch()
    embedder = OnnxEmbedder.load(options.model, options=OnnxOptions(options.threads, limits))
    loaded, _ = watch.read()
    model = embedder._model
    after = process.memory_info().rss
    rounds = [await measure(model, embedder, texts, options.seconds) for _ in range(options.rounds)]
    worked = process.memory_info().rss
    await embedder.close()
    return {
        "load time, s": loaded,
        "memory of the process before loading, MB": before / 1e6,
        "memory of the process loaded, MB": after / 1e6,
        "memory of the process after work, MB": worked / 1e6,
        "1 caller, p50, ms": min(r.one_p50 for r in rounds),
        "1 caller, p99, ms": min(r.one_p99 for r in rounds),
        "1 caller, bare runtime, mean, ms": min(r.one_bare for r in rounds),
        f"{CALLERS} callers, texts/s": max(r.many_rate for r in rounds),
        f"{CALLERS} callers, p99, ms": min(r.many_p99 for r in rounds),
        f"{CALLERS} callers, CPU, ms a text": min(r.many_cpu for r in rounds),
        f"call of {BATCH}, texts/s": max(r.batch_rate for r in rounds),
        f"call of {BATCH}, CPU, ms a text": min(r.batch_cpu for r in rounds),
        "bare runtime, texts/s": max(r.bare_rate for r in rounds),
        "bare runtime, CPU, ms a text": min(r.bare_cpu for r in rounds),
        f"rate of {CALLERS} callers / bare runtime": median(r.many_rate / r.bare_rate for r in rounds),
        f"rate of a call of {BATCH} / bare runtime": median(r.batch_rate / r.bare_rate for r in rounds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=DEFAULT_MODEL, help="name or path of an exported model (%(default)s)")
    parser.add_argument("--facts", type=Path, help="JSON lines with a field text (made-up sentences)")
    parser.add_argument(
        "--seconds", type=float, default=3, help="time of each round with many callers (%(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the best counts (%(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="cores that work on one batch (%(default)s)")
    parser.add_argument("--concurrency", type=int, default=1, help="batches at the same time (%(default)s)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    figures = asyncio.run(run(options))
    width = max(map(len, figures))
    for name, figure in figures.items():
        print(f"{name:<{width}}  {figure:10.2f}")
    settings = {"model": options.model, "threads": options.threads, "concurrency": options.concurrency}
    report = json.dumps({"settings": settings | {"cores": os.cpu_count()}, "figures": figures})
    print(report)
    if options.json:
        options.json.write_text(report + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
