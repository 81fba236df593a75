"""Measures reading lineage: lines, latest facts and families, of shapes that hurt.

    python -m bench.lineage [--facts 10000] [--deep 5000] [--rounds 20] [--json FILE]

The families are written straight into a fresh embedded PostgreSQL, and read through the use cases in this process; the
planner's statistics do not know them yet, as after a fast import. Absolute figures are those of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

from concord_server.domain.lineage import FamilyPage
from concord_server.services.context import CallContext
from concord_server.services.lineage import GetEvolutionChain, GetEvolutionTree, GetLatestInChain
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.engine import create_engine
from concord_server.storage.migrate import migrate
from concord_server.storage.sessions import PostgresLedger

from bench.reconcile import percentiles
from tests.support.families import Member, grow, member

SEED = 20260201
PAGE = 500


def bushy(count: int) -> list[Member]:
    """A family in which each fact descends from any earlier one, and every fiftieth from two."""
    chance = random.Random(SEED)
    members = [member(0)]
    for number in range(1, count):
        parents = chance.sample(members, k=2 if number % 50 == 0 and number > 1 else 1)
        members.append(member(number, *parents))
    return members


def line(count: int) -> list[Member]:
    """Facts that each descend from the one before."""
    members = [member(0)]
    for number in range(1, count):
        members.append(member(number, members[-1]))
    return members


def ladder(count: int) -> list[Member]:
    """Facts that each descend from the two before: every fact is reached by ways of many lengths."""
    members = [member(0)]
    for number in range(1, count):
        members.append(member(number, *reversed(members[-2:])))
    return members


class Family:
    """A family in a project of its own, and what is measured about it."""

    def __init__(self, name: str, ledger: PostgresLedger, members: list[Member]) -> None:
        self.name = name
        self.context = CallContext(f"bench-{name}")
        self.root, self.last = members[0].fact_id, members[-1].fact_id
        self._size = len(members)
        self._chain, self._latest = GetEvolutionChain(ledger), GetLatestInChain(ledger)
        self._tree = GetEvolutionTree(ledger)

    async def chain(self) -> None:
        """Reads the line to the last fact."""
        await self._chain.execute(self.context, self.last)

    async def latest(self) -> None:
        """Reads what the root has become."""
        await self._latest.execute(self.context, self.root)

    async def first_page(self) -> None:
        """Reads the first page of the family."""
        await self._page(None, PAGE)

    async def at_once(self) -> None:
        """Reads the family in one go."""
        assert len((await self._page(None, self._size)).facts) == self._size

    async def in_pages(self) -> None:
        """Reads the family page by page."""
        page = await self._page(None, PAGE)
        while page.last is not None:
            page = await self._page(page.last, PAGE)

    async def _page(self, after: UUID | None, size: int) -> FamilyPage:
        return await self._tree.execute(self.context, self.last, after, size)


async def timed(call: Callable[[], Awaitable[None]], rounds: int) -> dict[str, float]:
    """Calls one after the other and returns p50 and p99."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        await call()
        taken.append(time.perf_counter() - start)
    return percentiles(taken)


async def run(url: str, facts: int, deep: int, rounds: int) -> dict[str, dict[str, float]]:
    """Writes the families and measures each question about each of them."""
    engine = create_engine(url)
    ledger = PostgresLedger(engine)
    families = []
    for name, members in (("family", bushy(facts)), ("line", line(deep)), ("ladder", ladder(deep))):
        family = Family(f"{name} of {len(members)}", ledger, members)
        await grow(engine, ledger, family.context.project, members)
        families.append(family)
    results = {}
    for family in families:
        for question, call in (
            ("chain", family.chain),
            ("latest", family.latest),
            (f"tree, first {PAGE}", family.first_page),
            ("tree, at once", family.at_once),
        ):
            results[f"{family.name}: {question}"] = await timed(call, rounds)
        results[f"{family.name}: tree, all pages"] = await timed(family.in_pages, 3)
    await ledger.close()
    return results


def main() -> None:
    """Measures, prints a table, and writes JSON when asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=10_000)
    parser.add_argument("--deep", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="concord-bench-") as directory,
        EmbeddedPostgres(Path(directory)) as server,
    ):
        migrate(server.url)
        results = asyncio.run(run(server.url, arguments.facts, arguments.deep, arguments.rounds))
    print(f"{'case':<40}{'p50 ms':>10}{'p99 ms':>10}")
    for name, figures in results.items():
        print(f"{name:<40}{figures['p50_ms']:>10}{figures['p99_ms']:>10}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
