"""The subscriptions of one WebSocket, and its bounded queue of notices.

The JSON of a notice is encoded once for all subscribers (`SharedNotice`). The JSON is sent without being copied, between the few bytes that
are specific to each subscription. A thousand slow clients therefore need no more memory for this JSON than one client.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum
from itertools import count
from typing import Protocol

import trio

from state.protocol.errors import Refused, require
from state.protocol.operation import Operation

SUBSCRIPTIONS_MAX = 64  # per WebSocket
# Maximum size of one client's queued notices in bytes, including the notice being sent. A single queued notice may be larger.
QUEUED_SIZE_MAX = 8_000_000
ENTRY_SIZE = 100  # bytes per queue entry, without its text
# Time in which a slow client must receive the notice being sent and the close reason. After that, its connection is aborted.
DISCONNECT_SECONDS_MAX = 10

TOO_SLOW = "the reader is too slow: too many notices wait for it"
FULL = "the node holds too many notices for slow readers"
NO_PLACE = "too many subscriptions are open"


class Topic(Enum):
    """Topic of a subscription. The last two topics are for the callbacks of older nodes."""

    blocks = "blocks"
    irreversible_blocks = "irreversible_blocks"
    operations = "operations"
    transactions = "transactions"
    refusals = "refusals"
    headers = "headers"
    pending = "pending"


CALLBACKS = (Topic.headers, Topic.pending)


class SharedNotice:
    """The JSON of an event, and the number of queues that contain it."""

    __slots__ = ("data", "holders")

    def __init__(self, label: bytes, text: bytes) -> None:
        self.data = b'"%s":%s' % (label, text) if label else text
        self.holders = 0


class Filter:
    """Filter for operations that affect one of `accounts` and belong to one of `classes`. An empty set selects everything."""

    __slots__ = ("accounts", "classes")

    def __init__(self, accounts: frozenset[str] = frozenset(), classes: frozenset[type[Operation]] = frozenset()) -> None:
        self.accounts, self.classes = accounts, classes


EVERYTHING = Filter()


class Subscription:
    """A subscription: its topic, its filter, and the bytes to send before and after each notice."""

    __slots__ = ("after", "before", "filter", "is_over", "kind", "session")

    def __init__(self, session: "Session", kind: Topic, wanted: Filter, before: bytes, after: bytes) -> None:
        self.session, self.kind, self.filter = session, kind, wanted
        self.before, self.after = before, after
        self.is_over = False


class NoticeSource(Protocol):
    """The part of the push hub that sessions use: they register subscriptions, and report their queued notices."""

    def add(self, subscription: Subscription) -> None:
        """Register a subscription, so that it gets the notices of its topic."""

    def remove(self, subscription: Subscription) -> None:
        """Unregister a subscription, so that it gets no more notices."""

    def hold(self, shared: SharedNotice) -> None:
        """Count a notice that was added to a client's queue."""

    def drop(self, shared: SharedNotice) -> None:
        """Stop counting a notice that was removed from a client's queue."""


def _nothing() -> None:
    """Do nothing. This is the default of `on_first`."""


class Pause:
    """Context manager that pauses the notices of a session. It is a class, since every request enters it and a generator is five times
    slower.
    """

    __slots__ = ("_session",)

    def __init__(self, session: "Session") -> None:
        self._session = session

    def __enter__(self) -> None:
        self._session.pause()

    def __exit__(self, *_: object) -> None:
        self._session.resume()


class Session:
    """A WebSocket's subscriptions and its queue of notices. RPC methods get this object as an argument.

    `take` reserves a subscription within the client's limit, and returns False if the limit is reached. `give_back` releases it. `on_first`
    is called at the first subscription, to start the task that sends notices. While the reply to a request is made and sent, notices are
    paused. A client thus receives the number of a new subscription before that subscription's first notice.
    """

    def __init__(self, source: NoticeSource, take: Callable[[], bool], give_back: Callable[[], None]) -> None:
        self._source, self._take, self._give_back = source, take, give_back
        self.on_first: Callable[[], None] = _nothing
        self.patience = trio.CancelScope()
        self.reason = ""  # the reason for disconnecting the client
        self.size = 0  # total size of the queued notices, in bytes
        self._numbers = count(1)
        self._subscriptions: dict[int, Subscription] = {}
        self._callbacks: dict[Topic, Subscription] = {}
        self._of_blocks = 0  # number of the subscription started by `subscribe_blocks`
        self._queue: deque[tuple[Subscription, SharedNotice]] = deque()
        self._is_paused = self._is_sending = False
        self._pause = Pause(self)
        self._news = trio.Event()
        self._has_started = self._is_closed = False

    # -------------------------------------------------------------- subscriptions

    def subscribe(self, kind: Topic, wanted: Filter = EVERYTHING, api: str = "dev_api") -> int:
        """Start a subscription and return its number. `api` is the group in the method name of its notices."""
        self._require_capacity()
        number = next(self._numbers)
        template = b'{"jsonrpc":"2.0","method":"%s.notice","params":{"subscription":%d,"kind":"%s",'
        head = template % (api.encode(), number, kind.value.encode())
        self._subscriptions[number] = self._start(Subscription(self, kind, wanted, head, b"}}"))
        return number

    def subscribe_blocks(self) -> int:
        """Start the session's only subscription to blocks on the first call. Return the subscription's number."""
        if self._of_blocks not in self._subscriptions:
            self._of_blocks = self.subscribe(Topic.blocks, api="explorer_api")
        return self._of_blocks

    def unsubscribe(self, number: int) -> None:
        """End a subscription and drop its queued notices. Raises Refused if there is no such subscription."""
        subscription = self._subscriptions.pop(number, None)
        if subscription is None:
            raise Refused("there is no subscription ${id} on this connection", condition="subscriptions.contains( id )", id=number)
        self._end(subscription)

    def set_callback(self, kind: Topic, callback: int) -> None:
        """Start the callback of a topic, for clients of older nodes. This replaces the topic's previous callback."""
        assert kind in CALLBACKS
        earlier = self._callbacks.pop(kind, None)
        if earlier is not None:
            self._end(earlier)
        self._require_capacity()
        head = b'{"method":"notice","params":[%d,[' % callback
        self._callbacks[kind] = self._start(Subscription(self, kind, EVERYTHING, head, b"]]}"))

    def cancel_callbacks(self) -> None:
        """Cancel all callbacks of the client."""
        while self._callbacks:
            self._end(self._callbacks.popitem()[1])

    def close(self) -> None:
        """End all subscriptions. Called after the client has disconnected."""
        self._is_closed = True
        self.cancel_callbacks()
        while self._subscriptions:
            self._end(self._subscriptions.popitem()[1])
        self._clear()
        self.on_first = _nothing  # breaks the reference cycle with the connection and its received bytes

    def _require_capacity(self) -> None:
        text = "a connection may have at most ${n} subscriptions"
        held = len(self._subscriptions) + len(self._callbacks)
        require(held < SUBSCRIPTIONS_MAX, text, condition="subscriptions.size() < max", n=SUBSCRIPTIONS_MAX)
        if self._is_closed or self.reason or not self._take():
            raise Refused(NO_PLACE, condition="subscriptions.has_room()")

    def _start(self, subscription: Subscription) -> Subscription:
        self._source.add(subscription)
        if not self._has_started:
            self._has_started = True
            self.on_first()
        return subscription

    def _end(self, subscription: Subscription) -> None:
        subscription.is_over = True
        self._source.remove(subscription)
        self._give_back()

    # -------------------------------------------------------------- notices

    def put(self, subscription: Subscription, shared: SharedNotice) -> None:
        """Queue a notice. Disconnect the client if its queue is full."""
        if self.reason or self._is_closed:
            return
        size = ENTRY_SIZE + len(shared.data)
        if len(self._queue) > self._is_sending and self.size + size > QUEUED_SIZE_MAX:
            self.disconnect_slow(TOO_SLOW)
            return
        self._queue.append((subscription, shared))
        self.size += size
        self._source.hold(shared)
        self._news.set()

    def disconnect_slow(self, reason: str) -> None:
        """Drop the queued notices, and disconnect the client with a reason. The reason must fit into a close frame (123 bytes)."""
        if not self.reason:
            self.reason = reason
            self.patience.deadline = trio.current_time() + DISCONNECT_SECONDS_MAX
            self._clear()
            self._news.set()

    async def next(self) -> tuple[bytes, bytes, bytes] | None:
        """Wait for the next notice, and return its bytes in three chunks, or None if `reason` is set. The notice stays queued until `sent`
        is called.
        """
        while not self.reason:
            while self._queue and not self._is_paused:
                subscription, shared = self._queue[0]
                if not subscription.is_over:
                    self._is_sending = True
                    return subscription.before, shared.data, subscription.after
                self._pop_first()
            self._news = trio.Event()
            await self._news.wait()
        return None

    def sent(self) -> None:
        """Remove the notice returned by `next` from the queue. Call it after sending the notice."""
        if self._is_sending:
            self._pop_first()

    def paused(self) -> "Pause":
        """Return a context manager. Inside it, `next` waits even if notices are queued."""
        return self._pause

    def pause(self) -> None:
        """Make `next` wait, even if notices are queued."""
        self._is_paused = True

    def resume(self) -> None:
        """Make `next` return queued notices again."""
        self._is_paused = False
        self._news.set()

    def _pop_first(self) -> None:
        _, shared = self._queue.popleft()
        self._is_sending = False
        self.size -= ENTRY_SIZE + len(shared.data)
        self._source.drop(shared)

    def _clear(self) -> None:
        while self._queue:
            self._pop_first()
