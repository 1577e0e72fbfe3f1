"""Runs suites, each in its own environment against a fresh node, and compares their results with the expected failures."""

import itertools
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from node.client.http import Client
from node.runtime.errors import NodeError
from state.protocol.keys.keys import derive_secret, wif_from_secret
from tests.clients.suites.declaration import HERE, KINDS, PASSWORD, Suite, fill
from tests.clients.suites.results import Outcome, outcomes
from tests.clients.suites.sources import adapt, installed, paths
from tests.clients.suites.town import HISTORY_SECONDS, keys_of, town, traffic
from tests.helpers.sessions import SetupError, report, running_node, say

BLOCK_SECONDS = 3
TRAFFIC_SECONDS = 1
PING = {"required_auths": ["initminer"], "required_posting_auths": [], "id": "ping", "json": "{}"}
# The tokens of each account that is created, and those that it powers up.
FUNDS = "100000.000"


class Row(Struct):
    """A suite's row of the table: its tests by result, where a listed failure counts under its kind."""

    suite: Suite
    counts: Counter[str]


def results(suites: Sequence[Suite], environments: Path, git_directories: Mapping[str, Path]) -> Iterator[str]:
    """Run suites and print a table of them. Yield the result of each test that passed, was skipped, or failed without being listed."""
    rows: list[Row] = []
    for suite in suites:
        say(f"\n== the suite of {suite.library} {suite.version} on {' and '.join([suite.chain, *suite.nodes.values()])}")
        if missing := [program for program in suite.needs if shutil.which(program) is None]:
            yield report(f"skip {suite.name}: {' and '.join(missing)} can't be found")
            continue
        try:
            place = environments / suite.name
            found = run(suite, place, installed(suite, place, git_directories.get(suite.name)))
        except (SetupError, NodeError) as error:
            yield report(f"fail {suite.name}: {error}")
            continue
        row = Row(suite, Counter())
        for test, outcome in found.items():
            row.counts[judge(suite, test, outcome)] += 1
        for test in suite.reasons.keys() - found.keys():
            say(f"note {suite.name}: the listed test is missing: {test}")
        rows.append(row)
        yield from (result for result in ("pass", "fail", "skip") for _ in range(row.counts[result]))
    if rows:
        say("\n" + table(rows))


def judge(suite: Suite, test: str, outcome: Outcome) -> str:
    """Return "pass", "skip", the kind of a listed failure, or "fail", which is printed. Also print listed tests that pass."""
    kind = suite.reasons.get(test)
    if outcome.result == "fail":
        if kind:
            return kind
        report(f"fail {suite.name}: {test}")
        say("     " + outcome.why.strip().replace("\n", "\n     "))
    elif kind:
        say(f"note {suite.name}: a listed test passes: {test}")
    return outcome.result


def run(suite: Suite, place: Path, work: Path) -> dict[str, Outcome]:
    """Run a suite against a fresh node and return the outcome of each test."""
    log, junit = place / "log", place / "results.xml"
    junit.unlink(missing_ok=True)
    home = place / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    values = paths(place)
    with ExitStack() as nodes:
        for node, chain in {"first": suite.chain, **suite.nodes}.items():
            spec = str(HERE / chain) if chain.endswith(".toml") else chain
            start = int(time.time()) - (HISTORY_SECONDS if suite.town else suite.blocks * BLOCK_SECONDS)
            url = nodes.enter_context(running_node(spec, "--time", str(start), *suite.options))
            prefix = f"{node}_" if node in suite.nodes else ""
            values |= {prefix + name: value for name, value in values_of_node(url).items()}
            populate(Client(url), suite, node)
            if suite.town:
                nodes.enter_context(town(url))
            else:
                Client(url).call("dev_api.mine", {"count": suite.blocks})
        adapt(suite, place, values)
        command = [fill(word, values) for word in suite.command]
        if suite.traffic:
            nodes.enter_context(traffic(str(values["url"]), itertools.repeat(["custom_json", PING]), TRAFFIC_SECONDS))
        environment = os.environ | {name: fill(text, values) for name, text in suite.environment.items()}
        status = logged(command, log, work, environment, suite.seconds_max)
    found = outcomes(suite, log, junit)
    if not found:
        raise SetupError(f"no test ran (status {status}); its output is in {log}")
    return found


def values_of_node(url: str) -> dict[str, object]:
    """The values of the placeholders for a node."""
    address = urlsplit(url)
    return {
        "url": url,
        "ws": url.replace("http", "ws", 1),
        "host": address.hostname,
        "port": address.port,
        "chain_id": Client(url).call("database_api.get_version")["chain_id"],
    }


def populate(client: Client, suite: Suite, node: str) -> None:
    """Create the accounts and the content that a suite expects."""
    config = client.call("database_api.get_config")
    [prefix] = [value for name, value in config.items() if name.endswith("_ADDRESS_PREFIX")]
    fee = client.call("condenser_api.get_chain_properties")["account_creation_fee"]
    funds = f"{FUNDS} {fee.split()[1]}"
    existing = {account["name"] for account in client.call("condenser_api.get_accounts", [suite.accounts])}
    keys: list[str] = []
    for name in suite.accounts:
        keys += [wif_from_secret(derive_secret(name, role, PASSWORD)) for role in ("active", "posting")]
        if name in existing:
            continue
        account = {"fee": fee, "creator": "initminer", "new_account_name": name, "json_metadata": ""}
        operations = [
            ["account_create", account | keys_of(name, prefix)],
            ["transfer", {"from": "initminer", "to": name, "amount": funds, "memo": ""}],
            ["transfer_to_vesting", {"from": "initminer", "to": name, "amount": funds}],
        ]
        client.call("dev_api.broadcast_operations", {"operations": operations})
    for content in suite.content:
        if content.node in {node, ""}:
            client.call("dev_api.broadcast_operations", {"operations": content.operations, "keys": keys})


def logged(command: list[str], log: Path, work: Path, environment: Mapping[str, str], seconds_max: int) -> int:
    """Run a command with its output in a file, and return its status. Kill it with its children if it takes too long."""
    with log.open("w") as out:
        ran = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=work, env=environment, start_new_session=True
        )
        try:
            return ran.wait(seconds_max)
        except subprocess.TimeoutExpired:
            raise SetupError(f"it took longer than {seconds_max} s; its output is in {log}") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(ran.pid, signal.SIGKILL)
            ran.wait()


def table(rows: Sequence[Row]) -> str:
    """Return the suites and the numbers of their tests as a Markdown table."""
    lines = [["suite", "version", "tests", "passed", "skipped by itself", *KINDS.values()]]
    lines.append(["---"] * len(lines[0]))
    for row in rows:
        counts = [row.counts.total(), *(row.counts[result] for result in ("pass", "skip", *KINDS))]
        lines.append([row.suite.library, row.suite.version, *map(str, counts)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
