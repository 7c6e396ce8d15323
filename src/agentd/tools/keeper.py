"""Keeps a command's processes together: `python keeper.py DESCRIPTOR ARGV…`

It starts the command in a session of its own, writes how that ended to the descriptor, and lives until the
last process below it is gone. Linux makes it the parent of all whose own parent dies, so nothing that the
command starts can leave it, however often it forks. It ignores SIGTERM: it is ended last.
"""

import ctypes
import os
import signal
import sys

PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    report, argv = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(report, False)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    command = os.fork()
    if command == 0:
        become(argv, report)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            os._exit(0)
        if pid == command:
            tell(report, str(os.waitstatus_to_exitcode(status)))


def become(argv: list[str], report: int) -> None:
    try:
        os.setsid()
        for ignored in (signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)
        os.execvp(argv[0], argv)
    except OSError as error:
        tell(report, f"{error.strerror}: {argv[0]}")
    finally:
        os._exit(127)


def tell(report: int, line: str) -> None:
    try:
        os.write(report, os.fsencode(line + "\n"))
    except OSError:
        pass  # the daemon has gone


if __name__ == "__main__":
    main()
