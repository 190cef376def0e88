"""The command line: `strata`, or `python -m stratasim`."""

import signal
import sys

from . import _native
from ._call import AGAIN


def main() -> int:
    """Runs the command line with the arguments of this process; gives the exit status."""
    # While a simulation runs, the interpreter could not answer to Ctrl-C; the process can.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(["strata", *sys.argv[1:]], AGAIN)


if __name__ == "__main__":
    sys.exit(main())
