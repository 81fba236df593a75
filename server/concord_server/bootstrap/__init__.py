"""The only place where the parts of the service are put together."""

from concord_server.bootstrap.judging import PairJudgement, judge_pair
from concord_server.bootstrap.service import (
    START_ERRORS,
    migrate_service,
    run_service,
    run_workers,
    running_service,
)

__all__ = [
    "START_ERRORS",
    "PairJudgement",
    "judge_pair",
    "migrate_service",
    "run_service",
    "run_workers",
    "running_service",
]
