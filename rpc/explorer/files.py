"""The files of the explorer, as a browser gets them: read once, packed, with a tag that changes with what is in them, and with the
headers that keep texts of strangers from running anything.
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
SHEETS = (PREFIX + "style/base.css", PREFIX + "style/parts.css")  # that every page needs
STYLE = PREFIX + "style.css"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
# Nothing runs but our own files, nothing is loaded from elsewhere, no text becomes markup, and nobody shows the page in a frame.
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
    # A browser keeps the files, and asks each time whether they are still the same.
    "cache-control": "no-cache",
    "vary": "Accept, Accept-Encoding",
}


_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
_NO_QUALITY = re.compile(rb"q\s*=\s*0(\.0*)?")
_NO_FILE = b"there is no such file\n"
_IS_PACKED = (b"content-encoding", b"gzip")

HeaderPairs = list[tuple[bytes, bytes]]


class WebFile(Struct, frozen=True):
    """A file of the explorer: its bytes, the same packed by gzip, its type, and a tag of its content."""

    body: bytes
    packed: bytes
    content_type: str
    tag: str


class FileReply(Struct, frozen=True):
    """What is answered when a file is asked for."""

    status: int
    headers: HeaderPairs
    body: bytes


def read_files(root: Path = ROOT) -> dict[str, WebFile]:
    """Return the files by their paths; the page itself, which stands at every path that isn't a file's, has the path "".

    The modules of the pages are one file, JOINED, and their sheets another, STYLE. FIRST runs before JOINED is there, and so is apart.
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
    """Return the reply to a request for a path; without a body when only the head is asked for, or when the browser has the file."""
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
    """Whether an Accept-Encoding header lets a reply be packed by gzip: named, or all are, and not with the quality 0."""
    qualities = {}
    for one in accepted.lower().split(b","):
        name, _, rest = one.partition(b";")
        qualities[name.strip()] = _NO_QUALITY.fullmatch(rest.strip()) is None
    return qualities.get(b"gzip", qualities.get(b"*", False))


def _values(headers: HeaderPairs, name: bytes) -> bytes:
    """Return what headers of a name say, as one list."""
    return b",".join(value for sent, value in headers if sent == name)


def _file(body: bytes, content_type: str) -> WebFile:
    import gzip  # a start has no use for it

    return WebFile(body, gzip.compress(body, mtime=0), content_type, sha256(body).hexdigest()[:16])
