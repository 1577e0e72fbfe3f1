"""A node in a container, for tests of services (docs/test-suites.md). It needs the extra testcontainers, and an image of coind.

```py
from coind.testing.containers import CoindContainer
```
"""

from functools import cached_property
from typing import Any

from node.client.dev_api import CallRefused, DevApi
from node.client.errors import RefusedCall
from node.client.http import Client
from node.runtime.optional_libraries import load_extra

load_extra("testcontainers", "testcontainers", what="coind.testing.containers")

from testcontainers.core.container import DockerContainer  # noqa: E402 - after the check that it is installed
from testcontainers.core.wait_strategies import HttpWaitStrategy  # noqa: E402

PORT = 8090


class RemoteChain(DevApi):
    """The chain of a running node. `url` is its address for clients."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = Client(url)

    def call(self, method: str, params: Any = None) -> Any:
        """Call an RPC method and return its result. Raises CallRefused, and NodeError if the node doesn't answer."""
        try:
            return self._client.call(method, {} if params is None else params)
        except RefusedCall as error:
            raise CallRefused(method, error.error) from None


class CoindContainer(DockerContainer):  # type: ignore[misc]  # not installed here
    """A container with a node. It is ready once the node answers.

    `options` are further options of `coind run`. Everyone who can reach the published port can call dev_api.
    """

    def __init__(
        self, image: str = "coind", *, chain: str = "dev", blocks: str = "instant", options: tuple[str, ...] = (), **given: Any
    ) -> None:
        super().__init__(image, **given)
        self.with_exposed_ports(PORT).with_env("COIND_DATA", "")
        self.with_command(["run", "--allow-debug", "--chain", chain, "--blocks", blocks, "--quiet", *options])
        self.waiting_for(HttpWaitStrategy(PORT, "/health"))

    @cached_property
    def chain(self) -> RemoteChain:
        """The node's chain."""
        return RemoteChain(f"http://{self.get_container_host_ip()}:{self.get_exposed_port(PORT)}")
