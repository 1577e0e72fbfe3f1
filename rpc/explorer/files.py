"""The files of the explorer, compressed and with tags of their content, and the headers that keep users' texts from running scripts."""

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


class WebFile(Struct, frozen=True):
    """A file of the explorer: its bytes, the bytes compressed by gzip, its content type, and a tag of its content."""

    body: bytes
    packed: bytes
    content_type: str
    tag: str


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


def _file(body: bytes, content_type: str) -> WebFile:
    import gzip  # not needed at start

    return WebFile(body, gzip.compress(body, mtime=0), content_type, sha256(body).hexdigest()[:16])
