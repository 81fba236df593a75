from __future__ import annotations

import pytest
from concord_server.storage.sessions import PostgresLedger
from sqlalchemy.ext.asyncio import AsyncEngine

from tests.support.observing import Observatory


@pytest.fixture
def there(ledger: PostgresLedger, engine: AsyncEngine, project: str) -> Observatory:
    """A project whose runs form observations."""
    return Observatory(ledger, engine, project)
