"""The page that the documentation shows is the page that the example prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

from tests.support.service import RunningService

ROOT = Path(__file__).resolve().parents[2]

_TODAY = re.compile(r"(as of|Since|^-) \d{4}-\d\d-\d\d", re.MULTILINE)
"""The dates of when the example ran."""


def undated(page: str) -> list[str]:
    return _TODAY.sub(r"\1 TODAY", page).strip().splitlines()


def test_the_example_prints_the_page_that_the_documentation_shows(cli_service: RunningService):
    script = "examples/brief_company.py"
    ended = subprocess.run(
        [sys.executable, script, cli_service.target, f"briefing-{uuid4()}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    shown = re.search(r"```markdown\n(.*?)```", (ROOT / "docs/briefing.md").read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    assert undated(ended.stdout) == undated(shown[1])
