"""Parser of a WebSocket's frames, without I/O: turns received bytes into messages and replies to control frames.

A text that arrives as one whole frame, as nearly all do, is parsed here, in a fifth of wsproto's time. Every other frame goes to wsproto,
which enforces the protocol; here only its length is parsed, to find its end.
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
    """Event found in the received bytes."""

    TEXT = auto()  # a message, in UTF-8
    BYTES = auto()  # a message that is not a text
    ANSWER = auto()  # a frame to be sent
    END = auto()  # the last frame to be sent, if any: the client has closed the WebSocket, or violated the protocol
    TOO_LARGE = auto()  # the last frame to be sent, since a message is too large
    NOTHING = auto()  # a frame, or a part of it, without a result yet
    MORE = auto()  # the end of the received bytes


class Frames:
    """Parser of a client's frames. `waiting_size` is the received size of the incomplete message."""

    def __init__(self, size_max: int) -> None:
        self.waiting_size = 0
        self._size_max = size_max
        self._protocol = Connection(ConnectionType.SERVER)
        self._found: deque[tuple[FrameEvent, bytes]] = deque()
        self._text = bytearray()
        self._data, self._at = b"", 0
        # Of a frame that wsproto has received in part: its beginning until the length is known, then the number of missing bytes.
        self._head = b""
        self._left = 0
        self._is_fragmented = False

    @property
    def has_more(self) -> bool:
        """Whether `next` returns an event other than MORE."""
        return bool(self._found) or self._at < len(self._data)

    def feed(self, data: bytes) -> None:
        """Take received bytes, after `next` has returned MORE."""
        self._data, self._at = data, 0

    def drop(self) -> None:
        """Drop all received bytes, at the end."""
        self._data, self._at, self._text = b"", 0, bytearray()
        self._found.clear()

    def next(self) -> tuple[FrameEvent, bytes]:
        """Return the next event, with its bytes."""
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
        """Return the frame that closes the WebSocket, b"" if it is already closed."""
        try:
            return self._protocol.send(CloseConnection(code, reason or None))
        except LocalProtocolError:
            return b""

    def _whole_text(self) -> bytes | None:
        """Return the text of the next frame if it is whole and valid; None leaves the frame, and any error in it, to wsproto."""
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
        """Pass the next frame, or its received part, to wsproto."""
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
        """Update whether a message continues after this frame. Control frames can occur within a message."""
        if not first & _CONTROL:
            self._is_fragmented = not first & _LAST

    def _emit(self, size: int) -> None:
        """Pass `size` bytes to wsproto, and queue the resulting events."""
        data, self._at = self._data[self._at : self._at + size], self._at + size
        self._protocol.receive_data(data)
        for event in self._protocol.events():
            if isinstance(event, Message):
                self._collect(event)
            elif isinstance(event, Ping):
                self._found.append((FrameEvent.ANSWER, self._protocol.send(event.response())))
            elif isinstance(event, CloseConnection):
                is_asked = self._protocol.state is ConnectionState.REMOTE_CLOSING
                # Otherwise the client has violated the protocol: 1002, or 1007 for a text that is not UTF-8.
                self._end(FrameEvent.END, self._protocol.send(event.response()) if is_asked else self.close(event.code, event.reason or ""))

    def _collect(self, event: Message[Any]) -> None:
        """Collect a piece of a message."""
        # As bytes, since one character can make a str take four bytes for each.
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
        """Queue the final event, and drop all further bytes."""
        self._found.append((how, frame))
        self._data, self._at = b"", 0


def text_frame(text: bytes) -> bytes:
    """Encode the frame of a whole text."""
    return text_head(len(text)) + text


def text_head(size: int) -> bytes:
    """Encode the header of the frame of a whole text of `size` bytes."""
    if size < _SIZE_IN_2:
        return _SMALL_HEAD.pack(_WHOLE_TEXT, size)
    if size <= _SIZE_MAX_IN_2:
        return _HEAD.pack(_WHOLE_TEXT, _SIZE_IN_2, size)
    return _LARGE_HEAD.pack(_WHOLE_TEXT, _SIZE_IN_8, size)


def unmasked(mask: bytes, data: bytes) -> bytes:
    """Unmask a client's data, as two large integers, since bytes would need a loop in Python."""
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
    """Return the length of a client's frame from its first bytes; None if they are too few."""
    if len(head) < _SMALL_HEAD.size:
        return None
    size, mask = head[1] & _SIZE, _MASK_SIZE if head[1] & _MASKED else 0
    if size < _SIZE_IN_2:
        return _SMALL_HEAD.size + mask + size
    whole = _HEAD if size == _SIZE_IN_2 else _LARGE_HEAD
    if len(head) < whole.size:
        return None
    return whole.size + mask + int(whole.unpack(head[: whole.size])[2])
