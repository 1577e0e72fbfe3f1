"""Pages, for example /health. Each is a function that returns a complete response. Responses are cached."""

import time
from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

# A page is cached for this multiple of the CPU time that building it took. Requests for pages therefore use at most a twentieth of the CPU.
PAGE_KEPT_TIMES = 20
PAGE_KEPT_SECONDS_MAX = 1.0
PAGE_VERBS = ("GET", "HEAD")


class PageReply(Struct, frozen=True):
    """Response of a page: body, status and content type."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"


Page = Callable[[], PageReply] | Callable[[], Awaitable[PageReply]]
Pages = Mapping[str, Page]


class CachedPage:
    """A cached page. It expires after PAGE_KEPT_TIMES the CPU time of building it, but at most after PAGE_KEPT_SECONDS_MAX."""

    def __init__(self, page: Callable[[], PageReply]) -> None:
        self._page = page
        self._reply: PageReply | None = None
        self._until = 0.0

    def __call__(self) -> PageReply:
        """Return the page's response, from the cache if it hasn't expired."""
        if self._reply is None or time.perf_counter() >= self._until:
            begun = time.thread_time()
            self._reply = self._page()
            seconds = PAGE_KEPT_TIMES * (time.thread_time() - begun)
            self._until = time.perf_counter() + min(PAGE_KEPT_SECONDS_MAX, seconds)
        return self._reply
