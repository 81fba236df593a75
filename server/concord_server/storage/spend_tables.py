"""Tables of what language models cost."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Date, Double, ForeignKeyConstraint, Table

from concord_server.storage.columns import key, metadata, project_key, reference, text_key

COUNTS = ("calls", "input_tokens", "output_tokens")
"""Names of the columns that count."""


def _amounts() -> list[Column[int] | Column[float]]:
    return [
        *(Column(name, BigInteger, nullable=False) for name in COUNTS),
        Column("cost", Double, nullable=False),
    ]


def _of_project() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="project")


# By project and day (UTC): what the daily budget goes by.
model_spend = Table(
    "model_spend",
    metadata,
    project_key(),
    Column("day", Date, primary_key=True),
    text_key("stage"),
    text_key("model"),
    *_amounts(),
    CheckConstraint("calls >= 0 AND input_tokens >= 0 AND output_tokens >= 0 AND cost >= 0", name="amounts"),
    _of_project(),
)

# By run, all stages together: what the budget of a run goes by.
run_spend = Table(
    "run_spend",
    metadata,
    project_key(),
    key("run_id"),
    *_amounts(),
    CheckConstraint("calls >= 0 AND input_tokens >= 0 AND output_tokens >= 0 AND cost >= 0", name="amounts"),
    _of_project(),
    reference(["run_id"], "runs", ["run_id"], "run"),
)
