"""A Python process with preloaded modules that runs programs in forks: server.py LISTENER [MODULE]...

When its standard input closes, it ends together with all forks.
"""

import atexit
import contextlib
import gc
import importlib
import marshal
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import threading
from dataclasses import dataclass

REQUEST_BYTES_MAX = 2**20


@dataclass
class Run:
    """A fork: its process id, a descriptor that becomes readable when it ends, and the client that waits for it."""

    pid: int
    ended: int
    client: socket.socket


def main(listener: socket.socket, modules: list[str]) -> None:
    """Load the modules, then serve clients until standard input closes."""
    for name in modules:
        load(name)
    gc.collect()
    gc.freeze()
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        selector.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj == 0:
                    return
                if key.fileobj is listener:
                    begin(selector, listener.accept()[0])
                elif key.fileobj == key.data.ended:
                    end(selector, key.data)
                elif selector.get_map().get(key.fd) is key:
                    signalled(selector, key.data)


def load(name: str) -> None:
    """Import a module, or all modules of a package for `NAME.*`. Programs and modules with missing dependencies are skipped."""
    package = name.removesuffix(".*")
    module = importlib.import_module(package)
    if package != name:
        for found in pkgutil.walk_packages(module.__path__, f"{package}."):
            if not found.name.endswith("__main__"):
                with contextlib.suppress(ImportError):
                    importlib.import_module(found.name)


def begin(selector: selectors.BaseSelector, client: socket.socket) -> None:
    """Fork a process for a client."""
    request, streams, _, _ = socket.recv_fds(client, REQUEST_BYTES_MAX, 3)
    pid = os.fork() if request else None
    if pid == 0:
        for key in selector.get_map().values():
            if key.fd:
                os.close(key.fd)
        selector.close()
        client.close()
        folder, words, environment = marshal.loads(request)
        os._exit(run(folder, words, environment, streams))
    for stream in streams:
        os.close(stream)
    if pid is None:
        client.close()
        return
    started = Run(pid, os.pidfd_open(pid), client)
    selector.register(started.ended, selectors.EVENT_READ, started)
    selector.register(client, selectors.EVENT_READ, started)


def signalled(selector: selectors.BaseSelector, started: Run) -> None:
    """Forward a client's signal to its fork. If the client is gone, kill the fork."""
    try:
        number = started.client.recv(1)
    except ConnectionError:
        number = b""
    if not number:
        selector.unregister(started.client)
    signal.pidfd_send_signal(started.ended, number[0] if number else signal.SIGKILL)


def end(selector: selectors.BaseSelector, started: Run) -> None:
    """Send the exit status of a fork to its client."""
    _, status = os.waitpid(started.pid, 0)
    selector.unregister(started.ended)
    os.close(started.ended)
    with contextlib.suppress(KeyError):
        selector.unregister(started.client)
    with started.client, contextlib.suppress(OSError):
        started.client.send(os.waitstatus_to_exitcode(status).to_bytes(2, "big", signed=True))


def run(folder: bytes, words: list[str], environment: dict[bytes, bytes], streams: list[int]) -> int:
    """Run a program as `python` with these arguments would, and return its status."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environb.clear()
    os.environb.update(environment)
    sys.path[0:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    try:
        program(words)
        status = 0
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    with contextlib.suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    for written in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            written.flush()
    return status


def program(words: list[str]) -> None:
    """Run a module (`-m NAME`, or `-P -m NAME` without the working folder in the path) or a file."""
    if words[0] == "-m":
        sys.path.insert(0, os.getcwd())
    if "-m" in words[:2]:
        name, *sys.argv[1:] = words[words.index("-m") + 1 :]
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = words
        sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
    # Processes that the program starts are in its process group.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)
    os._exit(0)
