"""`python -m planner.config.probe URL`: exit 0 when the address answers 200 (a container's health check)."""

from __future__ import annotations

import sys
import urllib.request


def main() -> int:
    try:
        with urllib.request.urlopen(sys.argv[1], timeout=3) as reply:  # noqa: S310 - the address is the container's own
            return 0 if reply.status == 200 else 1
    except OSError:
        return 1


if __name__ == "__main__":
    sys.exit(main())
