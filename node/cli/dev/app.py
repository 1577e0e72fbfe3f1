"""Commands of `coind dev`: `sample`, and one for each method of dev_api except the subscriptions, which need a WebSocket."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Group, Parameter

from node.cli.dev.results import explanation_pairs, head_pairs, info_pairs, key_rows, pairs_of, refusal_rows
from node.cli.parameters import Flag, Positive, Repeated
from node.cli.remote import Remote, RemoteOptions, call_node
from node.cli.times import duration, moment, seconds_of
from node.cli.tx.app import read_file
from node.cli.tx.field_texts import BadText, Context, parse, require_public_key
from node.cli.tx.transaction_file import from_json
from node.client.errors import RefusedCall
from node.runtime.errors import NodeError
from node.runtime.output import say, write_json, write_pairs, write_table
from state.protocol.codec.kinds import AssetKind
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import is_smt
from state.protocol.values.text import time_text

# Producing the blocks of a long time jump takes a while.
DEV_SECONDS_MAX = 600

dev = App(name="dev")
BLOCKS, MOMENTS = Group.create_ordered("Blocks and time"), Group.create_ordered("Snapshot and revert")
HOLDINGS, TRANSACTIONS = Group.create_ordered("Balances and keys"), Group.create_ordered("Transactions")

Account = Annotated[str, Parameter(help="The name of an account.")]
File = Annotated[str, Parameter(help="A JSON file, or - for stdin.", allow_leading_hyphen=True)]
Print = Callable[[Any], None]


def call_and_print(options: RemoteOptions, method: str, params: dict[str, Any], show: Print) -> int:
    """Call a method of dev_api and print its result."""

    def work(remote: Remote) -> None:
        result = remote.call(f"dev_api.{method}", params, seconds_max=DEV_SECONDS_MAX)
        write_json(result) if options.json else show(result)

    return call_node(options, work)


def call_with_amount(options: RemoteOptions, method: str, params: dict[str, Any], name: str, text: str, show: Print) -> int:
    """Call a method of dev_api with an amount, which is parsed as in `coind tx`. An empty amount is omitted, so that the node's default
    applies.
    """

    def work(remote: Remote) -> None:
        given = {name: amount_of(text, name, remote)} if text else {}
        result = remote.call(f"dev_api.{method}", params | given)
        write_json(result) if options.json else show(result)

    return call_node(options, work)


def amount_of(text: str, name: str, remote: Remote) -> Any:
    """Return an amount in the form that the node expects: a string, or the NAI form for a token. Raises NodeError."""
    codecs = remote.wire.codecs
    try:
        asset = parse(AssetKind(), text, Context(codecs, 0))
    except BadText as error:
        raise NodeError(f"{name.upper()} {text!r}: {error}") from None
    return codecs.dump(asset, not is_smt(asset.symbol))


def show_head(result: Any) -> None:
    """Print the new head and time."""
    write_pairs(head_pairs(result))


def show_pairs(result: Any) -> None:
    """Print the fields of a result."""
    write_pairs(pairs_of(result))


# ------------------------------------------------------------------ blocks and time


@dev.command(name="info", group=BLOCKS)
def info(*, options: RemoteOptions = RemoteOptions()) -> int:
    """Show head, time, block mode, snapshots and all other settings."""
    return call_and_print(options, "get_info", {}, lambda result: write_pairs(info_pairs(result)))


@dev.command(name="digest", group=BLOCKS)
def digest(
    *,
    shown: Annotated[bool, Parameter(help="Digest of what methods show, without ids. Complete copies have the same one.")] = False,
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """Show the digest of the state. It is equal on nodes with the same head and no pending transactions."""
    return call_and_print(options, "get_state_digest", {"shown": True} if shown else {}, show_pairs)


@dev.command(name="mine", group=BLOCKS)
def mine(count: Positive = 1, /, *, options: RemoteOptions = RemoteOptions()) -> int:
    """Make COUNT blocks immediately."""
    return call_and_print(options, "mine", {"count": count}, show_head)


@dev.command(name="blocks", group=BLOCKS)
def blocks(
    mode: Annotated[str, Parameter(help="interval, interval:SECONDS, instant, manual, or mixed:SECONDS.")],
    /,
    *,
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """Set the block mode: by the clock, after each transaction, or on request."""
    return call_and_print(options, "set_block_mode", {"mode": mode}, show_pairs)


@dev.command(name="advance", group=BLOCKS)
def advance(
    span: Annotated[str, Parameter(help="The duration, for example 90s, 2h30m or 7d.", allow_leading_hyphen=True)],
    /,
    *,
    leap: Annotated[
        Literal["missed", "produced", ""],
        Parameter(help="Skipped slots: missed (no blocks) or produced (one block each); by default as set at the node's start."),
    ] = "",
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """Advance the chain's time, and make a block at the new time."""
    if span.startswith("-"):
        raise NodeError("the chain's time doesn't go back. Use bin/coind dev revert to restore a snapshot, or dev reset for a new chain.")
    return call_and_print(options, "advance_time", {"seconds": duration(span), "leap": leap}, show_head)


@dev.command(name="next-time", group=BLOCKS)
def next_time(
    time: Annotated[str, Parameter(help="The time of the next block: 2026-01-31T12:00:00, or +1h from the head block.")],
    /,
    *,
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """Set the time of the next block, which takes the first slot at or after it."""

    def work(remote: Remote) -> None:
        now = seconds_of(remote.head()["time"]) if time.startswith("+") else 0
        result = remote.call("dev_api.set_next_block_time", {"time": time_text(moment(time, now))})
        write_json(result) if options.json else show_pairs(result)

    return call_node(options, work)


@dev.command(name="pop", group=BLOCKS)
def pop(count: Positive = 1, /, *, options: RemoteOptions = RemoteOptions()) -> int:
    """Undo the last COUNT blocks, which must be reversible."""
    return call_and_print(options, "pop_blocks", {"count": count}, show_head)


# ------------------------------------------------------------------ snapshot and revert


@dev.command(name="snapshot", group=MOMENTS)
def snapshot(*, options: RemoteOptions = RemoteOptions()) -> int:
    """Take a snapshot in memory, and print its id for bin/coind dev revert."""
    return call_and_print(options, "snapshot", {}, show_pairs)


@dev.command(name="revert", group=MOMENTS)
def revert(
    snapshot_id: Annotated[int, Parameter(name="ID", help="The id from `dev snapshot`.")], /, *, options: RemoteOptions = RemoteOptions()
) -> int:
    """Restore a snapshot, including its clock. The id stays valid; later snapshots are dropped."""
    return call_and_print(options, "revert", {"id": snapshot_id}, show_head)


@dev.command(name="reset", group=MOMENTS)
def reset(*, options: RemoteOptions = RemoteOptions()) -> int:
    """Replace the chain with a new one at the present time."""
    return call_and_print(options, "reset", {}, show_head)


@dev.command(name="dump", group=MOMENTS)
def dump(
    file: Annotated[Path, Parameter(help="The file to write, on the node's machine.")], /, *, options: RemoteOptions = RemoteOptions()
) -> int:
    """Write the whole chain to a file: blocks, state and clock."""
    return call_and_print(options, "dump", {"path": str(file.absolute())}, show_pairs)


@dev.command(name="load", group=MOMENTS)
def load(file: Annotated[Path, Parameter(help="A file from `dev dump`.")], /, *, options: RemoteOptions = RemoteOptions()) -> int:
    """Replace the chain with one from a file."""
    return call_and_print(options, "load", {"path": str(file.absolute())}, show_head)


# ------------------------------------------------------------------ balances and keys


@dev.command(name="faucet", group=HOLDINGS)
def faucet(
    account: Account,
    amount: Annotated[str, Parameter(help='An amount of any symbol, for example "5.000 COIN"; by default 1000.000 of the coin.')] = "",
    /,
    *,
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """Credit newly created tokens to an account."""
    return call_with_amount(options, "faucet", {"account": account}, "amount", amount, show_pairs)


@dev.command(name="set-balance", group=HOLDINGS)
def set_balance(
    account: Account,
    balance: Annotated[str, Parameter(help='The new balance, for example "5.000 COIN".')],
    /,
    *,
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """Set a liquid balance of an account."""
    return call_with_amount(options, "set_balance", {"account": account}, "balance", balance, show_done)


@dev.command(name="set-vests", group=HOLDINGS)
def set_vests(
    account: Account,
    vests: Annotated[str, Parameter(help='The new shares, for example "5.000000 VESTS".')],
    /,
    *,
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """Set the vesting shares of an account."""
    return call_with_amount(options, "set_vests", {"account": account}, "vests", vests, show_done)


@dev.command(name="set-authority", group=HOLDINGS)
def set_authority(
    account: Account,
    role: Literal["owner", "active", "posting", "memo"],
    authority: Annotated[str, Parameter(help="A public key, or the JSON of an authority.")],
    /,
    *,
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """Set an authority of an account."""

    def work(remote: Remote) -> None:
        is_json = authority.lstrip().startswith("{")
        given: Any = json_of(authority) if is_json else authority.strip()
        try:
            result = remote.call("dev_api.set_authority", {"account": account, "role": role, "authority": given})
        except RefusedCall:
            if not is_json:
                require_public_key("AUTHORITY", authority, remote.wire.codecs)  # its error has more details than the node's
            raise
        write_json(result) if options.json else show_done(result)

    return call_node(options, work)


@dev.command(name="keys", group=HOLDINGS)
def keys(*, options: RemoteOptions = RemoteOptions()) -> int:
    """List the accounts with known keys, and the keys."""
    columns = ["account", "role", "private key", "public key"]
    return call_and_print(options, "list_keys", {}, lambda result: write_table(columns, key_rows(result)))


@dev.command(name="sample", group=HOLDINGS)
def sample(*, options: RemoteOptions = RemoteOptions()) -> int:
    """Write a small town to the chain: accounts, posts, communities, orders and more."""
    from node.cli.dev.sample import write_sample  # the other commands don't need its imports

    def work(remote: Remote) -> None:
        result = write_sample(remote)
        write_json(result) if options.json else show_pairs(result)

    return call_node(options, work)


# ------------------------------------------------------------------ transactions


@dev.command(name="impersonate", group=TRANSACTIONS)
def impersonate(
    *accounts: Annotated[str, Parameter(name="ACCOUNTS", help="Accounts to impersonate (none: stop).")],
    everyone: Annotated[Flag, Parameter(help="Impersonate all accounts.")] = False,
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """Accept unsigned transactions of accounts (bin/coind tx ... --unsigned), or stop doing so."""
    return call_and_print(options, "impersonate", {"accounts": list(accounts), "everyone": everyone}, show_pairs)


@dev.command(name="drop-pending", group=TRANSACTIONS)
def drop_pending(*, options: RemoteOptions = RemoteOptions()) -> int:
    """Drop all pending transactions."""
    return call_and_print(options, "drop_pending", {}, show_pairs)


@dev.command(name="broadcast", group=TRANSACTIONS)
def broadcast(
    file: File,
    /,
    *,
    key: Annotated[Repeated, Parameter(help="A private key for accounts without known keys; can be repeated.")] = (),
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """Build, sign and broadcast a transaction on the node, with the operations of a file."""
    given = read_file(file)

    def work(remote: Remote) -> None:
        found = from_json(given, remote.wire)
        operations = found.operations if isinstance(found, SignedTransaction) else found
        shown = remote.wire.transaction_to_json(SignedTransaction(operations=operations))["operations"]
        result = remote.call("dev_api.broadcast_operations", {"operations": shown, "keys": list(key)})
        write_json(result) if options.json else show_pairs(result)

    return call_node(options, work)


@dev.command(name="explain", group=TRANSACTIONS)
def explain(file: File, /, *, options: RemoteOptions = RemoteOptions()) -> int:
    """Check a signed transaction without sending it, and show the bytes of each field."""
    given = read_file(file)

    def work(remote: Remote) -> None:
        found = from_json(given, remote.wire)
        trx = found if isinstance(found, SignedTransaction) else remote.wire.seal(SignedTransaction(operations=found))
        result = remote.call("dev_api.explain_transaction", {"trx": remote.wire.transaction_to_json(trx)})
        if options.json:
            write_json(result)
            return
        write_pairs(explanation_pairs(result))
        say("")
        rows = [(field["offset"], field["size"], field["path"], field["hex"], text_of(field["value"])) for field in result["fields"]]
        write_table([">offset", ">size", "field", "bytes", "value"], rows)

    return call_node(options, work)


@dev.command(name="refused", group=TRANSACTIONS)
def refused(*, limit: Positive = 20, options: RemoteOptions = RemoteOptions()) -> int:
    """List the most recent refused transactions, newest first."""
    columns = ["=time", ">block", "operations", "why"]
    return call_and_print(options, "list_refused", {"limit": limit}, lambda result: write_table(columns, refusal_rows(result)))


@dev.command(name="call", group=TRANSACTIONS)
def call(
    method: Annotated[str, Parameter(help="A method of any group, for example database_api.get_config.")],
    params: Annotated[str, Parameter(help="The parameters, a JSON object or list.")] = "{}",
    /,
    *,
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """Call any method of the node and print its result as JSON."""
    given = json_of(params)
    return call_node(options, lambda remote: write_json(remote.call(method, given, seconds_max=DEV_SECONDS_MAX)))


def show_done(result: Any) -> None:
    """Print `done` after a command that has no result."""
    say("done")


def text_of(value: Any) -> str:
    """Format a field's value as a string."""
    return value if isinstance(value, str) else json.dumps(value)


def json_of(text: str) -> Any:
    """Parse a string as JSON. Raises NodeError."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NodeError(f"{text[:80]!r}: expected JSON: {error}") from None
