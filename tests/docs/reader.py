"""Parses a page of docs/ as a reader follows it: fenced blocks are commands, files or expected output.

| fence | means |
|---|---|
| `sh` | commands, run in order in one shell for the whole page |
| `sh` that ends with `coind run ...` (or `replay ... --serve ...`) | a separate terminal, where the node runs until it is ended |
| `py`, `js` | a program, which is run |
| `py NAME`, also js, ts, toml, json, yaml | a file, which is written; browsers don't display the text after the language |
| `text` | the output of the previous block |

In expected output, `...` matches any text within a line, and a line `...` any number of lines. In `sh`, `command   # -> text` gives the
expected output of one command. `<!-- Ctrl-C -->` ends the node that was started last. Other languages are errors.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

RUN = frozenset({"sh", "py", "js"})
FILES = frozenset({"py", "js", "ts", "toml", "json", "yaml"})
SEEN = "text"
STOP = "<!-- Ctrl-C -->"
SHOWN = re.compile(r"\s+# -> ?(.*)$")
SERVES = re.compile(r"(?:[A-Z_]+=\S+ )*coind (run|replay .*--serve)\b[^&|>]*$")


@dataclass
class Block:
    """A fenced block of a page. `seen` is the output that the page shows for it, or None."""

    page: str
    line: int
    language: str
    name: str
    text: str
    seen: str | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether the block's last command starts a node."""
        last = logical_lines(self.text)[-1:] if self.language == "sh" else []
        return bool(last and SERVES.match(last[0].text))

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass
class Stop:
    """A marker at which the reader ends the node that was started last."""

    page: str
    line: int

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass
class Line:
    """A command, including its continuation lines. `seen` is the output that the page shows for it, or None."""

    text: str
    seen: str | None = None


@dataclass
class _Open:
    """A block that is being parsed."""

    language: str
    name: str
    line: int
    lines: list[str] = field(default_factory=list)


def read_page(path: Path) -> list[Block | Stop]:
    """Return the blocks and stops of a page in order. Raises ValueError with the line number for blocks that can't be run."""
    steps: list[Block | Stop] = []
    opened: _Open | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if opened is not None:
            if line == "```":
                _close(steps, opened, path.name)
                opened = None
            else:
                opened.lines.append(line)
        elif line.startswith("```"):
            language, _, name = line[3:].partition(" ")
            opened = _Open(language, name, number)
        elif line == STOP:
            steps.append(Stop(path.name, number))
    if opened is not None:
        raise ValueError(f"{path.name}:{opened.line}: the block has no end")
    return steps


def _close(steps: list[Block | Stop], opened: _Open, page: str) -> None:
    """Append a block, or attach a `text` block to the block before it as its expected output."""
    place = f"{page}:{opened.line}"
    text = "\n".join(opened.lines)
    if opened.language == SEEN:
        before = steps[-1] if steps else None
        if not isinstance(before, Block) or before.language not in RUN or before.name or before.seen is not None:
            raise ValueError(f"{place}: a text that no command before it prints")
        if any(line.seen is not None for line in logical_lines(before.text)):
            raise ValueError(f"{place}: {before} says already what its lines print")
        before.seen = text
    elif (opened.name and opened.language in FILES) or (not opened.name and opened.language in RUN):
        steps.append(Block(page, opened.line, opened.language, opened.name, text))
    else:
        raise ValueError(f"{place}: ```{opened.language} {opened.name} is neither run nor written nor seen")


def logical_lines(text: str) -> list[Line]:
    """Return the commands of a sh block, without empty lines; a backslash continues a line."""
    found: list[Line] = []
    parts: list[str] = []
    for line in text.splitlines():
        parts.append(line)
        if line.endswith("\\"):
            continue
        whole = "\n".join(parts)
        parts = []
        shown = SHOWN.search(whole)
        if whole.strip():
            found.append(Line(whole[: shown.start()] if shown else whole, shown[1] if shown else None))
    return found


def agrees(seen: str, printed: str) -> bool:
    """Whether the output matches the page, ignoring trailing spaces and surrounding empty lines."""
    pattern = ""
    for line in seen.strip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += "[^\n]*".join(re.escape(part) for part in line.rstrip().split("...")) + "\n"
    lines = "".join(line.rstrip() + "\n" for line in printed.strip().splitlines())
    return re.fullmatch(pattern, lines) is not None
