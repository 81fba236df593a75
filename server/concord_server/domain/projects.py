"""Projects: who has a ledger of their own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from concord_server.domain.commands import MAX_LABEL, Violations
from concord_server.domain.text import label_problem

_NAME = re.compile(r"[a-z0-9_-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Project:
    """A tenant.

    Attributes:
        create_time: when it was first used or created.
    """

    project_id: str
    display_name: str
    create_time: datetime


def validate_new_project(project_id: str, display_name: str, found: Violations) -> None:
    """Adds what is wrong with a project to create.

    Those that come into being by their first use may have other names: they are what credentials and metadata say.
    """
    if not _NAME.fullmatch(project_id):
        found.add("project_id", 'must be 1 to 64 lower-case letters, digits, "-" and "_"')
    found.add("display_name", label_problem(display_name, max_length=MAX_LABEL))
