"""A chain that follows another one: whatever happens there, both end with the same state."""

from node.following.events import Event, NewBlock, Undone
from node.following.follower import Follower
from node.node import Settings, Site
from state.chain.digest import state_digest
from state.chain.edits import SetBalance
from state.chain.moves import Move
from state.protocol.transaction import SignedBlock
from state.protocol.values.asset import COIN, Asset
from tests.helpers.nodes import DEV, transfer


class Followed:
    """A chain that is driven by hand, and one that follows it."""

    def __init__(self, witnesses: int = 1) -> None:
        from node.driving.modes import BlockMode

        settings = Settings(spec=DEV, plugins=(), is_producing=True, blocks=BlockMode("manual"), witnesses=witnesses, clock=lambda: 10**12)
        self.owner, self.replica = Site(settings), Site(settings)
        self.chain, self.driver = self.owner.chain, self.owner.driver
        self.additions = self.owner.additions
        self.events: list[Event] = []
        self.chain.on_moved.append(self._moved)
        self.additions.on_changed.append(self._changed)
        self.replica.driver.is_producing = False
        self.follower = Follower(self.replica.chain, self.replica.additions, begin_anew=self.replica.driver.reset)
        self.driver.make_first_blocks()

    def new(self, block: SignedBlock) -> NewBlock:
        """The event of a block."""
        packed = self.chain.state.wire.pack_block(block)
        return NewBlock(block.number, block.id, packed, self.additions.edits_of(block.id), self.additions.accepted_of(block.id))

    def _moved(self, move: Move) -> None:
        if move.popped:
            self.events.append(Undone(move.popped[-1].number, move.popped[0].number))
        self.events += [self.new(block) for block in move.applied]

    def _changed(self, number: int) -> None:
        """Send the blocks from a number on anew."""
        block = self.chain.block_by_number(number)
        if block is not None:
            self.events.append(self.new(block))

    def follow(self) -> None:
        """Let the follower have what has happened."""
        self.follower.apply(*self.events)
        self.events.clear()
        mine, other = self.chain, self.replica.chain
        waiting = mine.checkpoint()
        mine.clear_pending()
        assert other.state.props.head_block_id == mine.state.props.head_block_id
        assert state_digest(other.state) == state_digest(mine.state)
        mine.return_to(waiting)
        self.events.clear()


def test_blocks_edits_and_undone_blocks() -> None:
    world = Followed()
    world.follow()
    world.chain.push_transaction(transfer(world.chain))
    list(world.driver.mine(3))
    world.chain.edit(SetBalance("alice", Asset(5, COIN)))
    world.follow()
    world.chain.edit(SetBalance("bob", Asset(7, COIN)))
    list(world.driver.mine(2))
    world.follow()
