"""The frames of a WebSocket: what has arrived becomes messages and answers to control frames. It does no I/O.

A text that has arrived as one whole frame, as nearly all do, is read here, in a fifth of the time. Every other frame is given to wsproto,
which keeps the rules; here only its length is looked at, to know where it ends.
"""

import struct
from collections import deque
from enum import Enum, auto
from typing import Any

from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import CloseConnection, Message, Ping, TextMessage
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import LocalProtocolError

_WHOLE_TEXT, _MASKED, _LAST = 0x81, 0x80, 0x80
_KIND, _SIZE, _CONTROL = 0x0F, 0x7F, 0x08
_SIZE_IN_2, _SIZE_IN_8 = 126, 127
_SIZE_MAX_IN_2 = (1 << 16) - 1
_MASK_SIZE = 4
_SMALL_HEAD, _HEAD, _LARGE_HEAD = struct.Struct("!BB"), struct.Struct("!BBH"), struct.Struct("!BBQ")


class FrameEvent(Enum):
    """What was found in the bytes that have arrived."""

    TEXT = auto()  # a message, in UTF-8
    BYTES = auto()  # a message that is no text
    ANSWER = auto()  # a frame to be sent
    END = auto()  # the last frame to be sent, if any: the client has closed the WebSocket, or broken the rules
    TOO_LARGE = auto()  # the last frame to be sent, since a message is too large
    NOTHING = auto()  # a frame, or a part of it, from which nothing follows yet
    MORE = auto()  # the end of what has arrived


class Frames:
    """The client's frames of one WebSocket. `waiting_size` is how much there is of a message that has not arrived as a whole."""

    def __init__(self, size_max: int) -> None:
        self.waiting_size = 0
        self._size_max = size_max
        self._protocol = Connection(ConnectionType.SERVER)
        self._found: deque[tuple[FrameEvent, bytes]] = deque()
        self._text = bytearray()
        self._data, self._at = b"", 0
        # Of the frame that wsproto has got a part of: the beginning until its length is known, then how many bytes are still to come.
        self._head = b""
        self._left = 0
        self._is_fragmented = False

    @property
    def has_more(self) -> bool:
        """Whether `next` returns something before the end of what has arrived."""
        return bool(self._found) or self._at < len(self._data)

    def feed(self, data: bytes) -> None:
        """Take bytes that have arrived, once `next` has come to the end of those before."""
        self._data, self._at = data, 0

    def next(self) -> tuple[FrameEvent, bytes]:
        """Return what comes next, with its bytes."""
        if not self._found:
            if self._at == len(self._data):
                self._data, self._at = b"", 0
                return FrameEvent.MORE, b""
            text = None if self._left or self._head or self._is_fragmented else self._whole_text()
            if text is not None:
                return FrameEvent.TEXT, text
            self._pass_on()
        return self._found.popleft() if self._found else (FrameEvent.NOTHING, b"")

    def close(self, code: int, reason: str = "") -> bytes:
        """Return the frame that closes the WebSocket, b"" when it has been closed already."""
        try:
            return self._protocol.send(CloseConnection(code, reason or None))
        except LocalProtocolError:
            return b""

    def _whole_text(self) -> bytes | None:
        """Return the text of the next frame if it is the usual one; None leaves it to wsproto, and so whatever is wrong with it."""
        data, at = self._data, self._at
        if len(data) - at < 2 or data[at] != _WHOLE_TEXT or data[at + 1] < _MASKED:
            return None
        size, start = data[at + 1] & _SIZE, at + 2
        if size == _SIZE_IN_2:
            size, start = int.from_bytes(data[start : start + 2]), start + 2
            if size < _SIZE_IN_2:
                return None
        elif size == _SIZE_IN_8:
            return None
        end = start + _MASK_SIZE + size
        if end > len(data) or size > self._size_max:
            return None
        text = unmasked(data[start : start + _MASK_SIZE], data[start + _MASK_SIZE : end])
        if not text.isascii() and not _is_utf8(text):
            return None
        self._at = end
        return text

    def _pass_on(self) -> None:
        """Give wsproto the next frame, or what there is of it."""
        rest = len(self._data) - self._at
        if not self._left:
            known = len(self._head)
            self._head += self._data[self._at : self._at + _LARGE_HEAD.size - known]
            size = _frame_size(self._head)
            if size is None:
                self._emit(rest)
                return
            self._set_kind(self._head[0])
            self._head = b""
            self._left = size - known
        size = min(self._left, rest)
        self._left -= size
        self._emit(size)

    def _set_kind(self, first: int) -> None:
        """Note whether a message goes on after this frame. Control frames may come within one."""
        if not first & _CONTROL:
            self._is_fragmented = not first & _LAST

    def _emit(self, size: int) -> None:
        """Give wsproto `size` bytes, and take what it makes of them."""
        data, self._at = self._data[self._at : self._at + size], self._at + size
        self._protocol.receive_data(data)
        for event in self._protocol.events():
            if isinstance(event, Message):
                self._collect(event)
            elif isinstance(event, Ping):
                self._found.append((FrameEvent.ANSWER, self._protocol.send(event.response())))
            elif isinstance(event, CloseConnection):
                is_asked = self._protocol.state is ConnectionState.REMOTE_CLOSING
                # Otherwise the client has broken a rule, and hears which: 1002, or 1007 for a text that is no UTF-8.
                self._end(FrameEvent.END, self._protocol.send(event.response()) if is_asked else self.close(event.code, event.reason or ""))

    def _collect(self, event: Message[Any]) -> None:
        """Take a piece of a message."""
        # As bytes: one letter can make a text take four bytes for each.
        data: bytes = event.data.encode() if isinstance(event, TextMessage) else event.data
        self.waiting_size += len(data)
        if self.waiting_size > self._size_max:
            self._end(FrameEvent.TOO_LARGE, self.close(CloseReason.MESSAGE_TOO_BIG))
            return
        if isinstance(event, TextMessage):
            self._text += data
        if event.message_finished:
            self._found.append((FrameEvent.TEXT, bytes(self._text)) if isinstance(event, TextMessage) else (FrameEvent.BYTES, b""))
            self._text = bytearray()
            self.waiting_size = 0

    def _end(self, how: FrameEvent, frame: bytes) -> None:
        """Look at nothing that comes after."""
        self._found.append((how, frame))
        self._data, self._at = b"", 0


def text_frame(text: bytes) -> bytes:
    """Return the frame of a whole text."""
    return text_head(len(text)) + text


def text_head(size: int) -> bytes:
    """Return what begins the frame of a whole text of so many bytes."""
    if size < _SIZE_IN_2:
        return _SMALL_HEAD.pack(_WHOLE_TEXT, size)
    if size <= _SIZE_MAX_IN_2:
        return _HEAD.pack(_WHOLE_TEXT, _SIZE_IN_2, size)
    return _LARGE_HEAD.pack(_WHOLE_TEXT, _SIZE_IN_8, size)


def unmasked(mask: bytes, data: bytes) -> bytes:
    """Return what a client has masked: as two numbers, since bytes would need a loop in Python."""
    size = len(data)
    masks = (mask * (size // _MASK_SIZE + 1))[:size]
    return (int.from_bytes(data, "little") ^ int.from_bytes(masks, "little")).to_bytes(size, "little")


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _frame_size(head: bytes) -> int | None:
    """Return how long a client's frame is, by its first bytes; None if these are too few."""
    if len(head) < _SMALL_HEAD.size:
        return None
    size, mask = head[1] & _SIZE, _MASK_SIZE if head[1] & _MASKED else 0
    if size < _SIZE_IN_2:
        return _SMALL_HEAD.size + mask + size
    whole = _HEAD if size == _SIZE_IN_2 else _LARGE_HEAD
    if len(head) < whole.size:
        return None
    return whole.size + mask + int(whole.unpack(head[: whole.size])[2])
