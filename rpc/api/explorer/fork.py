"""A forked chain's origin, the last fetches from its source, and accounts that it has only a part of."""

from typing import TypedDict

from rpc.declare.arguments import AccountName, UInt32
from rpc.declare.method import method
from rpc.devchain import DevChain
from state.portable.arrivals import account_level
from state.protocol.values.text import time_text
from state.tables import State


class FetchEntry(TypedDict):
    """A fetch from the source, for example of `account alice`. `time` is that of the node's machine; `error` is empty unless it failed."""

    time: str
    what: str
    rows: UInt32
    bytes: int
    milliseconds: UInt32
    error: str


class ForkDetails(TypedDict):
    """The source and its block at which the chain begins, what came from there, and the last fetches, newest first.

    `accounts` and `posts` are those that the fork was made with, and `newest_posts` the number of posts of each account. `counts` are rows
    by kind, and `notes` say what the source doesn't give. If `is_on_demand`, the node fetches accounts and posts when they are asked for.
    The totals of fetches are those since the start of the node. `mirrored` counts the operations of later blocks of the source. `given` is
    what a fork with a part of the accounts was given from outside, besides the account of all others; on a complete copy it is null.
    """

    source: str
    source_chain_id: str
    block_num: UInt32
    block_id: str
    time: str
    is_complete: bool
    is_on_demand: bool
    keys: str
    accounts: list[str]
    posts: list[str]
    newest_posts: UInt32
    counts: dict[str, int]
    notes: list[str]
    fetches: int
    failed_fetches: int
    fetched_rows: int
    fetched_bytes: int
    last_fetches: list[FetchEntry]
    mirrored: dict[str, int]
    given: "GivenEntry | None"


class GivenEntry(TypedDict):
    """The weights of votes of accounts that aren't on the chain, by witness and by proposal, in millionths of VESTS, and the numbers of
    accounts that are here in full, light (without the rows that belong to them), and by name only.
    """

    witness_votes: dict[str, str]
    proposal_votes: dict[str, str]
    full_accounts: UInt32
    light_accounts: UInt32
    named_accounts: UInt32


class PartialEntry(TypedDict):
    """An account of which only a part is on the chain. If `is_light`, it lacks the rows that belong to it; else only its name is here."""

    name: str
    is_light: bool


@method("explorer_api.list_partial_accounts")
def list_partial_accounts(state: State, /, accounts: list[AccountName]) -> list[PartialEntry]:
    """Return those of these accounts of which a fork has only a part: the name that another row refers to, or the account without its
    orders, delegations and other rows. Other chains have none.
    """
    levels = ((name, account_level(state, name)) for name in dict.fromkeys(accounts)) if state.spec.is_partial else ()
    return [{"name": name, "is_light": level == "light"} for name, level in levels if level in ("light", "name")]


@method("explorer_api.get_fork")
def get_fork(state: State, devchain: DevChain, /) -> ForkDetails | None:
    """Return where a forked chain comes from, and what was fetched. The result is null on other chains."""
    fork = devchain.fork
    if fork is None:
        return None
    origin = fork.origin
    return {
        "source": origin.source,
        "source_chain_id": origin.chain_id,
        "block_num": origin.number,
        "block_id": origin.block_id,
        "time": time_text(origin.time),
        "is_complete": origin.is_complete,
        "is_on_demand": fork.is_on_demand,
        "keys": origin.keys,
        "accounts": list(origin.accounts),
        "posts": list(origin.posts),
        "newest_posts": origin.newest_posts,
        "counts": origin.counts,
        "notes": list(origin.notes),
        "fetches": fork.fetch_count,
        "failed_fetches": fork.failed_count,
        "fetched_rows": fork.row_count,
        "fetched_bytes": fork.byte_count,
        "last_fetches": [
            {
                "time": time_text(fetch.time),
                "what": fetch.what,
                "rows": fetch.rows,
                "bytes": fetch.size,
                "milliseconds": fetch.milliseconds,
                "error": fetch.error,
            }
            for fetch in fork.fetches
        ],
        "mirrored": fork.mirrored,
        "given": given_entry(state) if state.spec.is_partial else None,
    }


def given_entry(state: State) -> GivenEntry:
    """Return what a partial chain was given from outside, besides `all others`."""
    partial = len(state.partial_accounts)
    light = sum(row.is_light for row in state.partial_accounts)
    return {
        "witness_votes": {row.witness: str(row.weight) for row in state.outside_witness_votes if row.weight},
        "proposal_votes": {str(row.proposal_id): str(row.weight) for row in state.outside_proposal_votes if row.weight},
        "full_accounts": len(state.accounts) - partial - 1,
        "light_accounts": light,
        "named_accounts": partial - light,
    }
