"""What a chain's spec was when a folder or a snapshot was made, so that a refusal can name what differs now. Nothing else is built on it.

It is kept as the very bytes whose digest marks the chain: so what doesn't belong to the mark is known, and left out.
"""

import hashlib
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict

from node.storage.disk import Disk, written_whole
from state.protocol.keys.keys import ROLES, public_key_text
from state.protocol.spec import ChainSpec

SPEC_NAME = "spec.json"
SIZE_MAX = 1 << 24
NAMED_MAX = 5
SHOWN_MAX = 80
# The fields of a spec that may change from one start to the next: none of them decides what a block does to the state.
FREE = ("name", "witness_keys", "required_participation", "plugins", "community_prefix")
NONE = "none"
ACCOUNTS = "genesis.accounts"
# Fields that have another name in a TOML file.
IN_FILES = {"coin_symbol": "symbols.coin", "debt_symbol": "symbols.debt", "vests_symbol": "symbols.vests"}
AMOUNTS = ("coin", "sbd", "vesting")
KEYS = (*ROLES, "witness_key")
# What a kept spec of another form makes reading it raise.
STRANGE = (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError, msgspec.MsgspecError)


def decisive(spec: ChainSpec) -> bytes:
    """Return everything of a spec that decides what blocks do to the state, as JSON that is the same for equal specs."""
    kept = {key: value for key, value in asdict(spec).items() if key not in FREE}
    if not spec.genesis.witnesses:
        # As it was before specs had further witnesses: folders and snapshots of then are still of this chain.
        kept["genesis"] = {key: value for key, value in asdict(spec.genesis).items() if key != "witnesses"}
    return msgspec.json.encode(kept, order="sorted")


def digest_of(content: bytes) -> str:
    """Return the digest of what `decisive` returns, as marks have it."""
    return hashlib.sha256(content).hexdigest()


def keep_spec(disk: Disk, folder: Path, spec: ChainSpec) -> None:
    """Keep the spec of a folder's chain in it, unless it is there. A disk that doesn't take it is no reason not to start."""
    content = decisive(spec)
    with suppress(OSError):
        if read_kept(disk, folder) != content:
            with written_whole(disk, folder / SPEC_NAME) as file:
                file.write(content, 0)


def read_kept(disk: Disk, folder: Path) -> bytes:
    """Return what a folder keeps of its spec; empty where it keeps nothing."""
    try:
        file = disk.open_to_read(folder / SPEC_NAME)
    except OSError:
        return b""
    try:
        return file.read(SIZE_MAX, 0)
    except OSError:
        return b""
    finally:
        file.close()


def difference(kept: bytes, genesis: str, spec: ChainSpec) -> str:
    """Return what differs between a kept spec, if it is the one of a mark's digest, and the one of now; empty where that isn't known."""
    if digest_of(kept) != genesis:
        return ""
    try:
        return compared(kept, decisive(spec))
    except STRANGE:
        # The digest proves nothing: a stranger who has made the folder has made both.
        return ""


def compared(kept: bytes, ours: bytes) -> str:
    """Return what differs between two specs. Raises one of STRANGE where the kept one has another form."""
    there, here = (dict(flat(msgspec.json.decode(content))) for content in (kept, ours))
    differing = {name for name in {*there, *here} if there.get(name, NONE) != here.get(name, NONE)}
    # Of an account that is on one side only the name says enough.
    whole = differing - {ACCOUNTS}
    names = sorted((name for name in differing if name.rpartition(".")[0] not in whole), key=order)
    told = [
        f"{shortened(name)}: there {shown(name, there.get(name, NONE), there)}, here {shown(name, here.get(name, NONE), here)}"
        for name in names[:NAMED_MAX]
    ]
    more = len(names) - NAMED_MAX
    return "; ".join(told) + (f"; and {more:,} more" if more > 0 else "")


def order(name: str) -> tuple[bool, str]:
    """Return where a name comes among those that differ: of many accounts only some can be named, so everything else comes first."""
    return name.startswith(f"{ACCOUNTS}."), name


def flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all values of a kept spec by their names in a TOML file; accounts have theirs in place of a number."""
    if place == ACCOUNTS:
        yield place, len(value)
        for account in value:
            name = account.get("name", "")
            yield f"{place}.{name}", "an account"
            for key in account:
                yield f"{place}.{name}.{key}", account[key]
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, ".".join(filter(None, ("" if place == "constants" else place, IN_FILES.get(key, key)))))
    else:
        yield place, value


def shown(name: str, value: Any, among: dict[str, Any]) -> str:
    """Return a value as a TOML file has it, as far as that is short."""
    last = name.rpartition(".")[2]
    if type(value) is int and last.endswith("_TIME"):
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if type(value) is int and last in AMOUNTS and name.startswith(f"{ACCOUNTS}."):
        return f"{value // 1000}.{value % 1000:03}"
    if last in KEYS and isinstance(value, str) and value != NONE:
        return public_key_text(b64decode(value), str(among.get("key_prefix", "")))
    return shortened(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def shortened(text: str) -> str:
    """Return a text, or the beginning of a long one."""
    return text if len(text) <= SHOWN_MAX else text[: SHOWN_MAX - 1] + "…"
