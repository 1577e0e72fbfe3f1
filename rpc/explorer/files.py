"""Serves the files of the explorer: read once, compressed, with an ETag of their content and with security headers that keep users'
texts from running scripts.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath

from msgspec import Struct

from rpc.explorer.bundle import joined

ROOT = Path(__file__).parent / "web"
PREFIX = "/explorer/"  # of the paths of all files but the page itself
INDEX = "index.html"
MODULES = PREFIX + "app/"
FIRST, MAIN = MODULES + "calls.js", MODULES + "main.js"
JOINED = PREFIX + "app.js"
SHEETS = (PREFIX + "style/base.css", PREFIX + "style/parts.css")  # for every page
STYLE = PREFIX + "style.css"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
# Only our own scripts run, nothing is loaded from elsewhere, no text becomes markup, and no frame can show the page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    # A browser caches the files, and revalidates them each time.
    "cache-control": "no-cache",
    "vary": "Accept, Accept-Encoding",
}


_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
_NO_QUALITY = re.compile(rb"q\s*=\s*0(\.0*)?")
_NO_FILE = b"there is no such file\n"
_IS_PACKED = (b"content-encoding", b"gzip")

HeaderPairs = list[tuple[bytes, bytes]]


class WebFile(Struct, frozen=True):
    """A file of the explorer: its bytes, the bytes compressed by gzip, its content type, and a tag of its content."""

    body: bytes
    packed: bytes
    content_type: str
    tag: str


class FileReply(Struct, frozen=True):
    """Reply to a request for a file."""

    status: int
    headers: HeaderPairs
    body: bytes


def read_files(root: Path = ROOT) -> dict[str, WebFile]:
    """Return the files by path. The page itself, served at every path without a file, has the path "".

    JOINED contains the modules of the pages, STYLE their style sheets. FIRST is separate, since it runs before JOINED has loaded.
    """
    bodies = {PREFIX + path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.suffix in TYPES}
    modules = {
        path: bodies.pop(path).decode() for path in sorted(bodies) if path.startswith(MODULES) and path.endswith(".js") and path != FIRST
    }
    bodies[JOINED] = joined(modules, MAIN).encode()
    bodies[STYLE] = b"".join(bodies.pop(sheet) for sheet in SHEETS)
    bodies[""] = bodies.pop(PREFIX + INDEX)
    return {path: _file(body, TYPES[PurePosixPath(path or INDEX).suffix]) for path, body in bodies.items()}


def answer(files: Mapping[str, WebFile], path: str, asked: HeaderPairs, *, has_body: bool = True) -> FileReply:
    """Return the reply to a request for a path; without a body for HEAD requests, or if the browser has the file."""
    file = files.get(path) or (None if path.startswith(PREFIX) else files[""])
    if file is None:
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(_NO_FILE))]
        return FileReply(404, headers, _NO_FILE if has_body else b"")
    is_packed = takes_gzip(_values(asked, b"accept-encoding"))
    body = file.packed if is_packed else file.body
    tag = b'"%b%b"' % (file.tag.encode(), b"-gzip" if is_packed else b"")
    headers = [(b"content-type", file.content_type.encode()), (b"etag", tag), *_HEADERS, *([_IS_PACKED] if is_packed else [])]
    known = [one.strip().removeprefix(b"W/") for one in _values(asked, b"if-none-match").split(b",")]
    if tag in known or b"*" in known:
        return FileReply(304, headers, b"")
    return FileReply(200, [*headers, (b"content-length", b"%d" % len(body))], body if has_body else b"")


def takes_gzip(accepted: bytes) -> bool:
    """Whether an Accept-Encoding header allows gzip: it names gzip or `*`, with a quality other than 0."""
    qualities = {}
    for one in accepted.lower().split(b","):
        name, _, rest = one.partition(b";")
        qualities[name.strip()] = _NO_QUALITY.fullmatch(rest.strip()) is None
    return qualities.get(b"gzip", qualities.get(b"*", False))


def _values(headers: HeaderPairs, name: bytes) -> bytes:
    """Return the values of all headers with a name, joined by commas."""
    return b",".join(value for sent, value in headers if sent == name)


def _file(body: bytes, content_type: str) -> WebFile:
    import gzip  # not needed at start

    return WebFile(body, gzip.compress(body, mtime=0), content_type, sha256(body).hexdigest()[:16])
