"""How the property tests of this directory run; ``CONCORD_EXAMPLES`` asks for more examples of each."""

import os

from hypothesis import settings

EXAMPLES = int(os.environ.get("CONCORD_EXAMPLES", "100"))

# No test depends on the speed of the machine.
settings.register_profile("domain", deadline=None, max_examples=EXAMPLES)
settings.load_profile("domain")
