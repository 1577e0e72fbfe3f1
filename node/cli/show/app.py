"""Commands of `coind show`. Each calls a node and prints a summary of the reply, or all of it as JSON."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from cyclopts import App, Group, Parameter

from node.cli.parameters import Bounds
from node.cli.remote import Remote, RemoteOptions, call_node
from node.cli.show import accounts as of_accounts
from node.cli.show import blocks as of_blocks
from node.cli.show import chain as of_chain
from node.cli.show import content as of_content
from node.cli.show import market as of_market
from node.cli.show.reply_fields import require_found
from node.runtime.errors import NodeError, last_line
from node.runtime.output import write_json

show = App(name="show")
WHOLE, BLOCKS = Group.create_ordered("Chain"), Group.create_ordered("Blocks and transactions")
ACCOUNTS, CONTENT, MARKET = Group.create_ordered("Accounts"), Group.create_ordered("Posts"), Group.create_ordered("Market")

LIST_MAX, HISTORY_MAX, POSTS_MAX = 1000, 1000, 100
POST_BY = Literal["created", "trending", "hot", "active", "children", "votes", "cashout", "blog"]
Count = Annotated[int, Parameter(help="The number of rows.", validator=Bounds(1, LIST_MAX))]
Name = Annotated[str, Parameter(help="The name of an account.")]
Ask = Callable[[Remote], Any]
Print = Callable[[Remote, Any], None]


def fetch_and_print(options: RemoteOptions, ask: Ask, write: Print, *, is_over_all: bool = False) -> int:
    """Call a node with `ask`, and print the result with `write` or as JSON.

    `is_over_all` is for lists of everybody's things. If the chain is a partial copy of another one, a line on stderr says so.
    """

    def work(remote: Remote) -> None:
        found = ask(remote)
        write_json(found) if options.json else write(remote, found)
        if is_over_all and (fork := of_chain.ask_fork(remote)) and not fork["is_complete"]:
            last_line(f"This chain is a partial copy of {fork['source']}: only what is here is listed.")

    return call_node(options, work)


# ------------------------------------------------------------------ chain


@show.command(name="chain", group=WHOLE)
def chain(*, options: RemoteOptions = RemoteOptions()) -> int:
    """Show the chain: its id and symbols, head, supplies, price, hardfork."""
    return fetch_and_print(options, of_chain.ask_chain, of_chain.write_chain)


@show.command(name="witnesses", group=WHOLE)
def witnesses(*, count: Count = 21, options: RemoteOptions = RemoteOptions()) -> int:
    """List the witnesses ordered by votes."""
    params = ["", count]
    return fetch_and_print(options, lambda remote: remote.call("condenser_api.get_witnesses_by_vote", params), of_chain.write_witnesses)


@show.command(name="witness", group=WHOLE)
def witness(name: Name, /, *, options: RemoteOptions = RemoteOptions()) -> int:
    """Show a witness."""

    def ask(remote: Remote) -> Any:
        return require_found(remote.call("condenser_api.get_witness_by_account", [name]), f"witness {name}")

    return fetch_and_print(options, ask, of_chain.write_witness)


@show.command(name="proposals", group=WHOLE)
def proposals(*, count: Count = 20, options: RemoteOptions = RemoteOptions()) -> int:
    """List active and future proposals ordered by votes."""
    params = [[], count, "by_total_votes", "descending", "all"]
    return fetch_and_print(
        options, lambda remote: remote.call("condenser_api.list_proposals", params), of_chain.write_proposals, is_over_all=True
    )


# ------------------------------------------------------------------ blocks and transactions


@show.command(name="block", group=BLOCKS)
def block(
    number: Annotated[str, Parameter(help="The number of a block, or head.")] = "head", /, *, options: RemoteOptions = RemoteOptions()
) -> int:
    """Show a block with its transactions."""
    if number != "head" and not (number.isascii() and number.isdigit()):
        raise NodeError(f"{number!r} is not a block number. Expected a number, or head.")
    return fetch_and_print(options, lambda remote: of_blocks.ask_block(remote, number), of_blocks.write_block)


@show.command(name="blocks", group=BLOCKS)
def blocks(
    *, count: Annotated[int, Parameter(help="The number of rows.", validator=Bounds(1, 100))] = 10, options: RemoteOptions = RemoteOptions()
) -> int:
    """List the newest blocks."""
    return fetch_and_print(options, lambda remote: of_blocks.ask_blocks(remote, count), of_blocks.write_blocks)


@show.command(name="tx", group=BLOCKS)
def transaction(
    transaction_id: Annotated[str, Parameter(name="ID", help="The id of a transaction: 40 hex digits.")],
    /,
    *,
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """Show a transaction of a block."""
    return fetch_and_print(options, lambda remote: of_blocks.ask_transaction(remote, transaction_id), of_blocks.write_transaction)


@show.command(name="history", group=BLOCKS)
def history(
    name: Name,
    /,
    *,
    count: Annotated[int, Parameter(help="The number of rows.", validator=Bounds(1, HISTORY_MAX))] = 20,
    before: Annotated[int | None, Parameter(help="Show only entries before this one (numbers in the first column).")] = None,
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """List the operations of an account's history, newest first."""
    return fetch_and_print(options, lambda remote: of_blocks.ask_history(remote, name, count, before), of_blocks.write_history)


# ------------------------------------------------------------------ accounts


@show.command(name="account", group=ACCOUNTS)
def account(*names: Annotated[str, Parameter(name="NAMES", help="Names of accounts.")], options: RemoteOptions = RemoteOptions()) -> int:
    """Show accounts: balances, voting mana, authorities."""
    if not names:
        raise NodeError("give an account, for example: bin/coind show account alice")
    return fetch_and_print(options, lambda remote: of_accounts.ask_accounts(remote, names), of_accounts.write_accounts)


@show.command(name="accounts", group=ACCOUNTS)
def accounts(
    *, start: Annotated[str, Parameter(help="The first name.")] = "", count: Count = 100, options: RemoteOptions = RemoteOptions()
) -> int:
    """List accounts ordered by name, with their balances."""
    return fetch_and_print(options, lambda remote: of_accounts.ask_list(remote, start, count), of_accounts.write_list, is_over_all=True)


@show.command(name="key", group=ACCOUNTS)
def key(public: Annotated[str, Parameter(name="KEY", help="A public key.")], /, *, options: RemoteOptions = RemoteOptions()) -> int:
    """Show the accounts with a public key in an authority."""
    return fetch_and_print(options, lambda remote: of_accounts.ask_key(remote, public), of_accounts.write_key)


# ------------------------------------------------------------------ posts


@show.command(name="post", group=CONTENT)
def post(
    place: Annotated[str, Parameter(name="AUTHOR/PERMLINK", help="A post or a comment, for example alice/hello.")],
    /,
    *,
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """Show a post or a comment with its votes and replies."""
    return fetch_and_print(options, lambda remote: of_content.ask_post(remote, place), of_content.write_post)


@show.command(name="posts", group=CONTENT)
def posts(
    *,
    by: Annotated[POST_BY, Parameter(help="The order (blog: the blog of the account --tag).")] = "created",
    tag: Annotated[str, Parameter(help="Show only posts with this tag.")] = "",
    count: Annotated[int, Parameter(help="The number of rows.", validator=Bounds(1, POSTS_MAX))] = 20,
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """List posts."""
    return fetch_and_print(options, lambda remote: of_content.ask_posts(remote, by, tag, count), of_content.write_posts, is_over_all=True)


# ------------------------------------------------------------------ market


@show.command(name="market", group=MARKET)
def market(
    *,
    count: Annotated[int, Parameter(help="The number of orders of each side, and of trades.", validator=Bounds(1, 100))] = 10,
    options: RemoteOptions = RemoteOptions(),
) -> int:
    """Show the internal market: prices, orders, recent trades."""
    return fetch_and_print(options, lambda remote: of_market.ask_market(remote, count), of_market.write_market, is_over_all=True)


@show.command(name="orders", group=MARKET)
def orders(name: Name, /, *, options: RemoteOptions = RemoteOptions()) -> int:
    """List the open orders of an account."""
    return fetch_and_print(options, lambda remote: remote.call("condenser_api.get_open_orders", [name]), of_market.write_orders)
