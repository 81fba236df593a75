"""Measures search and briefings over stored facts: latency, and recall against exact search.

    python -m bench.search [--facts 10000 200000] [--queries 200] [--json FILE]

The facts are copied straight into a fresh embedded PostgreSQL. Their vectors are those of a few thousand generated
sentences, each moved a little at random and normalised again: that keeps the shape of real embeddings, and embedding
every sentence would take an hour. Queries are other sentences with their true vectors. Latency is that of the use
case in this process, with the query embedded before; absolute figures are those of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
from concord_server.domain.model import EntityRef
from concord_server.domain.queries import CurrentRead, FactFilter
from concord_server.domain.search import SearchQuery, ranked_depth
from concord_server.ports.embedder import Vector
from concord_server.providers.embedders.onnx import OnnxEmbedder
from concord_server.providers.system import SystemClock
from concord_server.services.briefing import BriefingQuery, GetEntityBriefing
from concord_server.services.context import CallContext
from concord_server.services.search import SearchFacts
from concord_server.storage import hybrid
from concord_server.storage.embedded import EmbeddedPostgres
from concord_server.storage.engine import create_engine
from concord_server.storage.migrate import migrate
from concord_server.storage.sessions import PostgresLedger

from bench.load import DOMAINS, Loaded, load
from bench.reconcile import percentiles, statements

Vectors = npt.NDArray[np.float32]

SEED = 20260201
SENTENCES = 4000
NOISE = 0.15
"""Length of the random part of a vector, beside the sentence's of length 1: a cosine of about 0.99."""

TOP = 10
RARE, WIDE = FactFilter(domain=f"{DOMAINS[0]}"), FactFilter(access_scope="wide")
FILTERS = {"no filter": FactFilter(), "filter of 1 %": RARE, "filter of 10 %": WIDE}


@dataclass(frozen=True, slots=True)
class Query:
    """A query with its true embedding."""

    text: str
    vector: Vector


async def timed(call: Callable[[Any], Awaitable[object]], inputs: Sequence[Any]) -> dict[str, float]:
    """Calls one after the other, after ten to warm up, and returns p50 and p99."""
    for one in inputs[:10]:
        await call(one)
    taken = []
    for one in inputs:
        start = time.perf_counter()
        await call(one)
        taken.append(time.perf_counter() - start)
    return percentiles(taken)


async def recall(ledger: PostgresLedger, loaded: Loaded, where: FactFilter, queries: Sequence[Query]) -> float:
    """Returns which part of the ten facts truly nearest to each query is among the ten that are found nearest."""
    inside = loaded.passing(where)
    current = CurrentRead(SystemClock().now())
    found = 0
    async with ledger.read(loaded.project) as session:
        for query in queries:
            similarities = loaded.vectors[inside] @ query.vector
            nearest = inside[np.argsort(-similarities, kind="stable")[:TOP]]
            hits = await session.search.hits(
                where, current, vector=query.vector, words=(), depth=ranked_depth(TOP)
            )
            ranked = sorted(hits, key=lambda hit: (-(hit.similarity or -1.0), hit.item_id))[:TOP]
            found += len({hit.item_id for hit in ranked} & {loaded.ids[index] for index in nearest})
    return round(found / (TOP * len(queries)), 4)


async def fused_recall(search: SearchFacts, loaded: Loaded, where: FactFilter, queries: Sequence[Query]) -> float:
    """Returns which part of the ten best facts, by both rankings over all facts, is among the ten returned."""
    context, found = CallContext(loaded.project), 0
    limit = hybrid.EXACT_SEARCH_LIMIT
    for query in queries:
        asked = SearchQuery(query.text, where, top_k=TOP)
        returned = await search.find(context, asked, query.vector)
        hybrid.EXACT_SEARCH_LIMIT = len(loaded.ids)
        try:
            exact = await search.find(context, asked, query.vector)
        finally:
            hybrid.EXACT_SEARCH_LIMIT = limit
        found += len({r.fact.fact_id for r in returned} & {r.fact.fact_id for r in exact})
    return round(found / (TOP * len(queries)), 4)


async def measure(url: str, loaded: Loaded, queries: Sequence[Query], embedder: OnnxEmbedder) -> dict[str, Any]:
    """Measures one number of facts."""
    engine = create_engine(url)
    ledger, clock = PostgresLedger(engine), SystemClock()
    search, briefing = SearchFacts(ledger, embedder, clock), GetEntityBriefing(ledger, clock)
    context = CallContext(loaded.project)
    results: dict[str, Any] = {"facts": len(loaded.ids)}
    for name, where in FILTERS.items():

        async def find(query: Query, where: FactFilter = where) -> object:
            return await search.find(context, SearchQuery(query.text, where, top_k=TOP), query.vector)

        results[f"search, {name}"] = {
            **await timed(find, queries),
            "recall_at_10": await recall(ledger, loaded, where, queries),
            "fused_recall_at_10": await fused_recall(search, loaded, where, queries[:20]),
        }

    async def brief(entity_id: str) -> object:
        return await briefing.execute(context, BriefingQuery(EntityRef("Person", entity_id)), None, 50)

    for name, entities in loaded.entities.items():
        results[f"briefing, {name}"] = await timed(brief, entities)
    await engine.dispose()
    return results


def print_table(results: Sequence[dict[str, Any]]) -> None:
    """Prints a row for each case and number of facts."""
    print(f"{'case':<32}{'facts':>9}{'p50 ms':>10}{'p99 ms':>10}{'recall':>9}{'fused':>9}")
    for result in results:
        for name, figures in result.items():
            if isinstance(figures, dict):
                recalls = (figures.get("recall_at_10", ""), figures.get("fused_recall_at_10", ""))
                print(
                    f"{name:<32}{result['facts']:>9}{figures['p50_ms']:>10}{figures['p99_ms']:>10}"
                    f"{recalls[0]:>9}{recalls[1]:>9}"
                )


async def run(sizes: Sequence[int], count: int) -> list[dict[str, Any]]:
    """Loads and measures each number of facts, every one in a database of its own."""
    embedder = OnnxEmbedder.load()
    texts = statements(SENTENCES, SEED)
    asked = statements(count, SEED + 1)
    vectors = np.stack(await embedder.embed(texts))
    queries = [Query(t, v) for t, v in zip(asked, await embedder.embed(asked), strict=True)]
    results = []
    for size in sizes:
        with (
            tempfile.TemporaryDirectory(prefix="concord-bench-") as directory,
            EmbeddedPostgres(Path(directory)) as server,
        ):
            migrate(server.url)
            with psycopg.connect(server.url) as connection:
                start = time.perf_counter()
                loaded = load(connection, size, texts, moved(vectors, size))
                print(f"loaded {size} facts in {time.perf_counter() - start:.0f} s", flush=True)
            results.append(await measure(server.url, loaded, queries, embedder))
    await embedder.close()
    return results


def moved(vectors: Vectors, size: int) -> Vectors:
    """Returns ``size`` unit vectors: each sentence's in turn, moved a little."""
    random_ = np.random.default_rng(SEED)
    chosen = vectors[np.arange(size) % len(vectors)]
    noise = random_.standard_normal(chosen.shape, dtype=np.float32)
    noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
    noisy = chosen + noise
    unit: Vectors = noisy / np.linalg.norm(noisy, axis=1, keepdims=True)
    return unit


def main() -> None:
    """Measures, prints a table, and writes JSON when asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, nargs="+", default=[10_000, 200_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    random.seed(SEED)
    results = asyncio.run(run(arguments.facts, arguments.queries))
    print_table(results)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
