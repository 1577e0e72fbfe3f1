"""The explorer's files, compressed and with ETags, and the response headers that prevent user content from running scripts."""

from hashlib import sha256
from pathlib import Path, PurePosixPath

from msgspec import Struct

from rpc.explorer.bundle import joined

ROOT = Path(__file__).parent / "web"
PREFIX = "/explorer/"  # path prefix of all files except the HTML page
INDEX = "index.html"
MODULES = PREFIX + "app/"
PICTURES = PREFIX + "pictures/"  # of the sample content, which front ends on other origins show
FIRST, MAIN = MODULES + "calls.js", MODULES + "main.js"
JOINED = PREFIX + "app.js"
SHEETS = (PREFIX + "style/base.css", PREFIX + "style/parts.css")  # used by every page
STYLE = PREFIX + "style.css"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
# Only the explorer's own scripts run, nothing is loaded from other origins, no text becomes markup, and no page can frame the explorer.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
# With this query, a page can also load pictures from other sites. A button of the page adds it to the address.
PICTURES_QUERY = "pictures"
POLICY_WITH_PICTURES = POLICY.replace("img-src 'self' data:", "img-src 'self' data: https:")
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    # Browsers cache the files and revalidate them on each use.
    "cache-control": "no-cache",
    "vary": "Accept, Accept-Encoding",
}


class WebFile(Struct, frozen=True):
    """A file of the explorer: its bytes, its gzipped bytes, its content type, and its ETag."""

    body: bytes
    packed: bytes
    content_type: str
    tag: str


def read_files(root: Path = ROOT) -> dict[str, WebFile]:
    """Return the files by path. The HTML page has the path "", and is served at every path that has no file.

    JOINED contains the modules of the pages, and STYLE their style sheets. FIRST is a separate file, since it runs before JOINED has
    loaded.
    """
    bodies = {PREFIX + path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.suffix in TYPES}
    modules = {
        path: bodies.pop(path).decode() for path in sorted(bodies) if path.startswith(MODULES) and path.endswith(".js") and path != FIRST
    }
    bodies[JOINED] = joined(modules, MAIN).encode()
    bodies[STYLE] = b"".join(bodies.pop(sheet) for sheet in SHEETS)
    bodies[""] = bodies.pop(PREFIX + INDEX)
    return {path: _file(body, TYPES[PurePosixPath(path or INDEX).suffix]) for path, body in bodies.items()}


def _file(body: bytes, content_type: str) -> WebFile:
    import gzip  # slows down the start

    return WebFile(body, gzip.compress(body, mtime=0), content_type, sha256(body).hexdigest()[:16])
