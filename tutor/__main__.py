"""`kerneltutor` and `python -m tutor`: the same program."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; the answer is the exit code."""
    from tutor.cli.app import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
