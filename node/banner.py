"""The text that a started node prints: where it answers, and on chains for development the accounts with their keys."""

import os
import sys
from collections.abc import Iterator
from typing import TextIO

from state.protocol.keys.keys import derive_secret, wif_from_secret
from state.protocol.spec import ChainSpec, GenesisAccount

KEY_LENGTH = 51


def show_banner(spec: ChainSpec, addresses: list[str], *, is_producing: bool, out: TextIO | None = None) -> None:
    """Print the banner: a table on a terminal, plain lines elsewhere. A node runs on when nobody can read it."""
    out = out or sys.stdout
    try:
        write_banner(spec, addresses, is_producing, out)
    except OSError:
        # What is left in the buffer would fail once more at the end of the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), out.fileno())


def write_banner(spec: ChainSpec, addresses: list[str], is_producing: bool, out: TextIO) -> None:
    """Write the banner to a file."""
    pairs = list(facts(spec, addresses, is_producing))
    accounts = [(account.name, holdings(spec, account), active_key(account)) for account in spec.genesis.accounts if account.password]
    if out.isatty():
        show_tables(out, pairs, accounts)
    else:
        for name, text in pairs:
            out.write(f"{name}: {text}\n")
        for row in accounts:
            out.write("account {}: {}, active key {}\n".format(*row))
    out.write("Ctrl-C stops it.\n")
    out.flush()


def facts(spec: ChainSpec, addresses: list[str], is_producing: bool) -> Iterator[tuple[str, str]]:
    """Yield the names and values of the banner's first part."""
    yield "chain", spec.name
    yield "chain id", spec.chain_id.hex()
    yield "key prefix", spec.key_prefix
    yield "address", ", ".join(addresses)
    yield "blocks", "produced every 3 s" if is_producing else "none produced"
    yield "pages", "/health, /metrics"


def holdings(spec: ChainSpec, account: GenesisAccount) -> str:
    """Return an account's balances at genesis as text, its VESTS as the COIN that was powered up."""
    texts = [f"{amount(account.coin)} {spec.coin_symbol}", f"{amount(account.sbd)} {spec.debt_symbol}"]
    return ", ".join([*texts, f"{amount(account.vesting)} {spec.coin_symbol} in {spec.vests_symbol}"])


def amount(satoshis: int) -> str:
    """Return an amount with its three decimals."""
    return f"{satoshis // 1000}.{satoshis % 1000:03}"


def active_key(account: GenesisAccount) -> str:
    """Return an account's private active key in wallet import format."""
    return wif_from_secret(derive_secret(account.name, "active", account.password))


def show_tables(out: TextIO, pairs: list[tuple[str, str]], accounts: list[tuple[str, str, str]]) -> None:
    """Print the banner for a terminal; rich is loaded only then."""
    from rich.console import Console
    from rich.table import Table

    console = Console(file=out, highlight=False)
    grid = Table.grid(padding=(0, 2))
    for name, text in pairs:
        grid.add_row(f"[bold]{name}", text)
    console.print(grid)
    # A key must stay on one line to be copied. The holdings get the width that is left, or a line of their own when all accounts
    # have the same.
    held = {account[1] for account in accounts}
    table = Table("account", box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("private active key", no_wrap=True, min_width=KEY_LENGTH)
    if len(held) > 1:
        table.add_column("holds")
    for name, holds, key in accounts:
        table.add_row(name, key, *([holds] if len(held) > 1 else []))
    if accounts:
        texts = [f"Each of them holds {holds}." for holds in held] if len(held) == 1 else []
        console.print("", table, *texts, "", sep="\n")
