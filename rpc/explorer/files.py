"""The files of the explorer, as a browser gets them: read once, packed, with a tag that changes with what is in them, and with the
headers that keep texts of strangers from running anything.
"""

from hashlib import sha256
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parent / "web"
PREFIX = "/explorer/"  # of the paths of all files but the page itself
INDEX = "index.html"
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


class File(Struct, frozen=True):
    """A file of the explorer: its bytes, the same packed by gzip, its type, and a tag of its content."""

    body: bytes
    packed: bytes
    content_type: str
    tag: str


def read_files(root: Path = ROOT) -> dict[str, File]:
    """Return the files by their paths; the page itself, which stands at every path that isn't a file's, has the path ""."""
    found = {PREFIX + path.relative_to(root).as_posix(): _read(path) for path in sorted(root.rglob("*")) if path.suffix in TYPES}
    found[""] = found.pop(PREFIX + INDEX)
    return found


def _read(path: Path) -> File:
    import gzip  # a start has no use for it

    body = path.read_bytes()
    return File(body, gzip.compress(body, mtime=0), TYPES[path.suffix], sha256(body).hexdigest()[:16])
