"""An observation and a recorded state of it, for scripted use cases."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from concord_server.domain.enums import ObservationAction, ObservationState
from concord_server.domain.observations import Group, Observation, ObservationVersion, Support

from tests.contract.ledger_values import FACT, NOW

OBSERVATION = Observation(
    observation_id=UUID(int=7),
    group=Group("team-a", "sport", "Person", "ada", ("sea", "summer")),
    text="Ada likes the sea",
    state=ObservationState.ACTIVE,
    support=(Support(FACT.fact_id, NOW - timedelta(days=9)), Support(UUID(int=8), NOW - timedelta(days=2))),
    create_time=NOW - timedelta(days=1),
    update_time=NOW,
    version=3,
)
OBSERVATION_VERSION = ObservationVersion(
    OBSERVATION, ObservationAction.UPDATED, UUID(int=9), "one more fact agrees", NOW, None
)
