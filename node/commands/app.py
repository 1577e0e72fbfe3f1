"""The command line of `bin/coind`: commands, options and their checks. The work is done elsewhere."""

import platform
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter, validators

from node.commands.blocks import blocks
from node.commands.shared import DEFAULT_CHAIN, Chain, Flag, Repeated, data_folder, say
from node.commands.snapshot import snapshot
from node.failures import NodeError, Status, last_line
from node.logs import Level, configure_logs
from node.node import Address, Settings, replay_file, run
from node.plugins import chosen_plugins
from node.snapshots.saving import EVERY
from node.specs import ROLES, SpecError, load_spec, spec_names
from node.storage.syncing import sync_policy
from node.version import version
from rpc.service.transport.rights import read_origins
from state.chain.skip import TRUSTED, Skip
from state.protocol.keys.keys import derive_secret, public_key, public_key_text, wif_from_secret
from state.protocol.values.text import is_valid_account_name

DEFAULT_HTTP = "127.0.0.1:8090"
PORT_MAX = 65535

# Commands that ask a node are loaded when they are called, so that `run` starts without them.
TX_HELP = """Make, sign and broadcast transactions.

The keys of the accounts of a chain made for tests are known; others come from --key, COIND_KEY or a prompt.

Example: bin/coind tx transfer alice bob "1.000 COIN" --memo thanks --wait
"""
SHOW_HELP = """Look at a chain: accounts, blocks, posts, the market...

Tables on a terminal, aligned text elsewhere, JSON with --json.

Example: bin/coind show account alice
"""
DEV_HELP = """Drive a local chain: blocks, time, snapshots, balances...

The node must run on this machine, and have a chain that is made for tests.

Example: bin/coind dev advance 7d
"""

app = App(name="coind", help="A node of a Steem-family blockchain, in memory.", version_flags=[])
app.command(blocks)
app.command(snapshot)
app.command("node.commands.tx.app:tx", name="tx", help=TX_HELP)
app.command("node.commands.show.app:show", name="show", help=SHOW_HELP)
app.command("node.commands.dev.app:dev", name="dev", help=DEV_HELP)

Every = Annotated[int, Parameter(help="Check every N blocks whether everything in the state adds up.", validator=validators.Number(gte=0))]
LogLevel = Annotated[Level, Parameter(help="The lines of the log that are written: these and more serious ones.")]
Cors = Annotated[
    tuple[str, ...],
    Repeated,
    Parameter(help="Let in pages of this origin only, as http://localhost:3000; off: no pages; can be repeated."),
]
Http2 = Annotated[bool, Flag, Parameter(help="Speak HTTP/2 as well, with clients that begin with it.")]
AllowDebug = Annotated[
    bool, Flag, Parameter(help="Serve the debug methods on an address that other machines can reach, and to everyone there.")
]


@app.command(name="run")
def run_command(
    *,
    chain: Chain = DEFAULT_CHAIN,
    http: Annotated[str, Parameter(help="Where to answer, HOST:PORT.")] = DEFAULT_HTTP,
    produce: Annotated[bool | None, Parameter(help="Whether to produce blocks; by default with the chain spec's keys.")] = None,
    enable: Annotated[tuple[str, ...], Repeated, Parameter(help="A plugin to run in addition; can be repeated.")] = (),
    disable: Annotated[tuple[str, ...], Repeated, Parameter(help="A plugin not to run; can be repeated.")] = (),
    data: Annotated[str | None, Parameter(help="Keep the blocks in this folder; a restart goes on from them.")] = None,
    sync: Annotated[str, Parameter(help="When blocks must survive a loss of power: block, never, or a number of SECONDS.")] = "block",
    snapshot_every: Annotated[
        int,
        Parameter(
            help="Save a snapshot of the state in the folder after every N blocks and at the end; 0: never.",
            validator=validators.Number(gte=0),
        ),
    ] = EVERY,
    check_invariants: Every = 0,
    cors: Cors = (),
    http2: Http2 = False,
    allow_debug: AllowDebug = False,
    log_level: LogLevel = "info",
) -> int:
    """Start a node."""
    configure_logs(log_level)
    spec = load_spec(chain)
    if produce and not spec.witness_keys:
        raise NodeError(f"the chain {spec.name} has no witness_keys to produce blocks with")
    settings = Settings(
        spec=spec,
        plugins=chosen_plugins(spec, enable, disable),
        http=address(http),
        is_producing=bool(spec.witness_keys) if produce is None else produce,
        data=None if data is None else data_folder(data),
        sync=sync_policy(sync),
        snapshot_every=snapshot_every,
        check_invariants=check_invariants,
        origins=origins(cors),
        is_http2=http2,
        is_debug_allowed=allow_debug,
    )
    return run(settings)


@app.command(name="replay")
def replay_command(
    file: Annotated[Path, Parameter(help="A block log, or JSON lines of blocks; plain, gzip or zstd.")],
    /,
    *,
    chain: Chain = DEFAULT_CHAIN,
    until: Annotated[int | None, Parameter(help="Stop after this block.", validator=validators.Number(gte=0))] = None,
    verify: Annotated[Literal["all", "none"], Parameter(help="Check everything in the blocks, or trust them.")] = "all",
    serve: Annotated[str | None, Parameter(help="Then answer from there, HOST:PORT.")] = None,
    check_invariants: Every = 0,
    cors: Cors = (),
    http2: Http2 = False,
    allow_debug: AllowDebug = False,
    log_level: LogLevel = "info",
) -> int:
    """Apply a file of blocks."""
    configure_logs(log_level)
    spec = load_spec(chain)
    settings = Settings(
        spec=spec,
        plugins=chosen_plugins(spec),
        http=None if serve is None else address(serve),
        check_invariants=check_invariants,
        origins=origins(cors),
        is_http2=http2,
        is_debug_allowed=allow_debug,
    )
    return replay_file(settings, file, until=until, skip=TRUSTED if verify == "none" else Skip.NOTHING)


@app.command(name="keys")
def keys_command(
    name: Annotated[str, Parameter(help="The name of an account.")],
    /,
    *,
    role: Annotated[Literal["owner", "active", "posting", "memo"] | None, Parameter(help="Only the keys of this role.")] = None,
    password: Annotated[str, Parameter(help="The password that the keys are derived from.")] = "dev",
) -> int:
    """Print the keys that follow from an account's name, a role and a password, with the prefix of the chain dev."""
    if not is_valid_account_name(name):
        raise NodeError(f"{name} is no valid account name")
    prefix = load_spec(DEFAULT_CHAIN).key_prefix
    say(f"keys of {name}, public ones with the prefix of the chain {DEFAULT_CHAIN} ({prefix})")
    for each in ROLES if role is None else (role,):
        secret = derive_secret(name, each, password)
        say(f"{each:8}public   {public_key_text(public_key(secret), prefix)}")
        say(f"{each:8}private  {wif_from_secret(secret)}")
    return 0


@app.command(name="version")
def version_command() -> int:
    """Print the version of this program, of Python, and the names of its chains."""
    say(f"coind {version()}")
    say(f"Python {platform.python_version()}")
    say(f"chains {' '.join(spec_names())}")
    return 0


def main() -> int:
    """Run the command line of `bin/coind`; returns the status of the process."""
    try:
        status = app(result_action="return_value", print_error=False, exit_on_error=False)
    except CycloptsError as error:
        last_line(f"coind: {' '.join(str(error).split())} {usage(error)}")
        return Status.USAGE
    except (NodeError, SpecError) as error:
        last_line(f"coind: {error}")
        return error.STATUS if isinstance(error, NodeError) else Status.REFUSED
    return status if isinstance(status, int) else Status.DONE


def usage(error: CycloptsError) -> str:
    """Return where to look after an error in the command line: at the help of the command, if there is one."""
    return f"See: {' '.join(['bin/coind', *(error.command_chain or ()), '--help'])}"


def address(text: str) -> Address:
    """Parse HOST:PORT, with an IPv6 host in brackets."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) <= PORT_MAX):
        raise NodeError(f"{text} is no address; expected HOST:PORT, as {DEFAULT_HTTP}")
    return Address(host, int(port))


def origins(texts: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the origins whose pages are let in; None for all."""
    try:
        return read_origins(texts)
    except ValueError as error:
        raise NodeError(f"--cors {error}") from None
