"""Runs a program in a preloaded Python with this process's streams, folder and environment: python -I -S client.py NAME [WORD]...

The client exits with the program's status and forwards signals to it. For a fast start it imports as little as possible.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import marshal
import os
import sys

HANDED_ON = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM)
LOST = 70


def main(name: str, words: list[str]) -> int:
    """Run a program in a fork of the preloaded process. Return its exit status, which is negative if a signal ended it."""
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    line.connect(f"\0{name}")
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    request = marshal.dumps((os.getcwdb(), words, dict(os.environb)))
    line.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    for number in HANDED_ON:
        _signal.signal(number, lambda number, _: line.send(bytes([number])))
    status = line.recv(2)
    return int.from_bytes(status, "big", signed=True) if status else LOST


if __name__ == "__main__":
    ended = main(sys.argv[1], sys.argv[2:])
    if ended < 0:
        if -ended in HANDED_ON:
            _signal.signal(-ended, _signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    sys.exit(ended)
