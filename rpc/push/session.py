"""The subscriptions of one WebSocket and the notices that wait to be sent there, within bounds. It knows no socket and no chain.

A notice is JSON that was made once for all subscribers (`SharedNotice`), between the few bytes that differ from one subscription to the
next; it is sent without being copied, so that a thousand readers who take nothing cost no more than one.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum
from itertools import count
from typing import Protocol

import trio

from state.protocol.errors import Refused, require
from state.protocol.operation import Operation

SUBSCRIPTIONS_MAX = 64  # of one WebSocket
# Notices that wait for one reader, in bytes, the one that is being sent included; a single one that waits may be larger.
QUEUED_SIZE_MAX = 8_000_000
# What an entry of a queue costs beside its text.
ENTRY_SIZE = 100
# A reader that was let go has so long to take what is on its way and the message; then it is cut off.
DISCONNECT_SECONDS_MAX = 10

TOO_SLOW = "the reader is too slow: too many notices wait for it"
FULL = "the node holds too many notices for slow readers"
NO_PLACE = "too many subscriptions are open"


class Topic(Enum):
    """What can be subscribed to. The last two are for the callbacks of older nodes."""

    blocks = "blocks"
    irreversible_blocks = "irreversible_blocks"
    operations = "operations"
    transactions = "transactions"
    refusals = "refusals"
    headers = "headers"
    pending = "pending"


CALLBACKS = (Topic.headers, Topic.pending)


class SharedNotice:
    """The JSON of something that has happened, and how many queues hold it."""

    __slots__ = ("data", "holders")

    def __init__(self, label: bytes, text: bytes) -> None:
        self.data = b'"%s":%s' % (label, text) if label else text
        self.holders = 0


class Filter:
    """Which operations are wanted: ones that touch one of these accounts (none: all), and are of one of these classes (none: all)."""

    __slots__ = ("accounts", "classes")

    def __init__(self, accounts: frozenset[str] = frozenset(), classes: frozenset[type[Operation]] = frozenset()) -> None:
        self.accounts, self.classes = accounts, classes


EVERYTHING = Filter()


class Subscription:
    """One subscription: its kind, what it asks for, and the bytes before and after each notice."""

    __slots__ = ("after", "before", "filter", "is_over", "kind", "session")

    def __init__(self, session: "Session", kind: Topic, wanted: Filter, before: bytes, after: bytes) -> None:
        self.session, self.kind, self.filter = session, kind, wanted
        self.before, self.after = before, after
        self.is_over = False


class NoticeSource(Protocol):
    """What gives notices to subscriptions."""

    def add(self, subscription: Subscription) -> None:
        """Begin to give notices to a subscription."""

    def remove(self, subscription: Subscription) -> None:
        """End the notices of a subscription."""

    def hold(self, shared: SharedNotice) -> None:
        """Count a queue that holds a text."""

    def drop(self, shared: SharedNotice) -> None:
        """Count a queue that holds it no more."""


def _nothing() -> None:
    """Do nothing."""


class Pause:
    """A context in which the notices of a session wait. Each request enters it: one made of a generator takes five times as long."""

    __slots__ = ("_session",)

    def __init__(self, session: "Session") -> None:
        self._session = session

    def __enter__(self) -> None:
        self._session.pause()

    def __exit__(self, *_: object) -> None:
        self._session.resume()


class Session:
    """What a WebSocket is to the methods that are called over it.

    `take` asks whether the client may have another subscription, `give_back` returns one. `on_first` is called with the first one: who
    sends has to begin then. Notices wait while the answer to a request is being made and sent (`paused`), so that an answer
    comes before the notices of the subscription that it names.
    """

    def __init__(self, source: NoticeSource, take: Callable[[], bool], give_back: Callable[[], None]) -> None:
        self._source, self._take, self._give_back = source, take, give_back
        self.on_first: Callable[[], None] = _nothing
        self.patience = trio.CancelScope()
        self.reason = ""  # why the reader was let go
        self.size = 0  # of the notices that wait
        self._numbers = count(1)
        self._subscriptions: dict[int, Subscription] = {}
        self._callbacks: dict[Topic, Subscription] = {}
        self._of_blocks = 0  # the number of the subscription that everybody may have
        self._queue: deque[tuple[Subscription, SharedNotice]] = deque()
        self._is_paused = self._is_sending = False
        self._pause = Pause(self)
        self._news = trio.Event()
        self._is_begun = self._is_closed = False

    # -------------------------------------------------------------- subscriptions

    def subscribe(self, kind: Topic, wanted: Filter = EVERYTHING, api: str = "dev_api") -> int:
        """Begin a subscription, and return its number. Its notices are called after the API that it was made by."""
        self._require_place()
        number = next(self._numbers)
        told = b'{"jsonrpc":"2.0","method":"%s.notice","params":{"subscription":%d,"kind":"%s",'
        head = told % (api.encode(), number, kind.value.encode())
        self._subscriptions[number] = self._begin(Subscription(self, kind, wanted, head, b"}}"))
        return number

    def subscribe_blocks(self) -> int:
        """Begin the one subscription of blocks that every client may have, unless it has begun, and return its number."""
        if self._of_blocks not in self._subscriptions:
            self._of_blocks = self.subscribe(Topic.blocks, api="explorer_api")
        return self._of_blocks

    def unsubscribe(self, number: int) -> None:
        """End a subscription; what waits for it isn't sent any more."""
        subscription = self._subscriptions.pop(number, None)
        if subscription is None:
            raise Refused("there is no subscription ${id} on this connection", condition="subscriptions.contains( id )", id=number)
        self._end(subscription)

    def set_callback(self, kind: Topic, callback: int) -> None:
        """Begin the notices of an older node's callback, in place of an earlier one."""
        assert kind in CALLBACKS
        earlier = self._callbacks.pop(kind, None)
        if earlier is not None:
            self._end(earlier)
        self._require_place()
        head = b'{"method":"notice","params":[%d,[' % callback
        self._callbacks[kind] = self._begin(Subscription(self, kind, EVERYTHING, head, b"]]}"))

    def cancel_callbacks(self) -> None:
        """End the notices of all callbacks of older nodes."""
        while self._callbacks:
            self._end(self._callbacks.popitem()[1])

    def close(self) -> None:
        """End everything: the client has left."""
        self._is_closed = True
        self.cancel_callbacks()
        while self._subscriptions:
            self._end(self._subscriptions.popitem()[1])
        self._clear()

    def _require_place(self) -> None:
        text = "a connection may have at most ${n} subscriptions"
        held = len(self._subscriptions) + len(self._callbacks)
        require(held < SUBSCRIPTIONS_MAX, text, condition="subscriptions.size() < max", n=SUBSCRIPTIONS_MAX)
        if self._is_closed or self.reason or not self._take():
            raise Refused(NO_PLACE, condition="subscriptions.has_room()")

    def _begin(self, subscription: Subscription) -> Subscription:
        self._source.add(subscription)
        if not self._is_begun:
            self._is_begun = True
            self.on_first()
        return subscription

    def _end(self, subscription: Subscription) -> None:
        subscription.is_over = True
        self._source.remove(subscription)
        self._give_back()

    # -------------------------------------------------------------- notices

    def put(self, subscription: Subscription, shared: SharedNotice) -> None:
        """Let a notice wait; a reader for whom too much waits already is let go."""
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
        """Send nothing more but the reason, which must be short enough for a close frame (123 bytes)."""
        if not self.reason:
            self.reason = reason
            self.patience.deadline = trio.current_time() + DISCONNECT_SECONDS_MAX
            self._clear()
            self._news.set()

    async def next(self) -> tuple[bytes, bytes, bytes] | None:
        """Wait for the next notice and return its pieces, which count as waiting until it is `sent`; None once the reader was let go."""
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
        """Note that the notice that `next` has returned is on its way."""
        if self._is_sending:
            self._pop_first()

    def paused(self) -> "Pause":
        """Return the context in which notices are kept back."""
        return self._pause

    def pause(self) -> None:
        """Keep notices back from now on."""
        self._is_paused = True

    def resume(self) -> None:
        """Let notices go on."""
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
