"""Installs hivemind, runs it with a separate database, and calls its methods."""

import http.client
import json
import os
import pwd
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.helpers.sessions import SetupError, python_with, say, succeed
from tests.nats.session import free_port

HERE = ROOT / "tests" / "indexers"
ENVIRONMENT = ROOT / ".venv-clients" / "hivemind"
SOURCE, COMMIT = "https://github.com/steemit/hivemind.git", "d213ee5"
START_SECONDS_MAX = 60
RESTART_SECONDS, RESTARTS_MAX = 2, 60
SYNC_SECONDS_MAX = 600
NOBODY = "postgres"  # the user of the database's server, if root runs the test


def install(source: str) -> tuple[str, Path]:
    """Fetch hivemind's source and install its dependencies. Return the path of its Python and the source's folder."""
    python = python_with(HERE / "requirements.txt", ENVIRONMENT, "hivemind")
    code = ENVIRONMENT / "source"
    if not (code / "hive").exists():
        shutil.rmtree(code, ignore_errors=True)
        say(f"fetching hivemind {COMMIT}, this once")
        succeed(["git", "clone", "--quiet", source, str(code)])
        succeed(["git", "-C", str(code), "checkout", "--quiet", COMMIT])
    return python, code


class Postgres:
    """A PostgreSQL server with an empty database, in a separate folder."""

    def __init__(self, folder: Path) -> None:
        self._programs = programs()
        self._data, self.port = folder / "database", free_port()
        self._data.mkdir()
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:  # the server refuses to run as root
            account = pwd.getpwnam(NOBODY)
            self._user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "umask": 0o077}
            os.chown(self._data, account.pw_uid, account.pw_gid)
            folder.chmod(0o711)
        self._run(
            "initdb", "--pgdata", self._data, "--auth", "trust", "--username", "hive", "--no-sync", "--encoding", "UTF8", "--locale", "C"
        )
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._data} -c fsync=off -c timezone=UTC"
        self._run("pg_ctl", "--pgdata", self._data, "--log", self._data / "log", "--options", options, "--wait", "start")
        self._run("createdb", "--host", self._data, "--port", str(self.port), "--username", "hive", "hive")

    @property
    def url(self) -> str:
        """The address of the database."""
        return f"postgresql://hive@127.0.0.1:{self.port}/hive"

    def query(self, sql: str) -> list[list[str]]:
        """Return the rows of a query, as text."""
        command = [
            "psql",
            "--host",
            str(self._data),
            "--port",
            str(self.port),
            "--username",
            "hive",
            "--no-align",
            "--tuples-only",
            "--field-separator",
            "\t",
        ]
        return [line.split("\t") for line in self._run(*command, "--command", sql, "hive").splitlines()]

    def stop(self) -> None:
        self._run("pg_ctl", "--pgdata", self._data, "--mode", "immediate", "stop")

    def _run(self, program: str, *arguments: str | Path) -> str:
        # The output goes to a file, because the server inherits it and would keep a pipe open.
        with (self._data.parent / "postgres.log").open("w+") as output:
            command = [str(self._programs / program), *map(str, arguments)]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/", check=False, **self._user)
            output.seek(0)
            text = output.read()
        if done.returncode:
            raise SetupError(f"{program} ended with status {done.returncode}: {text.strip()[-500:]}")
        return text


def programs() -> Path:
    """Return the folder with PostgreSQL's programs. Debian doesn't put it into the PATH."""
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), *map(Path, os.get_exec_path())]
    for folder in folders:
        if (folder / "initdb").exists():
            return folder
    raise SetupError("PostgreSQL can't be found; get it: apt install postgresql")


class Hivemind:
    """hivemind: its processes `sync` and `server`, which share a database."""

    def __init__(self, folder: Path, installed: tuple[str, Path], database: Postgres, node: str, types: str) -> None:
        self.database, self._folder = database, folder
        self._python, self._code = installed
        self._node, self._types = node, types
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._port, self.restarts = free_port(), 0

    def start(self, mode: str, *more: str) -> None:
        """Start `sync` or `server`. `more` are additional options."""
        environment = {**os.environ, "PYTHONPATH": str(self._code), "COMMUNITY_TYPES": self._types, "PYTHONWARNINGS": "ignore", "TZ": "UTC"}
        # Its server caches answers in Redis or, without one, in its memory. Its `sync` would only remove entries from Redis.
        cache = "memory://" if mode == "server" else ""
        options = [f"--database-url={self.database.url}", f"--steemd-url={self._node}", f"--redis-url={cache}", *more]
        options += [f"--http-server-port={self._port}"] if mode == "server" else []
        with self.log(mode).open("ab") as log:
            command = [self._python, str(HERE / "launch.py"), mode, *options]
            self._processes[mode] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._folder, env=environment
            )
        if mode == "server":
            wait_until(self._answers, START_SECONDS_MAX, "hivemind's server answers")

    def stop(self, mode: str) -> None:
        """Kill a process, as a container would after its grace period."""
        process = self._processes.pop(mode, None)
        if process is not None:
            process.kill()
            process.wait()

    def end(self) -> None:
        for mode in list(self._processes):
            self.stop(mode)

    def log(self, mode: str) -> Path:
        """Return the path of the file with a process's output."""
        return self._folder / f"hive-{mode}.log"

    def is_running(self, mode: str) -> bool:
        """Whether a process was started and hasn't ended."""
        return mode in self._processes and self._processes[mode].poll() is None

    def head(self) -> int:
        """Return the number of the newest block that hivemind has indexed."""
        try:
            return int(self.database.query("SELECT coalesce(max(num), 0) FROM hive_blocks")[0][0])
        except SetupError:
            return 0  # there are no tables yet

    def stored_head(self) -> int:
        """Return the number of the node's head block at the time when `sync` last read the node's properties."""
        return int(self.database.query("SELECT block_num FROM hive_state")[0][0])

    def restart_ended(self) -> None:
        """Start `sync` again if it has ended, as a container does. It ends when a fork is deeper than its buffer. It then ends at every
        start until the block before the fork is irreversible. Raises SetupError with the end of the log after too many restarts.
        """
        if not self.is_running("sync"):
            self.restarts += 1
            if self.restarts > RESTARTS_MAX:
                raise SetupError(f"hivemind ended at block {self.head()}: {errors(self.log('sync'))}")
            time.sleep(RESTART_SECONDS)
            self.start("sync")

    def wait_for_block(self, number: int) -> None:
        """Wait until hivemind has indexed a block. Raises SetupError if that takes too long."""

        def is_there() -> bool:
            self.restart_ended()
            return self.head() >= number

        wait_until(is_there, SYNC_SECONDS_MAX, f"hivemind has block {number}")

    def call(self, method: str, params: Any) -> Any:
        """Return the response of hivemind's server to a call."""
        return post("127.0.0.1", self._port, method, params)

    def _answers(self) -> bool:
        if not self.is_running("server"):
            raise SetupError(f"hivemind's server ended: {errors(self.log('server'))}")
        try:
            return "result" in self.call("hive.db_head_state", {})
        except OSError:
            return False


def errors(log: Path) -> str:
    """Return the last error in a log of hivemind, without the statistics that the log contains."""
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if "hive.utils.stats" not in line]
    return "\n".join(lines[-8:])


def post(host: str, port: int, method: str, params: Any) -> Any:
    """Return the decoded response to a call."""
    connection = http.client.HTTPConnection(host, port, timeout=60)
    try:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        connection.request("POST", "/", body, {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def wait_until(is_true: Any, seconds_max: float, what: str) -> None:
    """Wait until the condition is true. Raises SetupError if that takes too long."""
    latest = time.monotonic() + seconds_max
    while not is_true():
        if time.monotonic() > latest:
            raise SetupError(f"after {seconds_max:.0f} s it isn't true that {what}")
        time.sleep(0.2)
