"""Blocks: later."""

from tests.dearest.world import World


async def search_blocks(world: World, only: str) -> bool:
    """Later."""
    return True
