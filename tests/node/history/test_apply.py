"""Replays: recorded logs in every format, blocks of the public chain, the block number in refusals, and positions at which a replay can
stop.
"""

import io
import os
from pathlib import Path

import pytest
import trio

from node.app.context import NodeContext
from node.app.local_chain import LocalChain
from node.app.settings import Settings
from node.history.apply import BlockPoint, BlockRefused, ChainCursor, keep_last_block_only, replay
from node.history.sources import Pipe
from node.replay.run import Replay, replay_file
from node.runtime.errors import FileError, NodeError
from node.runtime.progress import Progress
from node.specs.builder import load_spec
from node.specs.plugins import chosen_plugins
from node.storage.blockfile import BlockFile
from rpc.push.header import edits_fingerprint
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.genesis import new_state
from state.chain.partial_block import apply_partial_block
from state.chain.skip import TRUSTED, Skip
from state.chain.state_edits import SetBalance
from state.chain.transactions import apply_transaction
from state.plugins.registry import enable
from state.protocol.errors import ChainError, Refused
from state.protocol.transaction import frame
from state.protocol.values.asset import COIN, Asset
from tests.conftest import CASES, MAINNET, read_json
from tests.helpers.chains import genesis_spec
from tests.helpers.golden import fails, same_as_golden
from tests.helpers.nodes import block_at, case_log, case_wire, dev_chain, empty_blocks, json_lines, make_block, transfer

HEAD_100 = "00000064"


async def replayed(path: Path, spec: str = "steem-testnet", *, skip: int = Skip.NOTHING, until: BlockPoint | int | None = None) -> Chain:
    """Replay a file, and return the resulting chain."""
    chain = Chain(new_state(genesis_spec(spec)))
    blocks = BlockFile(path, chain.state.wire)
    assert await replay(ChainCursor(chain, blocks, skip_flags=skip), until=until)
    return chain


@pytest.mark.parametrize("case", ["tx_validity", "block_feed"])
@pytest.mark.parametrize("skip", [Skip.NOTHING, TRUSTED])
async def test_a_recorded_log_is_applied(case: str, skip: int) -> None:
    chain = await replayed(case_log(case), skip=skip)
    recorded = read_json(CASES / case / "case.json")
    props = chain.state.props
    assert (props.head_block_number, props.head_block_id.hex()) == (recorded["head_block_number"], recorded["head_block_id"])


async def test_a_witness_that_the_spec_lacks_is_named(tmp_path: Path) -> None:
    chain = LocalChain(witnesses=3)
    chain.mine(10)
    path = tmp_path / "blocks"
    path.write_bytes(json_lines(chain.chain.state.wire, [block_at(chain.chain, number) for number in range(1, 36)]))
    cursor = ChainCursor(Chain(new_state(load_spec("dev"))), BlockFile(path, chain.chain.state.wire))
    with fails(BlockRefused):
        await replay(cursor)


async def test_a_replay_can_end_within_a_block() -> None:
    """The state includes the block's header and its first transactions, which are pending. The complete block can still be applied."""
    wire = case_wire()
    block = max(BlockFile(case_log("tx_validity"), wire), key=lambda block: len(block.transactions))
    most = len(block.transactions)
    assert most > 1
    digests = []
    for count in range(most + 1):
        chain = await replayed(case_log("tx_validity"), until=BlockPoint(block.number, count))
        by_hand = await replayed(case_log("tx_validity"), until=block.number - 1)
        by_hand.state.set_props(current_witness=block.witness)
        for trx in block.transactions[:count]:
            apply_transaction(by_hand.state, trx)
        assert chain.state.props.head_block_number == block.number - 1
        assert [trx.id for trx in chain.pending] == [trx.id for trx in block.transactions[:count]]
        assert state_digest(chain.state) == state_digest(by_hand.state)
        digests.append(state_digest(chain.state))
        chain.push_block(block)
        assert not chain.pending
        assert state_digest(chain.state) == state_digest((await replayed(case_log("tx_validity"), until=block.number)).state)
    assert len(set(digests)) == most + 1
    with fails(NodeError):
        await replayed(case_log("tx_validity"), until=BlockPoint(block.number, most + 1))


async def test_plugins_treat_transactions_of_a_partial_block_as_pending() -> None:
    spec = genesis_spec("steem-testnet")
    chain = Chain(new_state(spec, lambda fresh: enable(fresh, chosen_plugins(spec))))
    blocks = BlockFile(case_log("rewards"), chain.state.wire)
    assert await replay(ChainCursor(chain, blocks), until=BlockPoint(88, 3))
    history = chain.state.plugins["account_history"].recorded
    read = history.reader()
    found = [read(index) for index in range(len(history)) if history.block_at(index) == 88]
    operations = [operation for trx in chain.pending for operation in trx.operations]
    assert [(entry.trx_in_block, entry.operation) for entry in found if not entry.operation.VIRTUAL] == [
        (place, operation) for place, trx in enumerate(chain.pending) for operation in trx.operations
    ]
    assert len(operations) > 3
    assert all(chain.state.plugins["transaction_status"].waiting[trx.id] for trx in chain.pending)


async def test_a_refused_partial_block_is_undone() -> None:
    blocks = list(BlockFile(case_log("tx_validity"), case_wire()))
    number = next(block.number for block in blocks if block.transactions)
    chain = await replayed(case_log("tx_validity"), until=number - 2)
    before = state_digest(chain.state)
    with pytest.raises(ChainError):
        apply_partial_block(chain, blocks[number - 1], 1)
    assert (state_digest(chain.state), list(chain.pending)) == (before, [])


async def test_the_first_thousand_blocks_of_the_public_chain() -> None:
    chain = await replayed(MAINNET / "blocks-1-1000.jsonl.gz", "steem-mainnet")
    assert chain.state.props.head_block_id.hex() == "000003e8b922f4906a45af8e99d86b3511acd7a5"


def with_flipped_bit(path: Path) -> int:
    """Write the blocks of the test case tx_validity, with one bit flipped in a transaction's signature. Return the number of the changed
    block.
    """
    wire = case_wire()
    data = bytearray(case_log("tx_validity").read_bytes())
    block = next(block for block in BlockFile(case_log("tx_validity"), wire) if block.transactions)
    data[data.index(block.transactions[0].signatures[0]) + 40] ^= 1
    path.write_bytes(data)
    return block.number


async def test_a_flipped_bit_in_a_block_signature_is_refused(tmp_path: Path) -> None:
    wire, blocks = empty_blocks(4)
    good = blocks[2].witness_signature
    bad = bytes((*good[:50], good[50] ^ 4, *good[51:]))
    lines = json_lines(wire, blocks).replace(good.hex().encode(), bad.hex().encode())
    (tmp_path / "lines").write_bytes(lines)
    with fails(BlockRefused):
        await replayed(tmp_path / "lines", "dev")
    # A trusted replay doesn't check the signature, but the block's id has changed, so the next block doesn't follow it.
    with fails(BlockRefused):
        await replayed(tmp_path / "lines", "dev", skip=TRUSTED)


async def test_a_trusted_replay_accepts_a_log_without_signatures(tmp_path: Path) -> None:
    wire, blocks = empty_blocks(3)
    for before, block in zip([None, *blocks], blocks, strict=False):
        block.witness_signature, block.packed = bytes(65), b""
        block.previous = block.previous if before is None else before.id
        wire.seal_block(block)
    (tmp_path / "lines").write_bytes(json_lines(wire, blocks))

    def cursor(skip: int) -> ChainCursor:
        chain = Chain(new_state(genesis_spec("dev")))
        return ChainCursor(chain, BlockFile(tmp_path / "lines", wire), skip_flags=skip, signed=(1,))

    assert await replay(cursor(TRUSTED))
    with pytest.raises(BlockRefused):
        await replay(cursor(Skip.NOTHING))


def test_block_numbers_in_a_log_must_be_consecutive(tmp_path: Path) -> None:
    (tmp_path / "zeros").write_bytes(bytes(10_000))  # parsed as a sequence of blocks with number 1
    blocks = iter(BlockFile(tmp_path / "zeros", case_wire()))
    assert next(blocks).number == 1
    with fails(FileError):
        next(blocks)
    first, second, third = list(BlockFile(case_log("tx_validity"), case_wire()))[:3]
    data = b""
    for block in (first, third, second):
        data += frame(case_wire().pack_block(block), len(data))
    (tmp_path / "gap").write_bytes(data)
    with fails(FileError):
        list(BlockFile(tmp_path / "gap", case_wire()))


async def test_a_torn_pipe_is_applied_up_to_its_end() -> None:
    reading, writing = os.pipe()
    os.write(writing, case_log("rewards").read_bytes()[:15000])
    os.close(writing)
    chain = Chain(new_state(genesis_spec("steem-testnet")))
    blocks = BlockFile(Path("a pipe"), chain.state.wire, pipe=Pipe(reading))
    with pytest.raises(BlockRefused) as refused:
        await replay(ChainCursor(chain, blocks))
    assert refused.value.number == chain.state.props.head_block_number + 1 == 53


async def test_a_pipe_can_have_blocks_of_another_chain() -> None:
    reading, writing = os.pipe()
    os.write(writing, case_log("rewards").read_bytes()[:15000])
    os.close(writing)
    chain = Chain(new_state(genesis_spec("dev")))
    with fails(BlockRefused):
        await replay(ChainCursor(chain, BlockFile(Path("a pipe"), chain.state.wire, pipe=Pipe(reading))))


async def test_reasons_use_the_symbols_of_the_chain(tmp_path: Path) -> None:
    wire, blocks = empty_blocks(1)
    (tmp_path / "lines").write_bytes(json_lines(wire, blocks))
    with pytest.raises(BlockRefused) as refused:
        await replayed(tmp_path / "lines", "steem-mainnet")
    assert "coin" not in refused.value.reason.lower()


async def test_a_trusted_replay_still_refuses_duplicate_transactions(tmp_path: Path) -> None:
    maker = dev_chain()
    make_block(maker)
    trx = transfer(maker, seconds=3000)
    maker.push_transaction(trx)
    blocks = [maker.block_by_number(1), make_block(maker)]
    (tmp_path / "lines").write_bytes(json_lines(maker.state.wire, [block for block in blocks if block]))
    chain = await replayed(tmp_path / "lines", "dev", skip=TRUSTED)
    with pytest.raises(Refused, match="Duplicate transaction check failed"):
        chain.push_transaction(chain.state.wire.transaction_from_json(maker.state.wire.transaction_to_json(trx)))


async def test_a_replay_stops_at_the_stop_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.history.apply.SLICE_SECONDS", 0)
    wire, blocks = empty_blocks(3)
    (tmp_path / "lines").write_bytes(json_lines(wire, blocks))
    chain, stop = dev_chain(), trio.Event()
    chain.on_head_change.append(lambda move: stop.set() if move.applied[-1].number == 2 else None)
    file = BlockFile(tmp_path / "lines", chain.state.wire)
    assert not await replay(ChainCursor(chain, file), stop=stop)
    assert chain.state.props.head_block_number == 2


def test_only_the_last_irreversible_block_is_kept() -> None:
    chain = dev_chain()
    keep_last_block_only(chain)
    for _ in range(60):
        make_block(chain)
    available = [number for number in range(1, 61) if chain.block_by_number(number) is not None]
    assert available == list(range(available[0], 61))
    assert chain.irreversible - 1 <= available[0] <= chain.irreversible


def test_edits_of_blocks_that_are_not_kept_count_in_the_fingerprint() -> None:
    whole, short = dev_chain(), dev_chain()
    keep_last_block_only(short)
    for chain in (whole, short):
        for number in range(1, 61):
            make_block(chain)
            if number in (5, 50):
                chain.edit(SetBalance("alice", Asset(number, COIN)))
    assert short.block_by_number(5) is None
    first, *later = [edits_fingerprint(whole, number) for number in (4, 5, 49, 50, 60)]
    assert not first
    assert all(later)
    assert [edits_fingerprint(short, number) for number in (4, 5, 49, 50, 60)] == [first, *later]


# ------------------------------------------------------------------ what is shown


class Screen(io.StringIO):
    """An output that can claim to be a terminal."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def test_progress_prints_a_line_every_few_seconds() -> None:
    now, out = 100.0, Screen(terminal=False)
    progress = Progress(1000, 20, out=out, seconds=lambda: now)
    for number in range(1, 11):
        now += 1
        progress.count(number, 3, number * 50)
    progress.close()
    assert out.getvalue().splitlines() == [
        "block 5 of 20, 15 transactions, 3 transactions/s, 1 blocks/s, 15 s left",
        "block 10 of 20, 30 transactions, 3 transactions/s, 1 blocks/s, 10 s left",
    ]


def test_the_time_left_counts_to_the_requested_end() -> None:
    now = 100.0
    progress = Progress(1000, 100, until=20, out=Screen(terminal=False), seconds=lambda: now)
    for number in range(1, 11):
        now += 1
        progress.count(number, 0, number * 50)
    same_as_golden(progress.line())


def test_the_time_left_ignores_blocks_before_the_start() -> None:
    now = 100.0
    progress = Progress(1000, 20, out=Screen(terminal=False), seconds=lambda: now)
    progress.begin(11, 500)
    for number in range(11, 16):
        now += 1
        progress.count(number, 0, number * 50)
    same_as_golden(progress.line())
    progress.begin(11, 1000)
    assert "left" not in progress.line()


def test_a_terminal_shows_a_progress_bar() -> None:
    now, out = 100.0, Screen(terminal=True)
    progress = Progress(1000, out=out, seconds=lambda: now)
    for number in range(1, 4):
        now += 1
        progress.count(number, 0, number * 50)
    progress.close()
    assert "block 3, 0 transactions" in out.getvalue()


def test_a_replay_can_check_invariants(capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(spec=genesis_spec("steem-testnet"), plugins=(), check_invariants=10)
    assert replay_file(settings, Replay(source=case_log("block_feed"))) == 0
    assert "state digest" in capsys.readouterr().out


def test_a_broken_invariant_stops_the_node() -> None:
    context = NodeContext(Settings(spec=genesis_spec("dev"), plugins=(), check_invariants=2))
    for _ in range(3):
        make_block(context.chain)
    context.require_sound()
    state = context.chain.state
    alice = state.account("alice")
    state.accounts.modify(alice, balance=alice.balance + 1)
    make_block(context.chain)
    assert context.stop.is_set()
    with fails(NodeError):
        context.require_sound()


def test_a_refused_replay_shows_how_far_it_got(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    number = with_flipped_bit(tmp_path / "log")
    with fails(BlockRefused):
        replay_file(Settings(spec=genesis_spec("steem-testnet"), plugins=()), Replay(source=tmp_path / "log"))
    assert capsys.readouterr().out.startswith(f"head block {number - 1} ")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with fails(NodeError):
        replay_file(Settings(spec=genesis_spec("dev"), plugins=()), Replay(source=tmp_path / "none"))
