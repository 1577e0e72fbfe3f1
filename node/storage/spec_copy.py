"""Copy of the chain spec in a data folder or snapshot. The copy is only used to list the differences when a start with another spec is
refused.

The chain's mark contains the digest of the copy's exact bytes, so that a copy of another spec is detected and ignored.
"""

import hashlib
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from node.storage.disk import Disk, read_whole, written_whole
from state.protocol.constants import COIN_MAX_WITNESSES
from state.protocol.keys.keys import ROLES, public_key_text
from state.protocol.spec import Base, ChainSpec

SPEC_NAME = "spec.json"
SIZE_MAX = 1 << 24
NAMED_MAX = 5
# Fields that older versions lacked, with their defaults.
LATER = {"is_partial": False, "treasury_name": "", "base": Base(), "round_size": COIN_MAX_WITNESSES}
SHOWN_MAX = 80
# The fields of a spec that can change between starts, because they don't affect the result of blocks.
FREE = ("name", "witness_keys", "required_participation", "plugins", "community_prefix", "account_password")
NONE = "none"
ACCOUNTS = "genesis.accounts"
# Fields that have other names in TOML files.
IN_FILES = {"coin_symbol": "symbols.coin", "debt_symbol": "symbols.debt", "vests_symbol": "symbols.vests"}
AMOUNTS = ("coin", "sbd", "vesting")
KEYS = (*ROLES, "witness_key")
# Exceptions that reading a malformed copy can raise.
PARSE_ERRORS = (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError, msgspec.MsgspecError)


class _BasedCopy(Struct):
    base: Base = Base()


def decisive(spec: ChainSpec) -> bytes:
    """Encode the fields of a spec that affect the result of blocks, as JSON with sorted keys."""
    fields = {key: value for key, value in asdict(spec).items() if key not in FREE}
    # Fields with their defaults are omitted, so that folders and snapshots of older versions still match.
    fields["genesis"] = {key: value for key, value in spec.genesis.decisive_fields().items() if value or key != "witnesses"}
    for name, default in LATER.items():
        if getattr(spec, name) == default:
            del fields[name]
    return msgspec.json.encode(fields, order="sorted")


def digest_of(content: bytes) -> str:
    """Return the digest of encoded fields (see `decisive`), as stored in `chain.json` and in snapshots."""
    return hashlib.sha256(content).hexdigest()


def write_copy(disk: Disk, folder: Path, spec: ChainSpec) -> None:
    """Write a copy of the spec into a folder if the folder's copy differs. Disk errors are ignored, because a start doesn't need the
    copy.
    """
    content = decisive(spec)
    with suppress(OSError):
        if read_copy(disk, folder) != content:
            with written_whole(disk, folder / SPEC_NAME) as file:
                file.write(content, 0)


def read_copy(disk: Disk, folder: Path) -> bytes:
    """Return a folder's copy of its spec, or b"" if it has none."""
    try:
        return read_whole(disk, folder / SPEC_NAME, SIZE_MAX)
    except OSError:
        return b""


def difference(copy: bytes, genesis: str, spec: ChainSpec) -> str:
    """Return the differences between a copy and the current spec. Return "" if the copy doesn't match `genesis`, the digest in the mark."""
    if digest_of(copy) != genesis:
        return ""
    try:
        return compared(copy, decisive(spec))
    except PARSE_ERRORS:
        # The digest doesn't prove that the copy is well-formed, because the author of a foreign folder created both.
        return ""


def base_text(copy: bytes, genesis: str) -> str:
    """Return the start of the chain of a copy as text. Return "" if the copy is malformed or doesn't match `genesis`, the digest in the
    mark.
    """
    if digest_of(copy) != genesis:
        return ""
    try:
        return describe_base(msgspec.json.decode(copy, type=_BasedCopy).base)
    except PARSE_ERRORS:
        return ""


def describe_base(base: Base) -> str:
    """Return the start of a chain as text."""
    return f"after block {base.number} with the fork file {shortened(base.digest)[:16]}" if base.number else "at genesis"


def compared(copy: bytes, ours: bytes) -> str:
    """Return the differences between two encoded specs. Raises one of the exceptions in STRANGE if the copy is malformed."""
    there, here = (dict(flat(msgspec.json.decode(content))) for content in (copy, ours))
    differing = {name for name in {*there, *here} if there.get(name, NONE) != here.get(name, NONE)}
    # For an account that only one of the specs has, its name is enough.
    whole = differing - {ACCOUNTS}
    names = sorted((name for name in differing if name.rpartition(".")[0] not in whole), key=order)
    texts = [
        f"{shortened(name)}: there {shown(name, there.get(name, NONE), there)}, here {shown(name, here.get(name, NONE), here)}"
        for name in names[:NAMED_MAX]
    ]
    more = len(names) - NAMED_MAX
    return "; ".join(texts) + (f"; and {more:,} more" if more > 0 else "")


def order(name: str) -> tuple[bool, str]:
    """Return the sort key of a differing field. Accounts come last, because only the first few differences are listed."""
    return name.startswith(f"{ACCOUNTS}."), name


def flat(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all values of a decoded spec, each with its dotted name in a TOML file. Accounts appear by name instead of index."""
    if prefix == ACCOUNTS:
        yield prefix, len(value)
        for account in value:
            name = account.get("name", "")
            yield f"{prefix}.{name}", "an account"
            for key in account:
                yield f"{prefix}.{name}.{key}", account[key]
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, ".".join(filter(None, ("" if prefix == "constants" else prefix, IN_FILES.get(key, key)))))
    else:
        yield prefix, value


def shown(name: str, value: Any, among: dict[str, Any]) -> str:
    """Format a value as in a TOML file, shortened."""
    last = name.rpartition(".")[2]
    if type(value) is int and last.endswith("_TIME"):
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if type(value) is int and last in AMOUNTS and name.startswith(f"{ACCOUNTS}."):
        return f"{value // 1000}.{value % 1000:03}"
    if last in KEYS and isinstance(value, str) and value != NONE:
        return public_key_text(b64decode(value), str(among.get("key_prefix", "")))
    return shortened(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def shortened(text: str) -> str:
    """Truncate a string to SHOWN_MAX characters."""
    return text if len(text) <= SHOWN_MAX else text[: SHOWN_MAX - 1] + "…"
