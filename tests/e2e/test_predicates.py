"""Predicates through the command line."""

from __future__ import annotations

import json
import uuid

from concord import Claim, Client, Statement

from tests.support.cli import Ended, rows, run_concord
from tests.support.service import RunningService


def test_predicates_are_listed_and_changed(cli_service: RunningService) -> None:
    project = f"p-{uuid.uuid4()}"

    def predicates(*arguments: str) -> Ended:
        return run_concord("admin", "predicates", *arguments, "--target", cli_service.target, "--project", project)

    with Client(cli_service.target, project=project) as client:
        for predicate, value in (
            ("favorite_color", "blue"),
            ("preferred_color", "green"),
            ("bike_count", 3),
            ("car_count", 3),
        ):
            client.reconcile(Statement(f"Sam {predicate} {value}", claim=Claim("Sam", predicate, value)))
    listed = {row["predicate"]: row for row in rows(predicates("list"))}
    assert listed.keys() == {"favorite_color", "bike_count", "car_count"}
    assert (listed["favorite_color"]["aliases"], listed["favorite_color"]["facts"]) == ("preferred_color", "2")
    [suggested] = rows(predicates("list", "--suggested"))
    assert suggested["predicate"] == "bike_count"
    assert suggested["suggestions"].startswith("car_count (0.")
    changed = predicates("set", "bike_count", "--cardinality", "multi", "--drop", "car_count", "--alias", "bikes")
    assert changed.returncode == 0, changed.stderr
    assert "cardinality\tmulti\naliases\tbikes\nsuggestions\t\n" in changed.stdout
    assert rows(predicates("list", "--suggested")) == []
    again = predicates("set", "bike_count", "--unalias", "bikes", "--output", "json")
    assert json.loads(again.stdout)["aliases"] == []


def test_what_cannot_be_changed_is_told(cli_service: RunningService) -> None:
    def refused(*arguments: str) -> tuple[int, int]:
        project = f"p-{uuid.uuid4()}"
        ended = run_concord(
            "admin", "predicates", "set", *arguments, "--target", cli_service.target, "--project", project
        )
        return ended.returncode, ended.stderr.count("\n")

    assert refused("color") == (2, 1)
    assert refused("color", "--cardinality", "some") == (2, 1)
    assert refused("color", "--cardinality", "multi") == (5, 1)
    assert refused("color", "--alias", "tint")[0] == 5
