"""The command line as its users run it: real processes, pipes and signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import uuid
from pathlib import Path

import pytest

from tests.support.cli import CONCORD, LOCOMO_FACTS, Ended, Run, actions, rows, run_concord
from tests.support.service import RunningService


@pytest.fixture
def concord(cli_service: RunningService) -> Run:
    """Runs a command in a project of the test's own."""
    settings = {"CONCORD_TARGET": cli_service.target, "CONCORD_PROJECT": f"cli-{uuid.uuid4()}"}

    def run(*arguments: str, stdin: str = "", timeout: float = 240, **changes: str) -> Ended:
        return run_concord(*arguments, stdin=stdin, environment={**settings, **changes}, timeout=timeout)

    return run


def claim_line(value: int, policy: str = "conflict") -> str:
    return json.dumps(
        {
            "text": f"The pilot costs {value} euros.",
            "claim": {"subject": "pilot", "predicate": "cost", "value": value},
            "observe_time": "2025-03-01",
            "contradiction_policy": policy,
        }
    )


def test_lines_become_facts_that_can_be_listed_and_shown(concord):
    stdin = 'Nora leads the platform team.\n{"text": "The deploy takes 30 seconds.", "source": "Runbook"}\n'
    assert actions(concord("reconcile", "-", stdin=stdin))["CREATED"] == 2
    listed = rows(concord("facts", "list"))
    assert [fact["text"] for fact in listed] == ["The deploy takes 30 seconds.", "Nora leads the platform team."]
    shown = concord("facts", "show", listed[0]["fact_id"]).stdout.splitlines()
    assert "text\tThe deploy takes 30 seconds." in shown
    assert any(line.startswith("source\tRunbook") for line in shown)


def test_a_second_run_over_a_file_creates_nothing(concord, tmp_path):
    file = tmp_path / "facts.txt"
    file.write_text("Nora leads the platform team.\nThe deploy takes 30 seconds.\nMei works from Osaka.\n")
    first = actions(concord("reconcile", str(file)))
    second = actions(concord("reconcile", str(file)))
    assert (first["CREATED"], first["MERGED"]) == (3, 0)
    assert (second["MERGED"], second["TOTAL"]) == (3, 3)
    assert len(rows(concord("facts", "list"))) == 3


def test_a_decision_tells_why(concord):
    concord("reconcile", "-", stdin="The deploy takes 30 seconds.\n")
    [line] = rows(concord("reconcile", "-", "--details", stdin="The deploy takes 60 seconds.\n"))
    assert line["action"] != "MERGED"
    shown = concord("decisions", "show", line["decision_id"])
    assert f"action\t{line['action']}" in shown.stdout
    assert "number" in shown.stdout


def test_a_conflict_is_listed_and_resolved(concord):
    ended = concord("reconcile", "-", stdin=f"{claim_line(40_000)}\n{claim_line(55_000)}\n")
    assert actions(ended)["CONFLICTED"] == 1
    incumbent, challenger = rows(concord("conflicts", "list"))
    assert (incumbent["role"], challenger["role"]) == ("incumbent", "challenger")
    decided = concord(
        "conflicts", "resolve", incumbent["conflict_id"], "--keep", challenger["fact_id"], "--note", "new offer"
    )
    assert decided.returncode == 0, decided.stderr
    assert rows(concord("conflicts", "list")) == []
    [kept] = rows(concord("facts", "list", "--status", "active", "--predicate", "cost"))
    assert kept["text"] == "The pilot costs 55000 euros."
    again = concord("conflicts", "resolve", incumbent["conflict_id"], "--keep-none")
    assert again.returncode == 6


def test_a_dry_run_writes_nothing(concord):
    assert actions(concord("reconcile", "-", "--dry-run", stdin="Nora leads.\n"))["CREATED"] == 1
    assert rows(concord("facts", "list")) == []


def test_what_the_service_refuses_is_told_by_line(concord):
    ended = concord("reconcile", "-", stdin="Nora leads.\n...\nMei designs.\n")
    assert ended.returncode == 7
    assert ended.stderr == "concord: line 2: text must contain a letter or a digit\n"
    assert actions(ended)["CREATED"] == 2


def test_unknown_and_malformed_ids_have_codes_of_their_own(concord):
    unknown = concord("facts", "show", "019a0000-0000-7000-8000-000000000001")
    assert (unknown.returncode, unknown.stdout, unknown.stderr.count("\n")) == (5, "", 1)
    malformed = concord("facts", "show", "nonsense")
    assert (malformed.returncode, malformed.stderr.count("\n")) == (4, 1)


def test_piped_output_is_plain_and_the_same_every_time(concord):
    concord("reconcile", "-", stdin="大阪の温室は広い。\nNora\tleads.\n")
    first = concord("facts", "list", FORCE_COLOR="1")
    assert "\x1b" not in first.stdout
    assert not any("\u2500" <= character <= "\u257f" for character in first.stdout)
    assert [fact["text"] for fact in rows(first)] == ["Nora\\tleads.", "大阪の温室は広い。"]
    assert concord("facts", "list", COLUMNS="20").stdout == first.stdout


def test_a_reader_that_leaves_early_is_no_fault(concord, cli_service):
    # More than a pipe holds, so that the writer meets the closed end.
    stated = "".join(f"Room {number} has {'w' * 4000}\n" for number in range(40))
    assert actions(concord("reconcile", "-", stdin=stated, CONCORD_PROJECT="left-early"))["FAILED"] == 0
    listing = f"{' '.join(CONCORD)} facts list --target {cli_service.target} --project left-early"
    ended = subprocess.run(
        ["bash", "-c", f"{listing} | head -c 100"], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.stdout.startswith("fact_id\t")
    assert ended.stderr == ""


def test_an_interrupted_run_says_how_far_it_came(cli_service):
    project = f"cli-{uuid.uuid4()}"
    process = subprocess.Popen(
        [*CONCORD, "reconcile", "-", "--details", "--target", cli_service.target, "--project", project],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    # More than a window, so that answers come although the input goes on.
    process.stdin.write("".join(f"Room {number} has {number} windows.\n" for number in range(100)))
    process.stdin.flush()
    assert process.stdout.readline().startswith("line\t")
    assert process.stdout.readline().startswith("1\t")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "concord: interrupted after" in err
    assert "Traceback" not in err


def test_settings_that_are_wrong_are_one_line():
    ended = subprocess.run(
        [*CONCORD, "serve", "--listen", "nowhere"], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("concord: --listen: 'nowhere' is not HOST:PORT")
    assert ended.stderr.count("\n") == 1


def test_a_taken_port_is_one_line_with_a_code_of_its_own(cli_service, tmp_path):
    ended = subprocess.run(
        [*CONCORD, "serve", "--listen", cli_service.target, "--data-dir", str(tmp_path), "--log-level", "error"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 9
    assert ended.stderr.startswith("concord: ")
    assert ended.stderr.count("\n") == 1


@pytest.mark.skipif(not LOCOMO_FACTS.exists(), reason="the shared data is not here")
@pytest.mark.timeout(2500)
def test_facts_of_long_conversations_go_in_once(concord, tmp_path: Path):
    """The first 600 facts; all of them with ``CONCORD_REAL_INPUT=1``."""
    lines = LOCOMO_FACTS.read_text(encoding="utf-8").splitlines(keepends=True)
    chosen = lines if os.environ.get("CONCORD_REAL_INPUT") else lines[:600]
    file = tmp_path / "facts.jsonl"
    file.write_text("".join(chosen), encoding="utf-8")
    first = concord("reconcile", str(file), "--output", "json", timeout=1200)
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)["summary"]["total"] == len(chosen)
    stored = facts_stored(concord)
    second = concord("reconcile", str(file), "--output", "json", timeout=1200)
    assert second.returncode == 0, second.stderr
    others = [result for result in json.loads(second.stdout)["results"] if result["action"] != "MERGED"]
    assert others == []
    assert facts_stored(concord) == stored


def facts_stored(concord: Run) -> int:
    return len(rows(concord("facts", "list", "--limit", "0")))
