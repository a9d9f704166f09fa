"""The command `lockgate`, which the wheel installs."""

from __future__ import annotations

import signal
import sys

from . import _lockgate


def main() -> int:
    """Runs the command with the arguments of this process. Returns its exit code."""
    # As for any program: until the command handles Ctrl-C itself, it ends the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _lockgate.main(sys.argv)


if __name__ == "__main__":
    sys.exit(main())
