"""Loads the commands of the coind that is installed for this Python, and does each that it is asked for in a fork: server.py LISTENER."""

import contextlib
import gc
import importlib
import marshal
import os
import pkgutil
import signal
import socket
import sys

COMMANDS = "coind.node.commands"
PACKAGES = ("dev", "show", "tx")
MODULES = ("app", "client", "keys", "remote")


def main(listener: socket.socket) -> None:
    """Serve until killed."""
    for name in MODULES:
        importlib.import_module(f"{COMMANDS}.{name}")
    for package in PACKAGES:
        loaded = importlib.import_module(f"{COMMANDS}.{package}")
        for module in pkgutil.iter_modules(loaded.__path__, f"{loaded.__name__}."):
            importlib.import_module(module.name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, reap)
    while True:
        line, _ = listener.accept()
        with line:
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                line.send(bytes([done(line)]))
                os._exit(0)


def reap(*_: object) -> None:
    """Take the forks that have ended, so that their processor time counts as that of this process."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def done(line: socket.socket) -> int:
    """Do a command as a process of its own would; returns its status."""
    _, streams, _, _ = socket.recv_fds(line, 1, 3)
    given = b"".join(iter(lambda: line.recv(65536), b""))
    folder, words, environment = marshal.loads(given)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["coind", *words]
    try:
        status = importlib.import_module("coind.__main__").main()
    except SystemExit as end:
        status = end.code
    sys.stdout.flush()
    sys.stderr.flush()
    return int(status or 0)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
