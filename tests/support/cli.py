"""The command line in processes of its own, and readers of what it writes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

CONCORD = [sys.executable, "-m", "concord_server.cli"]
SHARED = Path(os.environ.get("CONCORD_SHARED", Path(__file__).resolve().parents[3] / "shared"))
LOCOMO_FACTS = SHARED / "data" / "locomo_facts.jsonl"

Ended = subprocess.CompletedProcess[str]
Run = Callable[..., Ended]


def run_concord(
    *arguments: str, stdin: str = "", environment: dict[str, str] | None = None, timeout: float = 240
) -> Ended:
    """Runs a command with pipes for all streams, for at most ``timeout`` seconds."""
    return subprocess.run(
        [*CONCORD, *arguments],
        input=stdin,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def rows(ended: Ended) -> list[dict[str, str]]:
    """Reads the tab-separated table that a command wrote."""
    header, *lines = [line.split("\t") for line in ended.stdout.splitlines()]
    return [dict(zip(header, line, strict=True)) for line in lines]


def actions(ended: Ended) -> dict[str, int]:
    """Reads the counts that ``concord reconcile`` wrote."""
    return {row["action"]: int(row["lines"]) for row in rows(ended)}
