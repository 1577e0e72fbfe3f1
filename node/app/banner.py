"""Banner of a started node: its addresses, settings for clients, and the accounts of a development chain.

Programs read the address from the file of `--ready-file` instead.
"""

import errno
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from msgspec import Struct

from node.runtime.errors import NodeError, last_line
from node.runtime.logs import end_of_lines, is_json_lines
from state.chain.known_keys import known_accounts
from state.protocol.constants import MAIN_CHAIN_ID
from state.protocol.keys.keys import ROLES, derive_secret, wif_from_secret
from state.protocol.spec import ChainSpec

WIDTH_MAX = 80
READY_SIZE_MAX = 10_000  # bytes of an existing file that are read
SHOWN_MAX = 10  # accounts; `--show-keys` shows all
KNOWN_SYMBOLS = frozenset({"STEEM", "SBD", "VESTS", "TESTS", "TBD"})  # the symbols that dsteem supports

Pairs = Iterator[tuple[str, str]]


class Funded(Struct, frozen=True, kw_only=True):
    """An account that has a balance at the start. Amounts are in satoshis. `secrets` contains its private keys, keyed by role."""

    name: str
    coin: int
    sbd: int
    vesting: int
    secrets: dict[str, bytes]


class ForkSummary(Struct, frozen=True):
    """The banner's part about a fork: pairs of a name and a text, and the fetched accounts that have derived keys."""

    pairs: tuple[tuple[str, str], ...]
    accounts: list[Funded]


class Announcer(Struct, frozen=True):
    """Announces a started node on stdout and in the ready file. It is a context manager that removes the file before the start and at
    exit.
    """

    ready_file: Path | None = None
    shows_keys: bool = False
    is_quiet: bool = False
    command: str = ""  # the command line that started the node

    def __enter__(self) -> None:
        """Remove the ready file that a killed node has left, so that waiting programs don't read it. Raises NodeError if a file with that
        name was not written by a node.
        """
        if self.ready_file is not None:
            try:
                if not is_ready_file(self.ready_file):
                    raise NodeError(f"--ready-file {self.ready_file}: this file exists and is not a node's. Use another name.")
                self.ready_file.unlink(missing_ok=True)
            except OSError as error:
                raise self._error(error) from None
            except ValueError as error:
                raise NodeError(f"--ready-file {str(self.ready_file)!r} is not a file name: {error}") from None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Remove the ready file, unless another node has replaced it."""
        if self.ready_file is not None:
            try:
                if json.loads(self.ready_file.read_bytes())["pid"] == os.getpid():
                    self.ready_file.unlink()
            except (OSError, ValueError, LookupError, TypeError):
                pass  # The file was removed, or is another node's.

    def announce(
        self, spec: ChainSpec, addresses: list[str], blocks: str, out: TextIO | None = None, *, fork: ForkSummary | None = None
    ) -> None:
        """Announce the addresses of the service. `blocks` is the block mode, or "" for a node that doesn't produce.

        A closed stdout doesn't stop the node.
        """
        out = out or sys.stdout
        if not self.is_quiet:
            try:
                write_banner(spec, addresses, blocks, out, shows_keys=self.shows_keys, fork=fork)
            except OSError:
                # Flushing the rest of the buffer would fail again when the process exits.
                os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), out.fileno())
        if self.ready_file is not None:
            ready = {"address": addresses[0], "chain": spec.name, "chain_id": spec.chain_id.hex(), "pid": os.getpid()}
            self._write(self.ready_file, ready)

    def goodbye(self, head: int, new: int, seconds: float, data: Path | None, out: TextIO | None = None) -> None:
        """Print a summary at exit, on a terminal only: the head block, the number of new blocks, and how to restart from the data
        folder.
        """
        out = out or sys.stderr
        if self.is_quiet or is_json_lines() or not out.isatty():
            return
        added = f" ({new:,} new)" if new > 0 else ""
        hint = f"The blocks are in {data}. Restart with: {self.command}" if data else "The chain was only in memory. --data DIR stores it."
        end_of_lines()
        last_line(f"Stopped after {duration(seconds)} at block {head:,}{added}. {hint}", out)

    def _write(self, path: Path, ready: dict[str, Any]) -> None:
        """Write the ready file atomically, so that a reader never sees a part of it."""
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            temporary.write_text(json.dumps(ready) + "\n", "utf-8")
            temporary.replace(path)
        except OSError as error:
            raise self._error(error) from None

    def _error(self, error: OSError) -> NodeError:
        return NodeError(f"--ready-file {self.ready_file}: {error.strerror}. Use a file in a writable folder.")


def is_ready_file(path: Path) -> bool:
    """Whether a path is unused or leads to the ready file of a node. Opens only regular files. Raises OSError."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return True
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        return False
    with path.open("rb") as opened:
        data = opened.read(READY_SIZE_MAX + 1)
    try:
        return not data or "pid" in json.loads(data)
    except (ValueError, TypeError, RecursionError):
        return False


def write_banner(
    spec: ChainSpec, addresses: list[str], blocks: str, out: TextIO, *, shows_keys: bool, fork: ForkSummary | None = None
) -> None:
    """Write the banner, with bold titles on a terminal and as plain lines elsewhere. Only lines with commands can be wider than
    WIDTH_MAX.
    """
    bold, plain = ("\x1b[1m", "\x1b[0m") if is_coloured(out) else ("", "")
    pairs = [*summary(spec, addresses, blocks), *(fork.pairs if fork is not None else ())]
    accounts = funded_accounts(spec) if fork is None else fork.accounts
    if not out.isatty():
        for line in plain_lines(spec, pairs, accounts, shows_keys):
            out.write(line + "\n")
    else:
        for title, lines in sections(spec, addresses, pairs, accounts, shows_keys):
            out.write(f"{bold}{title}{plain}\n" if title else "")
            for line in lines:
                out.write(line + "\n")
            out.write("\n")
    out.write("Ctrl-C stops it.\n" + ("\n" if out.isatty() else ""))
    out.flush()


def is_coloured(out: TextIO) -> bool:
    """Whether the output supports bold text."""
    return out.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not os.environ.get("NO_COLOR")


def plain_lines(spec: ChainSpec, pairs: Iterable[tuple[str, str]], accounts: list[Funded], shows_keys: bool) -> Iterator[str]:
    """Yield the banner in the form that programs read: lines of `name: value`."""
    for name, text in pairs:
        yield f"{name}: {text}"
    for account in accounts if shows_keys else accounts[:SHOWN_MAX]:
        yield f"account {account.name}: {balances_text(spec, account)}, active key {private_key(account, 'active')}"
        if shows_keys:
            for role in ROLES:
                yield f"key {account.name} {role}: {private_key(account, role)}"
    if (left_out := len(accounts) - SHOWN_MAX) > 0 and not shows_keys:
        yield f"accounts: {left_out:,} more, up to {accounts[-1].name}; coind keys NAME prints the keys of one, --show-keys those of all"


def sections(
    spec: ChainSpec, addresses: list[str], pairs: Iterable[tuple[str, str]], accounts: list[Funded], shows_keys: bool
) -> Iterator[tuple[str, list[str]]]:
    """Yield the title and the lines of each section of the banner on a terminal."""
    yield "", [f"{name:<12}{text}" for name, text in pairs]
    for name, lines in client_settings(spec, addresses[0], accounts):
        yield name, lines
    if not accounts:
        return
    held = {balances_text(spec, account) for account in accounts}
    lines = [f"  Each of them holds {text}." for text in held] if len(held) == 1 < len(accounts) else []
    for account in accounts if shows_keys else accounts[:SHOWN_MAX]:
        if not len(held) == 1 < len(accounts):
            lines.append(f"  {account.name} holds {balances_text(spec, account)}.")
        for role in ROLES if shows_keys else ("active",):
            lines.append(f"  {account.name:<17}{role:<8} {private_key(account, role)}")
    left_out = len(accounts) - SHOWN_MAX
    if left_out > 0 and not shows_keys:
        lines.append(f"  and {left_out:,} more; --show-keys shows all of them, with the keys of all roles")
    yield "Accounts and their private keys", lines


def summary(spec: ChainSpec, addresses: list[str], blocks: str) -> Pairs:
    """Yield the names and values of the banner's first section."""
    yield "chain", spec.name
    yield "chain id", spec.chain_id.hex()
    if spec.is_test and spec.chain_id == MAIN_CHAIN_ID:
        yield "danger", "this is the chain id of the public network, so signatures for this chain are valid there too"
    yield "key prefix", spec.key_prefix
    yield "address", ", ".join(addresses)
    yield "blocks", how_produced(blocks) if blocks else "none produced"
    yield "pages", "/health, /metrics"


def how_produced(mode: str) -> str:
    """Describe in words when a node with this block mode makes blocks."""
    kind, _, seconds = mode.partition(":")
    return {
        "interval": f"produced every {seconds or 3} s",
        "instant": "produced immediately, one per transaction",
        "manual": "produced on request: coind dev mine",
        "mixed": f"produced immediately for each transaction, and every {seconds} s",
    }[kind]


def client_settings(spec: ChainSpec, address: str, accounts: list[Funded]) -> Iterator[tuple[str, list[str]]]:
    """Yield, for some client libraries, a name and lines of code that connect to the node. The lines are not indented, so that they can be
    copied (docs/clients.md).
    """
    where = address.removeprefix("http://")
    yield "curl", [f"curl {where} -d '" + '{"jsonrpc":"2.0","id":1,"method":"jsonrpc.get_methods"}' + "'"]
    keys = [private_key(account, "active") for account in accounts[:1]]
    chain_id = spec.chain_id.hex()
    symbols = [(13, spec.debt_symbol, 3), (21, spec.coin_symbol, 3), (37, spec.vests_symbol, 6)]
    yield (
        "beem",
        [
            "from beem import Steem",
            f'chain_id = "{chain_id}"',
            f'DEV = {{"chain_id": chain_id, "min_version": "0.0.0", "prefix": "{spec.key_prefix}"}}',
            'DEV["chain_assets"] = [',
            *[
                f'  {{"asset": "@@0000000{nai}", "symbol": "{name}", "precision": {places}, "id": {index}}},'
                for index, (nai, name, places) in enumerate(symbols)
            ],
            "]",
            f'steem = Steem(node="{address}", custom_chains={{"{spec.coin_symbol}": DEV}},',
            f"  keys={json.dumps(keys)})",
        ],
    )
    # dsteem refuses amounts in symbols that it doesn't support.
    unknown = [name for _, name, _ in symbols if name not in KNOWN_SYMBOLS]
    refused = [f"// dsteem refuses amounts in {' and '.join(unknown)}: a chain with TESTS is dev-tests"] if unknown else []
    yield (
        "dsteem",
        [
            *refused,
            'const dsteem = require("dsteem")',
            f'const client = new dsteem.Client("{address}", {{',
            f'  addressPrefix: "{spec.key_prefix}",',
            f'  chainId: "{chain_id}",',
            "})",
        ],
    )


def funded_accounts(spec: ChainSpec) -> list[Funded]:
    """Return the accounts that have known keys and a balance at genesis: those with a password, or else the first witness."""
    found = [
        Funded(
            name=account.name,
            coin=account.coin,
            sbd=account.sbd,
            vesting=account.vesting,
            secrets={role: derive_secret(account.name, role, account.password) for role in ROLES},
        )
        for account in spec.genesis.accounts
        if account.password
    ]
    if not found and spec.constants.COIN_INIT_SUPPLY:
        witness = next((account for account in known_accounts(spec) if account.name == spec.genesis.witness), None)
        if witness is not None:
            supply, sbd = spec.constants.COIN_INIT_SUPPLY, spec.constants.COIN_SBD_INIT_SUPPLY
            found.append(Funded(name=witness.name, coin=supply, sbd=sbd, vesting=0, secrets=witness.secrets))
    return found


def duration(seconds: float) -> str:
    """Format a duration in its two largest units, for example `1 h 2 min`."""
    whole = round(seconds)
    for size, name, small, part in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // small
            return f"{whole // size:,} {name}" + (f" {rest} {part}" if rest else "")
    return f"{whole} s"


def balances_text(spec: ChainSpec, account: Funded) -> str:
    """Return an account's balances at genesis as text. Its VESTS are given as the amount of COIN that was powered up."""
    texts = [f"{amount(account.coin)} {spec.coin_symbol}", f"{amount(account.sbd)} {spec.debt_symbol}"]
    return ", ".join([*texts, f"{amount(account.vesting)} {spec.coin_symbol} in {spec.vests_symbol}"])


def amount(satoshis: int) -> str:
    """Format an amount with three decimals."""
    return f"{satoshis // 1000}.{satoshis % 1000:03}"


def private_key(account: Funded, role: str) -> str:
    """Return an account's private key for a role, in wallet import format."""
    return wif_from_secret(account.secrets[role])
