"""Pages of the documentation show what their examples do."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.service import RunningService

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ("docs/lineage-and-time.md", "examples/lineage_and_time.py", 4),
    ("docs/consolidation.md", "examples/consolidate_support.py", 5),
]


def blocks(page: str, language: str) -> list[str]:
    """The page's code blocks of a language."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("page", "example", "count"), PAGES)
def test_the_code_of_the_page_is_that_of_the_example(page: str, example: str, count: int):
    code = (ROOT / example).read_text(encoding="utf-8")
    shown = blocks(page, "python")
    assert len(shown) == count
    for block in shown:
        assert block in code


@pytest.mark.parametrize(("page", "example"), [(page, example) for page, example, _ in PAGES])
def test_the_example_prints_what_the_page_shows(cli_service: RunningService, page: str, example: str):
    ended = subprocess.run(
        [sys.executable, example, "--target", cli_service.target],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "\n".join(blocks(page, "text"))
