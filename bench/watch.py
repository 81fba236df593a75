"""Measures what watchers cost: memory, CPU while nothing changes, and how soon a change reaches them.

    python -m bench.watch [--watchers 500] [--seconds 60] [--json FILE]

One service of one process is started on a fresh embedded PostgreSQL. Its CPU and memory are read before and after the
watchers have come, over the same length of time. A heartbeat every 15 s to each of them is part of being idle.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterable, Sequence
from pathlib import Path
from typing import Any

import grpc
import psutil
from concord import AsyncClient, Statement
from concord.v1.evolution_service_pb2 import WatchFactsRequest, WatchFactsResponse
from concord.v1.evolution_service_pb2_grpc import EvolutionServiceStub
from concord_server.cli.connection import wait_until_serving

CHANNELS = 10
CHANGES = 100
PAUSE = 0.1
PROJECT = "bench"
_METADATA = (("x-concord-project", PROJECT),)


class Watchers:
    """So many watches, spread over a few connections.

    Attributes:
        told: for each change that has reached all, when it reached each.
        heartbeats: how many came.
    """

    def __init__(self) -> None:
        self.told: asyncio.Queue[list[float]] = asyncio.Queue()
        self._arrivals: dict[int, list[float]] = {}
        self.heartbeats = 0
        self._channels: list[grpc.aio.Channel] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, target: str, count: int) -> None:
        """Returns once all have their place in the log."""
        alone = [("grpc.use_local_subchannel_pool", 1)]
        self._channels = [grpc.aio.insecure_channel(target, alone) for _ in range(CHANNELS)]
        for number in range(count):
            stub = EvolutionServiceStub(self._channels[number % CHANNELS])
            call = stub.WatchFacts(WatchFactsRequest(), metadata=_METADATA)
            await call.initial_metadata()
            self._tasks.append(asyncio.create_task(self._follow(call)))

    async def _follow(self, call: AsyncIterable[WatchFactsResponse]) -> None:
        async for message in call:
            if message.heartbeat:
                self.heartbeats += 1
            else:
                arrived = self._arrivals.setdefault(message.sequence, [])
                arrived.append(time.perf_counter())
                if len(arrived) == len(self._tasks):
                    self.told.put_nowait(arrived)

    async def close(self) -> None:
        """Ends all of them."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for channel in self._channels:
            await channel.close()


def usage(service: psutil.Process) -> dict[str, float]:
    """Returns CPU seconds and memory in MiB of the service, and CPU seconds of its database."""
    times = service.cpu_times()
    children = [child for child in service.children(recursive=True) if "postgres" in child.name()]
    database = sum(t.user + t.system for t in (child.cpu_times() for child in children))
    memory = service.memory_full_info().uss / 2**20
    return {"cpu_s": times.user + times.system, "database_cpu_s": database, "memory_mib": memory}


async def idle(service: psutil.Process, seconds: float) -> dict[str, float]:
    """Returns the share of one core that the service takes while nothing is asked of it, and its memory."""
    before = usage(service)
    await asyncio.sleep(seconds)
    after = usage(service)
    return {
        "cpu_percent": 100 * (after["cpu_s"] - before["cpu_s"]) / seconds,
        "database_cpu_percent": 100 * (after["database_cpu_s"] - before["database_cpu_s"]) / seconds,
        "memory_mib": after["memory_mib"],
    }


async def delays(client: AsyncClient, watchers: Watchers) -> list[float]:
    """Returns the seconds from the answer to a writer until each watch has its change, for one change at a time."""
    found: list[float] = []
    for number in range(CHANGES):
        text = f"Turbine number {number} was inspected in Porto on shift {number * 37}"
        await client.reconcile(Statement(text, domain=f"d{number}"))
        answered = time.perf_counter()
        found += [max(0.0, arrival - answered) for arrival in await watchers.told.get()]
        await asyncio.sleep(PAUSE)
    return found


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Returns p50 and p99 in milliseconds."""
    cuts = statistics.quantiles(seconds, n=100)
    return {"p50_ms": cuts[49] * 1000, "p99_ms": cuts[98] * 1000}


async def measure(target: str, service: psutil.Process, count: int, seconds: float) -> dict[str, Any]:
    """Measures everything."""
    wait_until_serving(target)
    async with AsyncClient(target, project=PROJECT) as client:
        await client.reconcile(Statement("Something to begin with"))
        await asyncio.sleep(2)
        alone = await idle(service, seconds)
        watchers = Watchers()
        started = time.perf_counter()
        await watchers.open(target, count)
        opening = time.perf_counter() - started
        await asyncio.sleep(2)
        watched = await idle(service, seconds)
        heartbeats = watchers.heartbeats
        reached = percentiles(await delays(client, watchers))
        told = usage(service)["memory_mib"]
        await watchers.close()
    return {
        "watchers": count,
        "seconds": seconds,
        "opening_s": opening,
        "without": alone,
        "with": watched,
        "heartbeats": heartbeats,
        "memory_of_watchers_mib": watched["memory_mib"] - alone["memory_mib"],
        "delay": reached,
        "memory_after_changes_mib": told,
    }


def report(found: dict[str, Any]) -> None:
    """Prints the table."""
    print(f"{'':22}{'CPU %':>8}{'database CPU %':>16}{'memory MiB':>12}")
    for name, row in (("no watcher", found["without"]), (f"{found['watchers']} watchers", found["with"])):
        print(f"{name:22}{row['cpu_percent']:>8.2f}{row['database_cpu_percent']:>16.2f}{row['memory_mib']:>12.1f}")
    print(
        f"memory of the watchers: {found['memory_of_watchers_mib']:.1f} MiB; opened in {found['opening_s']:.1f} s"
    )
    print(f"heartbeats while idle for {found['seconds']:g} s: {found['heartbeats']}")
    print(
        f"a change reaches a watcher after {found['delay']['p50_ms']:.1f} ms (p99 {found['delay']['p99_ms']:.1f})"
    )
    print(f"memory after {CHANGES} changes to each: {found['memory_after_changes_mib']:.1f} MiB")


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watchers", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="concord-bench-") as data:
        command = [sys.executable, "-m", "concord_server.cli", "serve", "--listen", "127.0.0.1:0"]
        process = subprocess.Popen(
            [*command, "--data-dir", data, "--log-level", "warning"], stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            target = process.stdout.readline().removeprefix("listening on ").strip()
            service = psutil.Process(process.pid)
            found = asyncio.run(measure(target, service, options.watchers, options.seconds))
        finally:
            process.terminate()
            process.wait(timeout=60)
    report(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
