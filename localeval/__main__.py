"""`python -m localeval`, and the script `localeval`, are the command line."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from localeval.cli import main as command
    except KeyboardInterrupt:  # before the command line is there, which says more
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
