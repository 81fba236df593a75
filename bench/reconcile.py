"""Measures Reconcile at 10,000 stored facts, beside the raw embedder's rate in the same run.

    python -m bench.reconcile [--stored 10000] [--calls 300] [--json FILE]

One service of one process is started on a fresh embedded PostgreSQL. All facts are in one partition, the worst
case: writes of one partition are serial and every search scans it. They are of 600 people, about 17 each. Absolute
figures are those of the machine; the ratios to the embedder hold better.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import psutil
from concord import AsyncClient, Statement
from concord_server.cli.connection import wait_until_serving
from concord_server.providers.embedders.onnx import OnnxEmbedder

CALLERS = 64
BATCH = 500
SEED = 20260101

_FIRST = """
Ada Ben Chloe Dmitri Elif Farid Grace Hana Ivo Jia Kofi Lena Mateo Noor Olga Priya Quinn Ravi Sana
Tom"""
_LAST = """
Abara Berg Castillo Dvorak Eriksen Farouk Gallo Haas Ito Jansen Kaplan Lindqvist Moreau Novak Okafor
Petrov Quist Rossi Sato Tanaka Ueda Varga Weiss Yilmaz Zhou Adeyemi Bauer Costa Demir Endo"""
_DOES = """
owns a bakery, repairs violins, teaches chemistry, drives a tram, keeps bees, speaks Portuguese,
plays the cello, is allergic to walnuts, works as a nurse, collects stamps, lives near the harbour,
studies glaciers, runs a bookshop, has two daughters, prefers green tea, cycles to work, writes
crime novels, trains guide dogs, restores clocks, sings in a choir"""


def statements(count: int, seed: int) -> list[str]:
    """Returns ``count`` (at most 12,000) distinct statements about 600 people, the same for the same seed."""
    does = " ".join(_DOES.split()).split(", ")
    made = [f"{first} {last} {it}" for first in _FIRST.split() for last in _LAST.split() for it in does]
    random.Random(seed).shuffle(made)
    return made[:count]


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Returns p50 and p99 in milliseconds."""
    cuts = statistics.quantiles(seconds, n=100)
    return {"p50_ms": round(cuts[49] * 1000, 2), "p99_ms": round(cuts[98] * 1000, 2)}


async def one_caller(call: Callable[[str], Awaitable[object]], texts: Sequence[str]) -> dict[str, float]:
    """Calls one after the other."""
    taken = []
    for text in texts:
        start = time.perf_counter()
        await call(text)
        taken.append(time.perf_counter() - start)
    return {**percentiles(taken), "per_second": round(len(texts) / sum(taken), 1)}


async def many_callers(call: Callable[[str], Awaitable[object]], texts: Sequence[str]) -> dict[str, float]:
    """Calls from CALLERS callers, each one after the other."""
    queue = list(texts)
    taken: list[float] = []

    async def caller() -> None:
        while queue:
            text = queue.pop()
            start = time.perf_counter()
            await call(text)
            taken.append(time.perf_counter() - start)

    start = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return {**percentiles(taken), "per_second": round(len(texts) / (time.perf_counter() - start), 1)}


async def measure_embedder(texts: Sequence[str]) -> dict[str, dict[str, float]]:
    """Measures the embedder alone, in this process, as the service uses it."""
    embedder = OnnxEmbedder.load()
    try:
        await embedder.embed(list(texts[:8]))
        alone = await one_caller(lambda text: embedder.embed([text]), texts)
        crowd = await many_callers(lambda text: embedder.embed([text]), texts)
        batch = (list(texts) * BATCH)[:BATCH]
        start = time.perf_counter()
        await embedder.embed(batch)
        rate = round(BATCH / (time.perf_counter() - start), 1)
    finally:
        await embedder.close()
    return {"one caller": alone, f"{CALLERS} callers": crowd, f"batch of {BATCH}": {"per_second": rate}}


async def measure_service(
    target: str, stored: Sequence[str], fresh: Sequence[str], calls: int
) -> dict[str, dict[str, float]]:
    """Fills the service, then measures new statements on top."""
    async with AsyncClient(target, project="bench") as client:
        for start in range(0, len(stored), BATCH):
            await client.batch_reconcile([Statement(text) for text in stored[start : start + BATCH]])
            print(f"\rstored {min(start + BATCH, len(stored))} of {len(stored)}", end="", file=sys.stderr)
        print(file=sys.stderr)
        call = lambda text: client.reconcile(Statement(text))  # noqa: E731 - a call as the embedder's
        await one_caller(call, fresh[:20])
        alone = await one_caller(call, fresh[20 : 20 + calls])
        crowd = await many_callers(call, fresh[20 + calls : 20 + 3 * calls])
        rest = fresh[20 + 3 * calls :][:BATCH]
        start_time = time.perf_counter()
        await client.batch_reconcile([Statement(text) for text in rest])
        rate = round(len(rest) / (time.perf_counter() - start_time), 1)
    return {"one caller": alone, f"{CALLERS} callers": crowd, f"batch of {BATCH}": {"per_second": rate}}


def memory_of(pid: int) -> dict[str, float]:
    """Returns the unique memory of the service and of its database, in MiB."""
    service = psutil.Process(pid)
    total = {"service": service.memory_full_info().uss}
    total["database"] = sum(
        child.memory_full_info().pss for child in service.children(recursive=True) if "postgres" in child.name()
    )
    return {name: round(value / 2**20, 1) for name, value in total.items()}


def report(service: dict[str, dict[str, float]], embedder: dict[str, dict[str, float]]) -> None:
    """Prints the table."""
    print(f"{'':16}{'p50 ms':>9}{'p99 ms':>9}{'per s':>9}{'embedder per s':>16}{'ratio':>8}")
    for name, row in service.items():
        raw = embedder[name]["per_second"]
        ratio = row["per_second"] / raw
        p50, p99 = row.get("p50_ms", ""), row.get("p99_ms", "")
        print(f"{name:16}{p50:>9}{p99:>9}{row['per_second']:>9}{raw:>16}{ratio:>8.2f}")


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stored", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    texts = statements(options.stored + 3 * options.calls + BATCH + 20, SEED)
    stored, fresh = texts[: options.stored], texts[options.stored :]
    embedder = asyncio.run(measure_embedder(fresh[: options.calls]))
    with tempfile.TemporaryDirectory(prefix="concord-bench-") as data:
        command = [sys.executable, "-m", "concord_server.cli", "serve", "--listen", "127.0.0.1:0"]
        process = subprocess.Popen(
            [*command, "--data-dir", data, "--log-level", "warning"], stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            target = process.stdout.readline().removeprefix("listening on ").strip()
            at_rest: dict[str, float] = {}
            wait_until_serving(target)
            at_rest = memory_of(process.pid)
            service = asyncio.run(measure_service(target, stored, fresh, options.calls))
            after = memory_of(process.pid)
        finally:
            process.terminate()
            process.wait(timeout=60)
    report(service, embedder)
    print(f"memory at rest, MiB: {at_rest}; after: {after}")
    if options.json:
        figures = {"service": service, "embedder": embedder, "memory_at_rest": at_rest, "memory_after": after}
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
