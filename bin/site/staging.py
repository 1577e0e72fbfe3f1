"""Prepares the site's pages for Zensical: copies docs/ and all files to which it links, and changes links so that they work on the site."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

# Pages outside of docs/, with their names on the site.
AROUND = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "README.md": "index.md"}
LANGUAGES = {".toml": "toml", ".py": "python", ".js": "javascript", ".sql": "sql", ".yaml": "yaml", ".yml": "yaml"}
PICTURES = frozenset({".png", ".svg"})
SHOWN_SIZE_MAX = 200_000

LINK = re.compile(r"(?<!\\)(\]\()([^)\s]+)(\))")
FENCE = re.compile(r" *(`{3,}|~{3,})")
# The first line of a code block that has a file name. It contains the language and the name.
FILE = re.compile(r"^( *`{3,})(\w+) (\S+)$")
ITEM = re.compile(r" *([-*+]|\d+\.) ")
MADE = re.compile(r"<!--.*?-->", re.DOTALL)


class SiteError(Exception):
    """Raised if the site can't be built. The message names the page with the error."""


def stage(root: Path, target: Path) -> None:
    """Write the sources of the site to a folder: pages, pictures, and a page for each other file that a page links to. Raises SiteError."""
    pages = dict(page_names(root))
    wanted: dict[str, str] = {}
    for source, name in pages.items():
        text = (root / source).read_text("utf-8")
        if source.endswith(".ipynb"):
            text = notebook_page(json.loads(text))
        text = with_links(spaced(MADE.sub("", text)), PurePosixPath(source), name, pages, wanted, root)
        write(target / name, text)
    for source, name in wanted.items():
        write(target / name, code_page(root / source, source))
    for picture in sorted((root / "docs").rglob("*")):
        if picture.suffix in PICTURES:
            place = target / picture.relative_to(root / "docs")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(picture, place)


def page_names(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the path in the repository and the name on the site, for each page."""
    for path in sorted((root / "docs").rglob("*.md")):
        yield path.relative_to(root).as_posix(), path.relative_to(root / "docs").as_posix()
    for path in sorted((root / "docs").rglob("*.ipynb")):
        yield path.relative_to(root).as_posix(), path.relative_to(root / "docs").with_suffix(".md").as_posix()
    for source, name in AROUND.items():
        if name != "index.md":
            yield source, name


def write(path: Path, text: str) -> None:
    """Write a page, and create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def with_links(text: str, source: PurePosixPath, name: str, pages: dict[str, str], wanted: dict[str, str], root: Path) -> str:
    """Return a page with links that work on the site. Add the other files to which it links to `wanted`. Raises SiteError."""
    here = PurePosixPath(name).parent

    def moved(found: re.Match[str]) -> str:
        link, hash_, anchor = found[2].partition("#")
        if not link or ":" in link:
            return found[0]
        there = os.path.normpath(source.parent / link)
        if there.startswith(("..", "/")) or not (root / there).exists():
            raise SiteError(f"{source}: broken link {found[2]}")
        place = pages.get(there) or AROUND.get(there)
        if place is None and PurePosixPath(there).suffix in PICTURES:
            place = PurePosixPath(there).relative_to("docs").as_posix()
        if place is None:
            if (root / there).is_dir():
                raise SiteError(f"{source}: {found[2]} is a folder, which the site can't show. Link to a file.")
            place = wanted.setdefault(there, f"files/{there.replace('/', '-')}.md")
        return f"{found[1]}{os.path.relpath(place, here)}{hash_}{anchor}{found[3]}"

    return "".join(FILE.sub(r'\1\2 title="\3"', line) if is_code else LINK.sub(moved, line) for line, is_code in lines_of(text))


def lines_of(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a page, including their line ends, and whether each line belongs to a code block."""
    fence = ""
    for line in text.splitlines(keepends=True):
        found = FENCE.match(line)
        if not fence and found:
            fence = found[1]
            yield line, True
        elif fence:
            yield line, True
            if line.strip() == fence:
                fence = ""
        else:
            yield line, False


def spaced(text: str) -> str:
    """Insert an empty line between a paragraph and a list, table or code block that follows it, if there is none.

    Repository hosts don't need this line, but Python's Markdown would treat such a list as a part of the paragraph.
    """
    made: list[str] = []
    before, was_code = "", False
    for line, is_code in lines_of(text):
        is_start = is_block(line) and not is_block(before) and not before.startswith("  ")
        if before.strip() and (
            (is_start and not is_code and not was_code) or (is_code and not was_code) or (was_code and not is_code and line.strip())
        ):
            made.append("\n")
        made.append(line)
        before, was_code = line, is_code
    return "".join(made)


def is_block(line: str) -> bool:
    """Whether a line belongs to a list or to a table."""
    return ITEM.match(line) is not None or line.startswith("|")


def code_page(path: Path, source: str) -> str:
    """Return a page that shows the content of a file. Raises SiteError for a file above SHOWN_SIZE_MAX."""
    if path.stat().st_size > SHOWN_SIZE_MAX:
        raise SiteError(f"{source} is too large to show: more than {SHOWN_SIZE_MAX:,} bytes")
    text = path.read_text("utf-8")
    return f"# {source}\n\n`````{LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n`````\n"


def notebook_page(notebook: dict[str, Any]) -> str:
    """Return a notebook as a page, with its Markdown, code and outputs."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        parts += [shown for output in cell.get("outputs", ()) if (shown := output_text(output))]
    return "\n\n".join(parts) + "\n"


def output_text(output: dict[str, Any]) -> str:
    """Return the output of a notebook's cell as Markdown. The output is a picture or text."""
    data = output.get("data", {})
    if "image/png" in data:
        return f"![Output of the cell](data:image/png;base64,{''.join(data['image/png']).strip()})"
    text = "".join(output.get("text") or data.get("text/plain") or "")
    return f"```text\n{text.rstrip()}\n```" if text else ""
