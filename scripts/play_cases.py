"""Plays the shared cases against a live server; skips plainly where their folder is not there.

The folder is ``../shared/cases`` beside the repository, or ``$CONCORD_SHARED/cases``. It brings its own runner.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("CONCORD_SHARED", ROOT.parent / "shared"))

FILES = ("reconcile.yaml", "claims.yaml", "consolidate.yaml", "evolution.yaml", "briefing.yaml")
NOT_YET: frozenset[str] = frozenset()
"""Cases of these files that need an RPC which is not implemented yet."""


def main() -> int:
    """Returns 0 when every case passes or the folder is not there."""
    cases = SHARED / "cases"
    if not (cases / "run").exists():
        print(f"cases: skipped, there is no {cases}")
        return 0
    ids = [identifier for name in FILES for identifier in _ids(cases / name)]
    wanted = [argument for i in ids if i not in NOT_YET for argument in ("--only", i)]
    with tempfile.TemporaryDirectory(prefix="concord-cases-") as data:
        server = subprocess.Popen(
            [sys.executable, "-m", "concord_server.cli", "serve", "--listen", "127.0.0.1:0", "--data-dir", data],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            target = server.stdout.readline().removeprefix("listening on ").strip()
            files = [str(cases / name) for name in FILES]
            runner = [sys.executable, str(cases / "run"), "--target", target, *wanted, *files]
            return subprocess.run(runner, check=False).returncode
        finally:
            server.terminate()
            server.wait(timeout=60)


def _ids(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("- id:").strip() for line in lines if line.startswith("- id:")]


if __name__ == "__main__":
    sys.exit(main())
