"""Makes forks from a source one of whose methods lies, for each method and each lie. A fork is then refused, or its chain goes on.

`python -m tests.fork.sweep [FLAVOUR]...` tries all pairs, which takes some minutes. test_sweep.py tries one lie for each method.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import trio
from trio.testing import MockClock

from node.app.local_chain import LocalChain
from node.fork.fetch import ForkRequest, make_fork
from node.fork.file import write_fork
from node.fork.source import Source
from node.runtime.errors import NodeError
from rpc.fork import ForkOrigin
from state.chain.chain import Chain
from state.chain.invariants import validate_invariants
from tests.fork.sources import FAULTS, FLAVOURS, SourceNode
from tests.fork.town import town

LIES = tuple(name for name, make in FAULTS.items() if make().result)
REQUEST = ForkRequest(
    accounts=("alice", "bob", "kim", "laura", "olivia", "quentin", "peggy", "victor", "judy", "harbour.inn", "niaj", "mallory", "ursula"),
    posts=(("alice", "welcome-to-saltmere"), ("kim", "first-steps")),
    newest_posts=3,
)
BLOCKS, SECONDS = 30, 30 * 3600


def forked(node: SourceNode) -> tuple[Chain, ForkOrigin]:
    """Make a fork, under a clock that skips all waiting. Raises NodeError."""

    async def make() -> tuple[Chain, ForkOrigin]:
        return await make_fork(Source("http://source:8090", transport=node.transport(), patience_seconds=5), REQUEST, lambda text: None)

    return trio.run(make, clock=MockClock(autojump_threshold=0))


def methods_of(source: LocalChain, flavour: str) -> list[str]:
    """Return the methods from which a fork is made."""
    node = SourceNode(source, flavour)
    forked(node)
    return sorted(name for name in node.calls if node.flavour.serves(name))


def lie(source: LocalChain, flavour: str, method: str, name: str, folder: Path) -> str:
    """Make a fork from a source whose method lies. Return `refused` or `made`; raises if the fork's chain breaks."""
    fault = FAULTS[name]()
    fault.methods = re.escape(method)
    try:
        chain, origin = forked(SourceNode(source, flavour, fault))
    except NodeError:
        return "refused"
    validate_invariants(chain.state)
    write_fork(chain, folder / "f", origin)
    local = LocalChain(fork=folder / "f", blocks="manual")
    local.mine(BLOCKS)
    local.advance(SECONDS)
    validate_invariants(local.chain.state)
    return "made"


def sweep(flavours: list[str]) -> Iterator[str]:
    """Try all pairs of methods and lies. Yield a line for each that fails."""
    source = town()
    with TemporaryDirectory() as folder:
        for flavour in flavours:
            for method in methods_of(source, flavour):
                for name in LIES:
                    try:
                        lie(source, flavour, method, name, Path(folder))
                    except Exception as error:
                        yield f"{flavour}, {method}, {name}: {error!r}"


if __name__ == "__main__":
    FAILED = list(sweep(sys.argv[1:] or [*FLAVOURS]))
    print(*FAILED, sep="\n")
    sys.exit(bool(FAILED))
