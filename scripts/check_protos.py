#!/usr/bin/env python3
"""Checks ``protos/``: lint, format, breaking changes against the last tag, and that the stubs are current.

    python scripts/check_protos.py [--against TAG]

Breaking changes are looked for against ``--against``, by default the newest tag that the current commit
descends from; without any tag, as before the first release, that step is skipped and says so. Every step runs, and
the exit status is 1 when one of them fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(label: str, command: list[str]) -> bool:
    """Runs one step from the root of the repository, prints how it went, and returns whether it passed."""
    passed = subprocess.run(command, cwd=ROOT, check=False).returncode == 0
    print(f"{label}: {'ok' if passed else 'FAILED'}", flush=True)
    return passed


def last_tag() -> str:
    """Returns the newest tag that the current commit descends from, empty without one."""
    found = subprocess.run(
        ["git", "describe", "--tags", "--abbrev=0"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    return found.stdout.strip() if found.returncode == 0 else ""


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    parser = argparse.ArgumentParser(description="Checks protos/ and the stubs.")
    parser.add_argument("--against", default="", help="tag to look for breaking changes against")
    options = parser.parse_args(arguments)
    buf = str(Path(sysconfig.get_path("scripts")) / "buf")
    results = [
        run("lint", [buf, "lint"]),
        run("format", [buf, "format", "--diff", "--exit-code", "protos"]),
        run("stubs", [sys.executable, str(ROOT / "scripts" / "generate_protos.py"), "--check"]),
    ]
    tag = options.against or last_tag()
    if tag:
        results.append(run(f"breaking against {tag}", [buf, "breaking", "--against", f".git#tag={tag}"]))
    else:
        print("breaking: skipped, no tag yet")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
