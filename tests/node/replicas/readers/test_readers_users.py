"""Users of a node with reader processes, over each protocol. They get the same replies from every process."""

from tests.helpers.users import uses_each_way
from tests.helpers.ways import node_here


async def test_users_are_served_over_each_protocol() -> None:
    async with node_here(readers=1) as owner:
        await uses_each_way(owner, owner.port, 2)
