"""The command line of the indexers' test: `bin/test indexers [--types 1|123] [--count N] [--seed S] [--source DIR] [--show N]`.

Runs hivemind, the social indexer of this family, with PostgreSQL on a chain with a town of random operations: its first sync, a sync of
many blocks, and blocks as they come, with two fork switches. Then asks each `bridge` and `condenser_api` method that hivemind serves on
both sides, and compares the answers field by field. By default with communities of type 1 only, and then with those of all types.

The status is 0 if each difference has a listed reason (docs/indexers.md).
"""

import argparse
import json
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from tests.helpers.sessions import SetupError, say
from tests.indexers.compare import Tally, ask, differences, questions, reason_for
from tests.indexers.hivemind import COMMIT, SOURCE, install
from tests.indexers.reasons import Difference
from tests.indexers.session import World

SHOWN = 3  # differences without a reason, of each kind


def main(arguments: list[str]) -> int:
    """Run the sessions. The status is 0 if every difference has a listed reason."""
    parser = argparse.ArgumentParser(prog="bin/test indexers", description=str(__doc__))
    parser.add_argument("--types", action="append", choices=("1", "123"), help="the types of communities; can be repeated (default: both)")
    parser.add_argument("--count", type=int, default=10_000, help="the number of operations")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--source", default=SOURCE, help=f"a clone of hivemind with the commit {COMMIT}, instead of the public one")
    parser.add_argument("--show", type=int, default=SHOWN, help="how many differences without a reason to print, of each field")
    chosen = parser.parse_args(arguments)
    unexplained = 0
    try:
        installed = install(chosen.source)
        for types in chosen.types or ["1", "123"]:
            say(f"\n== communities of type {', '.join(types)}")
            with tempfile.TemporaryDirectory(prefix="coind-indexers-") as folder:
                world = World(Path(folder), installed, types, chosen.seed)
                try:
                    world.run(chosen.count)
                    unexplained += report(world, chosen.show)
                finally:
                    world.end()
    except SetupError as error:
        say(f"failed: {error}")
        return 1
    return 1 if unexplained else 0


def report(world: World, shown: int) -> int:
    """Send all questions to hivemind and to coind, and print the differences. Return the number of calls with a difference that has no
    listed reason.
    """
    town = world.town
    accepted = ", ".join(f"{count} {name}" for name, count in town.accepted.most_common())
    say(f"{sum(town.accepted.values())} operations in {world.head()} blocks: {accepted}")
    say(f"hivemind was restarted {world.hivemind.restarts} times, because of the deeper fork")
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    reasons: Counter[str] = Counter()
    kinds: defaultdict[str, tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
    others: defaultdict[tuple[str, str], list[Difference]] = defaultdict(list)
    for method, params in questions(town, world.client.call):
        question = method, params
        theirs, ours = ask(world.hivemind.call, question), ask(world.client.call, question)
        found = list(differences(question, theirs, ours, world.times))
        if method == "bridge.account_notifications":
            for side, answer in enumerate((theirs, ours)):
                for row in answer.get("result", ()):
                    kinds[row["type"]][side].add(row["id"])
        explained = [reason_for(difference) for difference in found]
        tally = tallies[method]
        tally.calls += 1
        tally.equal += set(explained) <= {"ids"}
        tally.listed += not set(explained) <= {"ids"} and None not in explained
        tally.different += None in explained
        reasons.update(reason for reason in set(explained) if reason is not None)
        for difference, reason in zip(found, explained, strict=True):
            if reason is None:
                others[method, difference.field].append(difference)
    say(f"\n{'method':52} {'calls':>6} {'equal':>6} {'listed':>7} {'different':>9}")
    for method, tally in tallies.items():
        say(f"{method:52} {tally.calls:6} {tally.equal:6} {tally.listed:7} {tally.different:9}")
    counts = ", ".join(f"{kind} {len(hivemind)}/{len(coind)}" for kind, (hivemind, coind) in sorted(kinds.items()))
    say(f"\nnotifications of hivemind/coind, by kind: {counts}")
    say("\ncalls with a difference, by listed reason: " + ", ".join(f"{name} {count}" for name, count in reasons.most_common()))
    for (method, field), found in others.items():
        say(f"\nno reason is listed for {len(found)} differences of {method}, {field or 'the whole answer'}")
        for difference in found[:shown]:
            values = [json.dumps(value, ensure_ascii=False)[:300] for value in (difference.params, difference.hivemind, difference.coind)]
            say("  params {}\n    hivemind {}\n    coind    {}".format(*values))
    return sum(tally.different for tally in tallies.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
