"""docs/consolidation.md shows what examples/consolidate_support.py does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "consolidation.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "consolidate_support.py"


def blocks(language: str) -> list[str]:
    """The page's code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_code_of_the_page_is_that_of_the_example():
    code = EXAMPLE.read_text(encoding="utf-8")
    shown = blocks("python")
    assert len(shown) == 5
    for block in shown:
        assert block in code


def test_the_example_prints_what_the_page_shows(cli_service):
    ended = subprocess.run(
        [sys.executable, str(EXAMPLE), "--target", cli_service.target],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "\n".join(blocks("text"))
