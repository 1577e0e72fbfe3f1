"""`coind fork`: reads a part of a live chain into a file, from which `coind run --fork` starts a local chain."""

import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from msgspec.structs import replace

from node.cli.parameters import Bounds, Config, Flag, Repeated
from node.client.urls import is_url, node_url
from node.fork.fetch import ForkRequest, Report, add_to_fork, make_fork, request_again
from node.fork.file import ForkFile, read_fork, write_fork
from node.fork.source import Source
from node.runtime.errors import NodeError
from node.runtime.output import write_pairs
from node.runtime.progress import StepProgress
from node.runtime.shutdown import run_to_end
from node.specs.builder import load_spec
from state.portable import CommentKey
from state.protocol.constants import COIN_MAX_WITNESSES
from state.protocol.spec import ChainSpec
from state.protocol.values.text import is_valid_account_name, time_text

NAMES_SHOWN_MAX, NOTES_SHOWN_MAX = 10, 20
# A node that doesn't answer at first is probably not there.
PROBE_SECONDS, PROBES = 3, ("condenser_api.get_version", "database_api.get_version")
ACCOUNTS_MAX, POSTS_MAX, NEWEST_POSTS_MAX = 100_000, 100_000, 10_000
POST = re.compile(r"@(?P<author>[a-z0-9.-]{1,16})/(?P<permlink>[^\s,/]{1,255})")


def fork_command(
    source: Annotated[str, Parameter(help="The URL of a node, or a fork file, which is described, refreshed or extended.")],
    /,
    *,
    to: Annotated[Path | None, Parameter(help="The fork file to write.")] = None,
    accounts: Annotated[Repeated, Parameter(help="Names of accounts, separated by commas; can be repeated.")] = (),
    posts: Annotated[
        Repeated,
        Parameter(help="The number of newest posts of each account, or @AUTHOR/PERMLINK with its discussion; can be repeated."),
    ] = (),
    everything: Annotated[
        Flag,
        Parameter(
            name="--all",
            help="Everything. Without --keys, --witnesses and --chain-id, run --follow goes on with the blocks of the source.",
        ),
    ] = False,
    add: Annotated[Flag, Parameter(help="Add accounts and posts to a fork file, which keeps its block.")] = False,
    refresh: Annotated[Flag, Parameter(help="Read everything in a fork file again, at the source's present block.")] = False,
    keys: Annotated[
        Literal["derive", "keep"] | None,
        Parameter(help="Keys of the accounts: derived from their names (coind keys prints them), or their own; by default derived."),
    ] = None,
    witnesses: Annotated[
        int | None,
        Parameter(
            help="The number of witnesses that make blocks, those with the most votes; by default as on the source.",
            validator=Bounds(1, COIN_MAX_WITNESSES),
        ),
    ] = None,
    chain_id: Annotated[
        Literal["new", "keep"] | None,
        Parameter(
            help="A new chain id, or that of the source; by default a new one. Danger: with keep, signatures for the fork are valid on the"
            " source too."
        ),
    ] = None,
    chain: Annotated[str | None, Parameter(help="The chain spec of the source, a name or a TOML file; by default it is found out.")] = None,
    requests_per_second: Annotated[float | None, Parameter(help="The maximum number of requests per second; by default no limit.")] = None,
    config: Config = None,
) -> int:
    """Read accounts and posts of a live chain into a file, from which bin/coind run --fork starts a chain.

    The chain begins at the source's block, needs no network, and is yours to write to. All other accounts are one account.

    Example: bin/coind fork https://api.example --accounts alice,bob --posts 10 --to f
    """
    if requests_per_second is not None and not requests_per_second > 0:
        raise NodeError(f"--requests-per-second {requests_per_second}: expected more than 0")
    given = split(accounts), split(posts)
    path, url = target(source, to)
    if url is None and not (add or refresh):
        if any((*given, everything, keys, witnesses, chain_id, chain)):
            raise NodeError(f"{source} is a fork file. Give --add or --refresh to change it, or the URL of a node to make another one.")
        assert path is not None
        write_pairs(description(read_fork(path)))
        return 0
    path = require_path(path, add=add, refresh=refresh)
    fork = read_fork(path) if add or refresh else None
    everything |= fork is not None and fork.origin.is_complete
    is_other = any((keys, witnesses, chain_id))
    require_consistent(add, everything, any(given), is_other, chain)
    refreshed = fork if refresh else None
    request = full_request(requested(*given), refreshed, keys, witnesses, chain_id, is_exact=everything and not is_other)
    url = url or (fork.origin.source if fork is not None else "")
    spec = None if chain is None else load_spec(chain)
    if everything:
        return run_to_end(partial(_copy, url, requests_per_second, to or path, request, spec))
    return run_to_end(partial(_run, url, requests_per_second, path, to or path, request, fork if add else None, spec))


async def _copy(url: str, requests_per_second: float | None, to: Path, request: ForkRequest, spec: ChainSpec | None) -> int:
    # Imported here, since other forks don't need it.
    from node.fork.complete.forks import write_complete_fork

    async with reading(url, requests_per_second) as (source, report):
        await write_complete_fork(source, to, report, request, spec)
    write_pairs(description(read_fork(to)))
    return 0


async def _run(
    url: str, requests_per_second: float | None, path: Path, to: Path, request: ForkRequest, fork: ForkFile | None, spec: ChainSpec | None
) -> int:
    async with reading(url, requests_per_second) as (source, report):
        if fork is None:
            chain, origin = await make_fork(source, request, report, spec)
        else:
            chain, origin = await add_to_fork(source, fork, request, report)
    write_fork(chain, to, origin)
    write_pairs(description(read_fork(to)))
    return 0


@asynccontextmanager
async def reading(url: str, requests_per_second: float | None) -> AsyncIterator[tuple[Source, Report]]:
    """Context manager that yields a source, and a function that displays the progress. Raises NodeError at once if no node answers."""
    progress, source = StepProgress(), Source(url, requests_per_second)
    probe = Source(url, requests_per_second, patience_seconds=PROBE_SECONDS)
    try:
        await probe.first_of(*((method, []) for method in PROBES))
        yield source, progress.show
    finally:
        progress.close()
        await probe.close()
        await source.close()


def target(source: str, to: Path | None) -> tuple[Path | None, str | None]:
    """Return the fork file and the URL that the arguments name. Without a URL, the file names its source. Raises NodeError."""
    if is_url(source):
        return to, node_url(source)
    path = Path(source)
    if not path.exists():
        raise NodeError(f"{source} is neither a file nor a URL. Give the URL of a node, for example https://api.example.")
    return path, None


def require_path(path: Path | None, *, add: bool, refresh: bool) -> Path:
    """Return the path of the fork file. Raises NodeError unless there is such a file if it is changed, and none otherwise."""
    if path is None:
        raise NodeError("--to is missing. Give the fork file to write.")
    if add and refresh:
        raise NodeError("--add and --refresh contradict each other: --refresh reads everything at another block. Give one of them.")
    is_changed = add or refresh
    if is_changed and not path.exists():
        raise NodeError(f"{path}: there is no such fork file. Without --add and --refresh, a new one is made.")
    if not os.access(path.parent, os.W_OK):
        raise NodeError(f"{path}: can't be written. Give a file in a folder that this user can write to.")
    if not is_changed and path.exists():
        raise NodeError(
            f"{path}: this file exists, and its state can't be read from the source again. Give --add to add to it, --refresh to replace"
            " it by the present state, or another name."
        )
    return path


def split(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Split the values of an option at commas, without duplicates."""
    return tuple(dict.fromkeys(item for text in texts for item in text.replace(",", " ").split()))


def requested(accounts: tuple[str, ...], posts: tuple[str, ...]) -> ForkRequest:
    """Return the request of --accounts and --posts. Raises NodeError."""
    names = tuple(name.removeprefix("@") for name in accounts)
    if wrong := [name for name in names if not is_valid_account_name(name)]:
        raise NodeError(f"--accounts: {wrong[0]!r} is not a valid account name")
    newest, keys = 0, []
    for text in posts:
        if text.isascii() and text.isdigit() and len(text) < len(str(NEWEST_POSTS_MAX)) + 1:
            newest = int(text)
        else:
            keys.append(post_key(text))
    if newest > NEWEST_POSTS_MAX or len(names) > ACCOUNTS_MAX or len(keys) > POSTS_MAX:
        limits = f"{ACCOUNTS_MAX:,} accounts, {POSTS_MAX:,} named posts, {NEWEST_POSTS_MAX:,} newest posts of each account"
        raise NodeError(f"--accounts and --posts take at most {limits}")
    return ForkRequest(accounts=names, posts=tuple(keys), newest_posts=newest)


def post_key(text: str) -> CommentKey:
    """Parse @AUTHOR/PERMLINK, or the URL of a post that contains it. Raises NodeError."""
    found = POST.search(text)
    if found is None or not is_valid_account_name(found["author"]):
        raise NodeError(f"--posts {text!r}: expected a number of posts, or a post, for example @alice/my-first-post")
    return found["author"], found["permlink"]


def require_consistent(add: bool, everything: bool, is_part: bool, is_other: bool, chain: str | None) -> None:
    """Raise NodeError if options contradict each other. `is_part`: accounts or posts are named; `is_other`: it differs from the source
    in keys, witnesses or chain id.
    """
    if everything and (is_part or add):
        raise NodeError("--all reads everything. Remove --accounts, --posts and --add.")
    if add and (is_other or chain):
        raise NodeError("--add keeps the keys, witnesses and chain id of the fork file. Give --refresh to change them.")


def full_request(
    request: ForkRequest, refreshed: ForkFile | None, keys: str | None, witnesses: int | None, chain_id: str | None, *, is_exact: bool
) -> ForkRequest:
    """Return a request with the given values of --keys, --witnesses and --chain-id.

    Without these options, the choices are those of the file that is refreshed, or for an exact copy those of the source.
    """
    if refreshed is not None:
        before = request_again(refreshed)
        request = replace(
            before,
            accounts=tuple(dict.fromkeys((*before.accounts, *request.accounts))),
            posts=tuple(dict.fromkeys((*before.posts, *request.posts))),
            newest_posts=request.newest_posts or before.newest_posts,
        )
    elif is_exact:
        request = replace(request, keys="kept", keeps_chain_id=True)
    return replace(
        request,
        keys=request.keys if keys is None else "kept" if keys == "keep" else "derived",
        witnesses=request.witnesses if witnesses is None else witnesses,
        keeps_chain_id=request.keeps_chain_id if chain_id is None else chain_id == "keep",
    )


def description(fork: ForkFile) -> Iterator[tuple[str, object]]:
    """Yield the names and values of a fork file's description."""
    origin, spec = fork.origin, fork.spec
    yield "fork file", f"{fork.path}, {fork.path.stat().st_size:,} bytes, digest {spec.base.digest[:16]}"
    yield "source", origin.source
    yield "block", f"{origin.number:,} {origin.block_id} {time_text(origin.time)}"
    yield "chain id", f"{spec.chain_id.hex()} ({'that of the source' if spec.chain_id.hex() == origin.chain_id else 'new'})"
    yield "keys", "those of the source" if origin.keys == "kept" else f"derived from the names: bin/coind keys NAME --fork {fork.path}"
    if origin.witnesses:
        yield "witnesses", origin.witnesses
    for name, items in (("accounts", origin.accounts), ("posts", origin.posts)):
        if items:
            more = f" and {len(items) - NAMES_SHOWN_MAX:,} more" if len(items) > NAMES_SHOWN_MAX else ""
            yield name, f"{', '.join(items[:NAMES_SHOWN_MAX])}{more}"
    if origin.newest_posts:
        yield "newest posts", f"{origin.newest_posts:,} of each account"
    if origin.counts:
        yield "fetched", ", ".join(f"{count:,} {kind}" for kind, count in origin.counts.items())
    for note in origin.notes[:NOTES_SHOWN_MAX]:
        yield "note", note
    if len(origin.notes) > NOTES_SHOWN_MAX:
        yield "note", f"and {len(origin.notes) - NOTES_SHOWN_MAX:,} more"
    yield "start it", f"bin/coind run --fork {fork.path}"
