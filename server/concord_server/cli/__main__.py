"""Makes ``python -m concord_server.cli`` the same as ``concord``."""

from __future__ import annotations

import sys

from concord_server.cli import main

if __name__ == "__main__":
    sys.exit(main())
