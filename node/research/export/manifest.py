"""`manifest.json` of an export: of which chain it is, made with which options, and its chunks with their rows and SHA-256.

It is the last thing that is written of a range of blocks: what it doesn't name isn't there.
"""

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from node.runtime.errors import DiskError, NodeError
from node.storage.disk import Disk, read_whole, written_whole
from state.protocol.values.integers import WORD32

NAME = "manifest.json"
FORMAT = 1

# A manifest may come from anywhere: what it names must be names of an export, and no other place of the disk.
NAMED = "[a-z0-9_]+"
DATASET = f"(?:blocks|operations/kind={NAMED}|tables/table={NAMED})"
CHUNK = f"^{DATASET}/(?:blocks|at)=[0-9]{{10}}/{NAMED}\\.(?:parquet|csv|jsonl)\\Z"
TYPE_LETTERS_MAX = 1000

Number = Annotated[int, Meta(ge=0, lt=WORD32)]
Name = Annotated[str, Meta(pattern=f"^{NAMED}\\Z")]
Folder = Annotated[str, Meta(pattern=f"^{DATASET}\\Z")]
Place = Annotated[str, Meta(pattern=CHUNK)]
Symbol = Annotated[str, Meta(pattern="^(?:COIN|SBD|VESTS)\\Z")]
Type = Annotated[str, Meta(max_length=TYPE_LETTERS_MAX)]


class Program(Struct):
    """The versions of what made an export."""

    coind: str
    pyarrow: str


class ChainOf(Struct):
    """The chain of an export; `symbols` are the letters of its COIN, SBD and VESTS."""

    name: str
    chain_id: str
    symbols: dict[Symbol, str]


class Options(Struct):
    """The options that the bytes of the chunks depend on. `only` is None for everything; `tables` has blocks between, 0 at the end only."""

    format: str
    chunk_blocks: int
    first: int
    only: list[str] | None
    tables: dict[str, int]


class Chunk(Struct):
    """A file of an export, by its path in the folder."""

    path: Place
    rows: int
    bytes: int
    sha256: str

    @property
    def dataset(self) -> str:
        """The folder of the dataset that it belongs to."""
        return self.path.rsplit("/", 2)[0]


class Range(Struct):
    """The chunks of a range of blocks, named by the number that it begins with; `first` and `last` are the blocks that it holds.

    `is_end` is whether an export ended with it, so that it has the rows of all tables after its last block.
    """

    blocks: Number
    first: Number
    last: Number
    last_id: str
    is_end: bool
    chunks: list[Chunk]


class Manifest(Struct):
    """All that is known of an export. `schema` has the types of the columns of each dataset: `blocks`, `operations/kind=vote`, ..."""

    format: int
    program: Program
    chain: ChainOf
    options: Options
    schema: dict[Folder, dict[Name, Type]]
    ranges: list[Range]


def load(folder: Path, disk: Disk) -> Manifest | None:
    """Return the manifest of a folder, None where there is none. Raises NodeError for one that can't be read."""
    path = folder / NAME
    try:
        data = read_whole(disk, path)
        found = msgspec.json.decode(data, type=Manifest) if data else None
        if found is not None:
            require_declared(found)
        return found
    except OSError as error:
        raise NodeError(f"{path}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise NodeError(f"{path} is no manifest of an export: {error}; name another folder with --to") from None


def require_declared(manifest: Manifest) -> None:
    """Raise ValidationError for a chunk of a dataset that has no columns."""
    for each in manifest.ranges:
        for chunk in each.chunks:
            if chunk.dataset not in manifest.schema:
                raise msgspec.ValidationError(f"{chunk.path} belongs to no dataset of its schema")


def save(folder: Path, manifest: Manifest, disk: Disk) -> None:
    """Write the manifest in one step; it survives a loss of power then. Raises DiskError."""
    try:
        with written_whole(disk, folder / NAME) as file:
            file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n", 0)
    except OSError as error:
        raise disk_failed(folder, error) from None


def disk_failed(folder: Path, error: OSError) -> DiskError:
    """Return what an export ends with when the disk fails."""
    return DiskError(f"{folder}: {error.strerror or error}; make room or repair it, and export again: it goes on")


def require_same(folder: Path, found: Manifest, wanted: Manifest) -> None:
    """Refuse to go on with an export that was made of another chain, with other options, or by a program with other columns."""
    if found.format != FORMAT:
        raise NodeError(f"{folder} was exported in format {found.format}, and this program writes {FORMAT}; name another folder with --to")
    if found.chain != wanted.chain:
        raise NodeError(
            f"{folder} holds an export of the chain {found.chain.name} ({found.chain.chain_id}), not of {wanted.chain.name}"
            f" ({wanted.chain.chain_id}); name its chain with --chain, or another folder with --to"
        )
    for field in Options.__struct_fields__:
        before, now = getattr(found.options, field), getattr(wanted.options, field)
        if before != now:
            raise NodeError(
                f"{folder} was exported with {text_of(field, before)}, not with {text_of(field, now)};"
                " give the same options, or name another folder with --to"
            )
    if found.schema != wanted.schema:
        differing = sorted(name for name in {*found.schema, *wanted.schema} if found.schema.get(name) != wanted.schema.get(name))
        raise NodeError(
            f"{folder} was exported by coind {found.program.coind} with other columns of {', '.join(differing)};"
            " name another folder with --to"
        )


def text_of(field: str, value: Any) -> str:
    """Return an option as it is typed."""
    match field:
        case "format":
            return f"--format {value}"
        case "chunk_blocks":
            return f"--chunk {value}"
        case "first":
            return f"--blocks {value}:"
        case "only":
            return "everything" if value is None else f"--only {','.join(value)}"
    named = ",".join(name if not every else f"{name}@{every}" for name, every in value.items())
    return f"--tables {named}" if named else "no tables"
