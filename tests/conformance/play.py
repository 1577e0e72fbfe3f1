"""Plays a recorded case in this process: blocks, broadcasts and fed blocks directly on a `Chain`, queries through a service.

The rules for equal results are those of tests/conformance/run.py. This version works without HTTP and with all plugins enabled, for tests
and debugging: `python -m tests.conformance.play [CASE ...] [--queries [PREFIX,...]] [--show N] [--report FILE]`. Queries of methods that
aren't served are only counted.
"""

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import trio

import rpc.api  # noqa: F401 - fills METHODS
import state.operations  # noqa: F401 - fills the registry
from node.devchain.devchain import DevChain
from node.runtime.clock import ChainClock
from node.specs.builder import load_spec
from rpc.caller import LOCAL
from rpc.declare.method import METHODS
from rpc.explorer.supply_history import SupplyHistory
from rpc.json.encoding import scrubbed
from rpc.jsonrpc.dispatch import Service
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.genesis import new_state
from state.plugins.registry import PLUGINS, enable
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedBlock, frames
from tests.conformance import run
from tests.helpers.api import StubProcessor
from tests.helpers.method_coverage import watched

CASES = Path(__file__).parent / "cases"

# A case with more than LONG blocks is long. Refusals are of the same kind if the first KIND_LENGTH characters of their texts are equal.
LONG = 500
KIND_LENGTH, KIND_LOOKS = 30, 2

# Methods served here that the recorded reference refused, since its history was in memory (rpc-api.md §9.1).
SERVED_HERE = ("account_history_api.enum_virtual_ops",)


class Player:
    """A chain at genesis with these plugins, and the events of a case in step order."""

    def __init__(self, folder: Path, plugins: Iterable[str] = PLUGINS, processor: type[StubProcessor] = StubProcessor) -> None:
        self.folder = folder
        self.processor = processor
        log = folder / "block_log"
        self.log = log.read_bytes() if log.exists() else gzip.decompress((folder / "block_log.gz").read_bytes())
        self.places = list(frames(self.log))
        self.fed = False
        self.looks = True  # whether to check that refusals change nothing
        self.refused: Counter[str] = Counter()
        self.stood: tuple[str, int] | None = None  # the state after the last refusal, if nothing was pushed since
        self.plugins = None if plugins is PLUGINS else tuple(plugins)
        self.use(Chain(new_state(load_spec("steem-testnet"), prepare=lambda state: enable(state, plugins))))

    def use(self, chain: Chain) -> None:
        """Play on a chain from now on."""
        self.chain, self.wire = chain, chain.state.wire
        self.service = Service(
            watched(METHODS.values()),
            wire=self.wire,
            plugins=self.plugins,
            state=chain.state,
            chain=chain,
            processor=self.processor(chain),
            devchain=DevChain(chain, ChainClock()),
            series=SupplyHistory(chain),
        )
        self.served = set(self.service.registry.names)

    def events(self) -> list[dict[str, Any]]:
        """Return the broadcasts, fed blocks and queries in step order."""
        feeds = [e | {"height": e["height_before"]} for e in run.lines(self.folder / "blocks.jsonl")]
        others = run.lines(self.folder / "queries.jsonl") + run.lines(self.folder / "broadcasts.jsonl")
        return sorted(others + feeds, key=lambda e: e["step"])

    def blocks(self) -> Iterator[SignedBlock]:
        """Yield the blocks of the case's log."""
        for start, _ in self.places:
            yield self.wire.unpack_block(self.log, start)[0]

    def advance(self, height: int) -> None:
        """Push blocks of the log up to a height."""
        while self.chain.state.props.head_block_number < height and not self.fed:
            self.stood = None
            start, _ = self.places[self.chain.state.props.head_block_number]
            self.chain.push_block(self.wire.unpack_block(self.log, start)[0])

    def broadcast(self, event: dict[str, Any]) -> str | None:
        """Push a recorded transaction. Return a description of the difference from the recorded outcome, or None. A refused transaction
        must change nothing.
        """
        looks = not event["ok"] and self.is_state_checked(event)
        before = (self.stood or self.observed_state()) if looks else None
        self.stood = None
        try:
            self.chain.push_transaction(self.wire.transaction_from_json(event["trx"]))
        except ChainError as error:
            if event["ok"]:
                return f"refused: {error.message(self.chain.state.spec.spell)}"
            if looks:
                self.stood = self.observed_state()
                if self.stood != before:
                    return "refused, but not without a change"
            text, wanted = scrubbed(error.message(self.chain.state.spec.spell)), run.tail(event["error"])
            if wanted not in text:
                return f"text: wanted {wanted!r}, is {text!r}"
            return None if kind_of(event["error"]) == (error.CODE, error.NAME) else f"kind: {kind_of(event['error'])}, is {error.NAME}"
        return None if event["ok"] else f"accepted, wanted: {event['error']['message'][:200]}"

    def is_state_checked(self, event: dict[str, Any]) -> bool:
        """Whether to check that a refusal changes nothing. In long cases only the first refusals of each kind are checked, since the check
        takes most of the time.
        """
        kind = run.tail(event["error"])[:KIND_LENGTH]
        self.refused[kind] += 1
        return self.looks and (len(self.places) < LONG or self.refused[kind] <= KIND_LOOKS)

    def observed_state(self) -> tuple[str, int]:
        """Return the state digest and the number of pending transactions, which a refusal must not change."""
        return state_digest(self.chain.state), len(self.chain.pending)

    def feed(self, event: dict[str, Any]) -> str | None:
        """Push a block as broadcast_block does. Return a description of the difference from the recorded outcome, or None."""
        self.fed, self.stood = True, None
        accepted, text = True, ""
        try:
            self.chain.push_block(self.wire.block_from_json(event["block"]))
        except ChainError as error:
            accepted, text = False, error.message(self.chain.state.spec.spell)
        head = self.chain.state.props.head_block_id.hex()
        if accepted != event["accepted"] or head != event["head_after"]:
            return f"{event['note']}: accepted {accepted} ({text[:200]}), head {head}, wanted {event['accepted']} {event['head_after']}"
        return None

    def ask(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return the response to a recorded query."""
        self.stood = None  # some queries broadcast
        request = {"jsonrpc": "2.0", "id": 1, "method": event["method"]}
        if event["params"] is not None:
            request["params"] = event["params"]
        answer = self.service.answer(json.dumps(request, ensure_ascii=False).encode("utf-8", "surrogatepass"), LOCAL)

        async def wait() -> bytes:
            assert not isinstance(answer, bytes)
            return await answer

        reply: dict[str, Any] = json.loads(answer if isinstance(answer, bytes) else trio.run(wait))
        return reply

    def query(self, event: dict[str, Any]) -> tuple[str, Any] | None:
        """Call a recorded query. Return the kind of difference and its details, or None."""
        reply = self.ask(event)
        if "error" in event:
            wanted = run.tail(event["error"])
            if "error" not in reply:
                return "not refused", {"wanted": event["error"].get("message"), "got": reply.get("result")}
            if wanted not in run.texts(reply["error"]):
                return "error text differs", {"wanted": wanted, "got": reply["error"].get("message")}
            if kind_of(reply["error"]) != kind_of(event["error"]):
                return "kind of error differs", {"wanted": kind_of(event["error"]), "got": reply["error"]}
            return None
        if "error" in reply:
            return "refused", reply["error"].get("message")
        wanted, got = run.repaired(event), reply.get("result")
        found = [] if same_text(wanted, got) else list(run.differences(wanted, got))
        return ("result differs", found[:20]) if found else None


def same_text(wanted: Any, got: Any) -> bool:
    """Whether two values have the same JSON. This is usually true, and much faster than a search for differences."""
    return json.dumps(wanted, sort_keys=True) == json.dumps(got, sort_keys=True)


def kind_of(error: dict[str, Any]) -> tuple[int, str] | None:
    """Return the code and the name of the error class in the data of an error. Return None for a JSON-RPC error, which has no such data."""
    data = error.get("data")
    return (data["code"], data["name"]) if isinstance(data, dict) else None


class Play:
    """A run through a case. It counts the events, and collects the differences from the recording."""

    def __init__(self, folder: Path, prefixes: tuple[str, ...], report: TextIO | None = None) -> None:
        self.player = Player(folder)
        self.prefixes = prefixes
        self.report = report
        self.tally: Counter[str] = Counter()
        self.unserved: Counter[str] = Counter()
        self.wrong: list[str] = []

    def run(self) -> None:
        """Play all events, then the remaining blocks."""
        player = self.player
        events = player.events()
        shared = run.reblogs(events) if self.prefixes else set()
        for event in events:
            if "method" in event and not event["method"].startswith(self.prefixes or ("\0",)):
                continue
            player.advance(event["height"])
            event["reblogs"] = shared
            defect = any(applies(event) for applies, _ in run.DEFECTS)
            defect |= "error" in event and event.get("method") in SERVED_HERE
            if "method" in event:
                self.query(event, defect)
            elif "trx" in event:
                self.note(event, "broadcasts", None if defect else player.broadcast(event))
            else:
                self.note(event, "blocks", player.feed(event))
        if not player.fed:
            player.advance(len(player.places))
        self.tally["head"] = player.chain.state.props.head_block_number

    def query(self, event: dict[str, Any], defect: bool) -> None:
        """Compare a query, unless its method isn't served or the reference has a known defect."""
        if event["method"] not in self.player.served:
            self.unserved[event["method"]] += 1
            return
        if defect:
            self.tally["known defects"] += 1
            return
        found = self.player.query(event)
        if found and self.report:
            line = {"case": self.player.folder.name, "step": event["step"], "method": event["method"], "params": event["params"]}
            self.report.write(json.dumps(line | {"kind": found[0], "detail": found[1]}) + "\n")
        shown = found and f"{event['method']} {json.dumps(event['params'])[:200]}: {found[0]}: {json.dumps(found[1])[:500]}"
        self.note(event, "queries", shown)

    def note(self, event: dict[str, Any], kind: str, found: str | None) -> None:
        """Count an event and record its difference, if any."""
        self.tally[kind] += 1
        if found:
            operations = json.dumps(event["trx"]["operations"])[:300] if kind == "broadcasts" else ""
            self.wrong.append(f"step {event['step']} at {event['height']}: {found} {operations}")


def play(folder: Path) -> tuple[Counter[str], list[str]]:
    """Play a case without its queries. Return its counts and its differences."""
    played = Play(folder, ())
    played.run()
    return played.tally, played.wrong


def main() -> None:
    """Play the named cases, or all, and print their differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*")
    parser.add_argument(
        "--queries",
        nargs="?",
        const="",
        help="also play queries of methods with these prefixes, by comma (without a value: all)",
    )
    parser.add_argument("--show", type=int, default=20, help="maximum number of differences to print for each case")
    parser.add_argument("--report", type=Path, help="write the differences of queries as JSON lines")
    options = parser.parse_args()
    prefixes = () if options.queries is None else tuple(options.queries.split(","))
    report = options.report.open("w") if options.report else None
    unserved: Counter[str] = Counter()
    for name in options.case or sorted(p.name for p in CASES.iterdir()):
        played = Play(CASES / name, prefixes, report)
        try:
            played.run()
        except ChainError as error:
            print(f"{name}: stopped: {error}")
            continue
        unserved += played.unserved
        print(f"{name}: {dict(played.tally)}, {len(played.wrong)} wrong", flush=True)
        for line in played.wrong[: options.show]:
            print("   ", line[:1000])
    if unserved:
        print("not served:", ", ".join(f"{name} {count}" for name, count in sorted(unserved.items())))


if __name__ == "__main__":
    main()
