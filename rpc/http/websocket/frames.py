"""Parser of WebSocket frames without I/O: converts received bytes to messages and to replies to control frames.

Nearly all texts arrive as one complete frame. Such frames are parsed here, in a fifth of wsproto's time. All other frames are passed to
wsproto, which enforces the protocol. For such a frame, this parser only reads the length, to find where the frame ends.
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
    """Kind of event that the received bytes contain."""

    TEXT = auto()  # a text message, in UTF-8
    BYTES = auto()  # a binary message
    ANSWER = auto()  # a frame to send to the client
    END = auto()  # the last frame to send, if any: the client has closed the WebSocket or violated the protocol
    TOO_LARGE = auto()  # the last frame to send, because a message is too large
    NOTHING = auto()  # a frame, or part of one, that has no result yet
    MORE = auto()  # no event: more bytes are needed


class Frames:
    """Parser of a client's frames. `waiting_size` is the number of bytes received so far of an incomplete message."""

    def __init__(self, size_max: int) -> None:
        self.waiting_size = 0
        self._size_max = size_max
        self._protocol = Connection(ConnectionType.SERVER)
        self._found: deque[tuple[FrameEvent, bytes]] = deque()
        self._text = bytearray()
        self._data, self._at = b"", 0
        # State of a frame that wsproto has received in part: its first bytes until its length is known, then the number of missing bytes.
        self._head = b""
        self._missing = 0
        self._is_fragmented = False

    @property
    def has_more(self) -> bool:
        """Whether `next` would return an event other than MORE."""
        return bool(self._found) or self._at < len(self._data)

    def feed(self, data: bytes) -> None:
        """Add received bytes. Call this method after `next` has returned MORE."""
        self._data, self._at = data, 0

    def drop(self) -> None:
        """Drop all received bytes. Called at the end of the connection."""
        self._data, self._at, self._text = b"", 0, bytearray()
        self._found.clear()

    def next(self) -> tuple[FrameEvent, bytes]:
        """Return the next event and its bytes."""
        if not self._found:
            if self._at == len(self._data):
                self._data, self._at = b"", 0
                return FrameEvent.MORE, b""
            text = None if self._missing or self._head or self._is_fragmented else self._whole_text()
            if text is not None:
                return FrameEvent.TEXT, text
            self._pass_on()
        return self._found.popleft() if self._found else (FrameEvent.NOTHING, b"")

    def close(self, code: int, reason: str = "") -> bytes:
        """Return the frame that closes the WebSocket, or b"" if it is already closed."""
        try:
            return self._protocol.send(CloseConnection(code, reason or None))
        except LocalProtocolError:
            return b""

    def _whole_text(self) -> bytes | None:
        """Return the text of the next frame if it is complete and valid. Return None if wsproto must parse the frame."""
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
        """Pass the next frame, or the part of it that has arrived, to wsproto."""
        rest = len(self._data) - self._at
        if not self._missing:
            known = len(self._head)
            self._head += self._data[self._at : self._at + _LARGE_HEAD.size - known]
            size = _frame_size(self._head)
            if size is None:
                self._emit(rest)
                return
            self._set_kind(self._head[0])
            self._head = b""
            self._missing = size - known
        size = min(self._missing, rest)
        self._missing -= size
        self._emit(size)

    def _set_kind(self, first: int) -> None:
        """Record whether the message continues after this frame, from the frame's first byte. Control frames can occur within a message."""
        if not first & _CONTROL:
            self._is_fragmented = not first & _LAST

    def _emit(self, size: int) -> None:
        """Pass the next `size` bytes to wsproto, and queue the resulting events."""
        data, self._at = self._data[self._at : self._at + size], self._at + size
        self._protocol.receive_data(data)
        for event in self._protocol.events():
            if isinstance(event, Message):
                self._collect(event)
            elif isinstance(event, Ping):
                self._found.append((FrameEvent.ANSWER, self._protocol.send(event.response())))
            elif isinstance(event, CloseConnection):
                is_asked = self._protocol.state is ConnectionState.REMOTE_CLOSING
                # Otherwise the client has violated the protocol. The code is 1002, or 1007 for a text that isn't valid UTF-8.
                self._end(FrameEvent.END, self._protocol.send(event.response()) if is_asked else self.close(event.code, event.reason or ""))

    def _collect(self, event: Message[Any]) -> None:
        """Add a chunk to the current message. Queue an event if the message is complete or too large."""
        # The text is collected as bytes, since a single character can make a str use four bytes per character.
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

    def _end(self, kind: FrameEvent, frame: bytes) -> None:
        """Queue the WebSocket's last event, and drop the remaining bytes."""
        self._found.append((kind, frame))
        self._data, self._at = b"", 0


def text_frame(text: bytes) -> bytes:
    """Encode a complete text message as one frame."""
    return text_head(len(text)) + text


def text_head(size: int) -> bytes:
    """Encode the frame header of a complete text message of `size` bytes."""
    if size < _SIZE_IN_2:
        return _SMALL_HEAD.pack(_WHOLE_TEXT, size)
    if size <= _SIZE_MAX_IN_2:
        return _HEAD.pack(_WHOLE_TEXT, _SIZE_IN_2, size)
    return _LARGE_HEAD.pack(_WHOLE_TEXT, _SIZE_IN_8, size)


def unmasked(mask: bytes, data: bytes) -> bytes:
    """Unmask a client's data. Two large integers are used for this, since bytes would need a Python loop."""
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
    """Compute the length of a client's frame, including its header, from the first bytes. Return None if more bytes are needed."""
    if len(head) < _SMALL_HEAD.size:
        return None
    size, mask = head[1] & _SIZE, _MASK_SIZE if head[1] & _MASKED else 0
    if size < _SIZE_IN_2:
        return _SMALL_HEAD.size + mask + size
    whole = _HEAD if size == _SIZE_IN_2 else _LARGE_HEAD
    if len(head) < whole.size:
        return None
    return whole.size + mask + int(whole.unpack(head[: whole.size])[2])
