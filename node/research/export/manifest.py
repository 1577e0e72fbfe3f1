"""`manifest.json` of an export: the chain, the options, and the chunks with their numbers of rows and their SHA-256.

The manifest is the last file that is written for a range of blocks. A chunk that it doesn't list is not part of the export.
"""

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from node.research.columns.schedule import period_text
from node.runtime.errors import DiskError, NodeError
from node.storage.disk import Disk, read_whole, written_whole
from state.protocol.values.integers import WORD32
from state.protocol.values.symbols import SYMBOL_NAMES

NAME = "manifest.json"
FORMAT = 1

# A manifest is untrusted, so its paths must have the form of an export's and can't lead outside of it.
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
    """Versions of the programs that wrote an export."""

    coind: str
    pyarrow: str


class ChainOf(Struct):
    """The chain that was exported. `symbols` are the chain's names for COIN, SBD and VESTS."""

    name: str
    chain_id: str
    symbols: dict[Symbol, str]


class Options(Struct):
    """Options that determine the chunks. `only` contains the exported kinds, or is None for all of them. `tables` contains the interval in
    blocks at which each table is exported (0: only at the end), `seconds` the interval in seconds for some of them. `accounts` contains the
    accounts whose rows are exported, or is None for all of them.
    """

    format: str
    chunk_blocks: int
    first: int
    only: list[str] | None
    tables: dict[str, int]
    seconds: dict[str, int] = {}
    accounts: list[str] | None = None


class Chunk(Struct):
    """A file of an export. `path` is relative to the export's folder."""

    path: Place
    rows: int
    bytes: int
    sha256: str

    @property
    def dataset(self) -> str:
        """The folder of the dataset that the chunk belongs to."""
        return self.path.rsplit("/", 2)[0]


class Range(Struct):
    """The chunks of a range of blocks. `blocks` is the nominal start of the range. `first` and `last` are the blocks in it that were
    exported.

    `is_end` means that an export ended with this range. Such a range contains the rows of all tables after its last block. `is_open` means
    that the range of an export that follows a node isn't whole, or has blocks that can still be undone.
    """

    blocks: Number
    first: Number
    last: Number
    last_id: str
    is_end: bool
    chunks: list[Chunk]
    is_open: bool = False


class Manifest(Struct):
    """Description of an export. `schema` contains the column types of each dataset, keyed by its folder, for example `blocks` or
    `operations/kind=vote`.
    """

    format: int
    program: Program
    chain: ChainOf
    options: Options
    schema: dict[Folder, dict[Name, Type]]
    ranges: list[Range]


def load(folder: Path, disk: Disk) -> Manifest | None:
    """Return the manifest of a folder, or None if the folder has none. Raises NodeError if it is unreadable or invalid."""
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
        raise NodeError(f"{path} is not the manifest of an export: {error}. Give another folder by --to.") from None


def require_declared(manifest: Manifest) -> None:
    """Raise ValidationError for a missing symbol, and for a chunk whose dataset isn't in the schema."""
    if missing := SYMBOL_NAMES.values() - manifest.chain.symbols.keys():
        raise msgspec.ValidationError(f"its chain has no name for {min(missing)}")
    for each in manifest.ranges:
        for chunk in each.chunks:
            if chunk.dataset not in manifest.schema:
                raise msgspec.ValidationError(f"{chunk.path} belongs to no dataset of its schema")


def save(folder: Path, manifest: Manifest, disk: Disk) -> None:
    """Write the manifest atomically and sync it. Raises DiskError."""
    try:
        with written_whole(disk, folder / NAME) as file:
            file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n", 0)
    except OSError as error:
        raise disk_failed(folder, error) from None


def disk_failed(folder: Path, error: OSError) -> DiskError:
    """Return the DiskError for a failed disk operation in an export's folder."""
    return DiskError(f"{folder}: {error.strerror or error}. Free some space or repair the disk, and export again to resume.")


def require_same(folder: Path, found: Manifest, wanted: Manifest) -> None:
    """Raise NodeError if an existing export has another chain, other options or other columns than the wanted one."""
    if found.format != FORMAT:
        raise NodeError(f"{folder} was exported in format {found.format}, but this version writes {FORMAT}. Give another folder by --to.")
    if found.chain != wanted.chain:
        raise NodeError(
            f"{folder} has an export of the chain {found.chain.name} ({found.chain.chain_id}), not of {wanted.chain.name}"
            f" ({wanted.chain.chain_id}). Give its chain by --chain, or another folder by --to."
        )
    for field in Options.__struct_fields__:
        before, now = getattr(found.options, field), getattr(wanted.options, field)
        if before != now:
            raise NodeError(
                f"{folder} was exported with {text_of(field, before)}, not with {text_of(field, now)}."
                " Give the same options, or another folder by --to."
            )
    if found.schema != wanted.schema:
        differing = sorted(name for name in {*found.schema, *wanted.schema} if found.schema.get(name) != wanted.schema.get(name))
        raise NodeError(
            f"{folder} was exported by coind {found.program.coind} with other columns of {', '.join(differing)}."
            " Give another folder by --to."
        )


def text_of(field: str, value: Any) -> str:
    """Format an option as typed on the command line."""
    match field:
        case "format":
            return f"--format {value}"
        case "chunk_blocks":
            return f"--chunk {value}"
        case "first":
            return f"--blocks {value}:"
        case "only":
            return "everything" if value is None else f"--only {','.join(value)}"
        case "accounts":
            return "the rows of all accounts" if value is None else f"--accounts {','.join(value)}"
        case "seconds":
            named = ",".join(f"{name}@{period_text(every)}" for name, every in value.items())
            return f"--tables {named}" if named else "no table at intervals of time"
    named = ",".join(name if not every else f"{name}@{every}" for name, every in value.items())
    return f"--tables {named}" if named else "no tables"
