"""How property tests run: the same examples each time, so that what CI says depends on the change alone.

``CONCORD_EXAMPLES=N`` asks for N examples of each property instead, other ones in every run.
"""

import os

from hypothesis import settings

_EXPLORED = int(os.environ.get("CONCORD_EXAMPLES", "0"))

# No test depends on the speed of the machine.
settings.register_profile(
    "concord", deadline=None, max_examples=_EXPLORED or 100, derandomize=not _EXPLORED, database=None
)
settings.load_profile("concord")
