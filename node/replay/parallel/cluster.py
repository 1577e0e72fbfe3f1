"""Verifies ranges as tasks of a Ray cluster. Ray retries a task whose worker died, on another machine if necessary.

Workers need coind with its libraries, and the same paths to the blocks and snapshots as this process (a shared folder).
"""

from typing import Any

from node.replay.parallel.range_progress import RangeProgress
from node.replay.parallel.ranges import Range, RangeResult, verify_range
from node.runtime.errors import NodeError
from node.runtime.install_location import IS_INSTALLED, own_environment
from node.runtime.optional_libraries import load_extra

RETRIES = 2
POLL_SECONDS = 0.5


def verify_on_ray(ranges: list[Range], address: str, progress: RangeProgress) -> None:
    """Verify ranges on a Ray cluster: `address` is `ray://HOST:PORT`, or `ray:N` for a temporary local cluster with N workers.

    Raises NodeError if no cluster answers.
    """
    ray = load_extra("ray", "ray", what="--parallel ray://")
    connect(ray, address)
    try:
        run(ray, ranges, progress)
    finally:
        ray.shutdown()


def connect(ray: Any, address: str) -> None:
    """Connect to the cluster at `address`, or start a local one. Raises NodeError."""
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


def run(ray: Any, ranges: list[Range], progress: RangeProgress) -> None:
    """Run all ranges on the cluster, and report their progress and results."""
    actor = ray.remote(num_cpus=0)(ProgressActor).remote()
    task = ray.remote(num_cpus=1, max_retries=RETRIES)(verify)
    waiting = {task.remote(part, index, actor): index for index, part in enumerate(ranges)}
    while waiting:
        done, _ = ray.wait(list(waiting), num_returns=1, timeout=POLL_SECONDS)
        for reference in done:
            index = waiting.pop(reference)
            try:
                progress.end(index, ray.get(reference))
            except (ray.exceptions.RayError, ray.exceptions.RayTaskError) as error:
                progress.end(index, RangeResult(failure=f"its task failed: {str(error).strip().splitlines()[-1]}"))
        for index, number in ray.get(actor.get.remote()).items():
            progress.reach(index, number)


class ProgressActor:
    """Ray actor that stores the number of the current block of each range."""

    def __init__(self) -> None:
        self._at: dict[int, int] = {}

    def put(self, index: int, number: int) -> None:
        """Set the current block of a range."""
        self._at[index] = number

    def get(self) -> dict[int, int]:
        """Return the current blocks of all started ranges."""
        return self._at


def verify(part: Range, index: int, actor: Any) -> RangeResult:
    """Verify a range in a Ray worker."""
    return verify_range(part, lambda number: actor.put.remote(index, number))
