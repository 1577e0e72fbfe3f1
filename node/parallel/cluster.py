"""Verifies ranges as tasks of a Ray cluster. A task whose worker has died is tried again by Ray, elsewhere if need be.

Workers need this program and its libraries, and the blocks and snapshots under the same paths as here (a shared folder).
"""

from typing import Any

from node.extras import load_extra
from node.failures import NodeError
from node.parallel.board import Board
from node.parallel.ranges import Outcome, Range, verify_range
from node.place import IS_INSTALLED, own_environment

RETRIES = 2
POLL_SECONDS = 0.5


def verify_on_ray(ranges: list[Range], address: str, board: Board) -> None:
    """Verify ranges on the cluster at `ray://HOST:PORT`, or with `ray:N` on one that is started here for it with N workers.

    Raises NodeError when there is none at the address.
    """
    ray = load_extra("ray", "ray", what="--parallel ray://")
    connect(ray, address)
    try:
        run(ray, ranges, board)
    finally:
        ray.shutdown()


def connect(ray: Any, address: str) -> None:
    """Connect to a cluster, or start one."""
    environment = {} if IS_INSTALLED else {"env_vars": {"PYTHONPATH": own_environment()["PYTHONPATH"]}}
    try:
        if address.startswith("ray://"):
            load_extra("grpc", "ray", what="--parallel ray://")
            ray.init(address, runtime_env=environment, log_to_driver=False, logging_level="error")
        else:
            ray.init(
                num_cpus=int(address.removeprefix("ray:")),
                runtime_env=environment,
                include_dashboard=False,
                log_to_driver=False,
                logging_level="error",
            )
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise NodeError(f"--parallel {address}: no cluster answers: {error}") from None


def run(ray: Any, ranges: list[Range], board: Board) -> None:
    """Give every range to the cluster, and put what comes back on the board."""
    reached = ray.remote(num_cpus=0)(Reached).remote()
    task = ray.remote(num_cpus=1, max_retries=RETRIES)(verify)
    waiting = {task.remote(part, place, reached): place for place, part in enumerate(ranges)}
    while waiting:
        done, _ = ray.wait(list(waiting), num_returns=1, timeout=POLL_SECONDS)
        for reference in done:
            place = waiting.pop(reference)
            try:
                board.end(place, ray.get(reference))
            except (ray.exceptions.RayError, ray.exceptions.RayTaskError) as error:
                board.end(place, Outcome(failure=f"its task has failed: {str(error).strip().splitlines()[-1]}"))
        for place, number in ray.get(reached.get.remote()).items():
            board.reach(place, number)


class Reached:
    """An actor that holds how far each range has come."""

    def __init__(self) -> None:
        self._at: dict[int, int] = {}

    def put(self, place: int, number: int) -> None:
        """Note the block that a range has come to."""
        self._at[place] = number

    def get(self) -> dict[int, int]:
        """Return the blocks of all ranges that have begun."""
        return self._at


def verify(part: Range, place: int, reached: Any) -> Outcome:
    """Verify a range in a worker."""
    return verify_range(part, lambda number: reached.put.remote(place, number))
