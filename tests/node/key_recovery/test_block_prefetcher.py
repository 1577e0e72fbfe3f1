"""Prefetching of keys for blocks: order, limits and errors. The resulting chain and the refusals are the same as without prefetching."""

import gzip
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import trio

from node.history.apply import BlockRefused, ChainCursor, replay
from node.key_recovery import block_prefetcher
from node.key_recovery.block_prefetcher import BlockPrefetcher
from node.key_recovery.pool import COMMAND, Pool
from node.runtime.errors import FileError
from node.storage.blockfile import BlockFile
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.genesis import new_state
from state.chain.skip import TRUSTED, Skip
from state.chain.slots import scheduled_witness, slot_time
from state.protocol.keys.keys import derive_secret
from state.protocol.keys.records import RECORD_SIZE
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import SignedBlock, SignedTransaction, Wire, frame
from tests.helpers.chains import genesis_spec
from tests.helpers.golden import fails, same_as_golden
from tests.helpers.nodes import SECRET, case_log, dev_chain, json_lines, make_block, transfer
from tests.node.key_recovery.test_pool import PATIENCE, PROGRAM, records
from tests.state.protocol.test_recovered import WAYS

BLOCKS, BAD = 12, 9


def warm_pool(command: Sequence[str] = COMMAND) -> Callable[[int], Pool]:
    """Return a factory of pools whose processes have already answered a batch, so that later answers always arrive in time."""

    def made(workers: int) -> Pool:
        pool = Pool(workers, command)
        for _ in range(workers):
            batch = pool.give(records(1))
            if batch is not None:
                pool.wait(batch, PATIENCE)
        return pool

    return made


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start processes even for a few blocks, use small batches, and wait for every answer of a process."""
    monkeypatch.setattr(block_prefetcher, "RECORDS_BEFORE_START", 1)
    monkeypatch.setattr(block_prefetcher, "BATCH_RECORDS", 5)
    monkeypatch.setattr(block_prefetcher, "BATCH_BLOCKS", 3)
    monkeypatch.setattr(block_prefetcher, "WAIT_SECONDS", PATIENCE)
    monkeypatch.setattr(block_prefetcher, "Pool", warm_pool())


def chain_of(count: int = BLOCKS) -> tuple[Wire, list[SignedBlock]]:
    """Make `count` blocks of a dev chain. Each but the first has two transfers."""
    maker = dev_chain()
    made = [make_block(maker)]
    for number in range(1, count):
        for place in range(2):
            maker.push_transaction(transfer(maker, f"{number} {place}"))
        made.append(make_block(maker))
    return maker.state.wire, made


def replayed(path: Path, workers: int, spec: str = "dev", skip: int = Skip.NOTHING, until: int | None = None) -> Chain:
    """Replay a file, and return the resulting chain."""
    chain = Chain(new_state(genesis_spec(spec)))
    blocks = BlockFile(path, chain.state.wire)
    cursor = ChainCursor(chain, blocks, skip_flags=skip, workers=workers)
    assert trio.run(lambda: replay(cursor, until=until))
    return chain


def refusal(path: Path, workers: int) -> str:
    """Replay a file that is refused, and return the error message."""
    with pytest.raises(BlockRefused) as refused:
        replayed(path, workers)
    return str(refused.value)


def log_of(wire: Wire, blocks: list[SignedBlock]) -> bytes:
    """Encode blocks as a block log."""
    data = b""
    for block in blocks:
        data += frame(wire.pack_block(block), len(data))
    return data


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("form", ["log", "gzip", "lines"])
def test_every_form_leads_to_the_same_state(tmp_path: Path, form: str, plain_recoveries: list[bytes]) -> None:
    wire, blocks = chain_of()
    data = json_lines(wire, blocks) if form == "lines" else log_of(wire, blocks)
    (tmp_path / "file").write_bytes(gzip.compress(data) if form == "gzip" else data)
    plain_recoveries.clear()
    expected = state_digest(replayed(tmp_path / "file", 0).state)
    assert len(plain_recoveries) == 1 + 3 * (BLOCKS - 1)
    for workers in (1, 3):
        plain_recoveries.clear()
        assert state_digest(replayed(tmp_path / "file", workers).state) == expected
        assert plain_recoveries == []


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("case", ["tx_validity", "block_feed"])
def test_recorded_logs_lead_to_the_same_state(case: str) -> None:
    states = [state_digest(replayed(case_log(case), workers, "steem-testnet").state) for workers in (0, 1, 3)]
    assert len(set(states)) == 1


@pytest.mark.usefixtures("eager")
def test_a_replay_can_end_early(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(log_of(*chain_of())[:-20])
    assert replayed(tmp_path / "log", 1, until=5).state.props.head_block_number == 5
    # The error for unreadable data is raised after the blocks before it are applied.
    assert refusal(tmp_path / "log", 1) == refusal(tmp_path / "log", 0)
    assert refusal(tmp_path / "log", 1).startswith(f"block {BLOCKS}: ")


# ------------------------------------------------------------------ wrong signatures

# Changed signatures that can be valid: the chain's check compares in the wrong byte order and so accepts a quarter of the high ones, and it
# ignores the bit for compressed keys.
VALID = ("high", "uncompressed")


def is_refused(path: Path) -> bool:
    """Whether a replay of this file without worker processes refuses a block."""
    try:
        replayed(path, 0)
    except BlockRefused:
        return True
    return False


def joint_transfer(maker: Chain, place: int, change: Callable[[bytes], bytes]) -> SignedTransaction:
    """Make a transaction that needs three signatures, and change the one at index `place`."""
    trx = transfer(maker, "joint")
    operations = [trx.operations[0]]
    for name in ("bob", "carol"):
        value = {"from": name, "to": "alice", "amount": "0.001 COIN", "memo": ""}
        made = maker.state.wire.transaction_from_json({"operations": [["transfer", value]]}, legacy=True)
        operations += made.operations
    trx.operations = tuple(operations)
    maker.state.wire.seal(trx)
    digest = maker.state.wire.signature_digest(trx)
    signatures = [sign(derive_secret(name, "active", "dev"), digest, Canonical.bip_0062) for name in ("alice", "bob", "carol")]
    signatures[place] = change(signatures[place])
    trx.signatures = tuple(signatures)
    return maker.state.wire.seal(trx)


def with_bad(where: str, change: Callable[[bytes], bytes]) -> tuple[Wire, list[SignedBlock]]:
    """Make blocks in which one signature of block BAD is changed. `where` selects the signature."""
    maker = dev_chain()
    made = [make_block(maker)]
    for number in range(2, BLOCKS + 1):
        maker.push_transaction(transfer(maker, f"{number}"))
        if number == BAD and where != "header":
            trx = transfer(maker, "bad")
            if where == "transaction":
                trx.signatures = (change(trx.signatures[0]),)
                maker.state.wire.seal(trx)
            else:
                trx = joint_transfer(maker, int(where), change)
            maker.push_transaction(trx, Skip.TRANSACTION_SIGNATURES)
        state = maker.state
        block = maker.generate_block(slot_time(state, 1), scheduled_witness(state, 1), SECRET, Skip.TRANSACTION_SIGNATURES)
        if number == BAD and where == "header":
            block.witness_signature = change(block.witness_signature)
            block = state.wire.seal_block(block)
            made.append(block)
            break
        made.append(block)
    return maker.state.wire, made


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("where", ["header", "transaction", "0", "2"])
@pytest.mark.parametrize("way", [way for way in WAYS if way != "good"])
def test_a_wrong_signature_is_refused_with_the_same_text(tmp_path: Path, where: str, way: str) -> None:
    (tmp_path / "log").write_bytes(log_of(*with_bad(where, WAYS[way])))
    if way in VALID and not is_refused(tmp_path / "log"):
        replayed(tmp_path / "log", 1)
        return
    expected = refusal(tmp_path / "log", 0)
    assert expected.startswith(f"block {BAD}: ")
    assert refusal(tmp_path / "log", 1) == expected


# ------------------------------------------------------------------ processes that fail

LIE = (
    PROGRAM
    + """
while True:
    n, size = struct.unpack("<III", os.read(0, 12))[:2]
    data = os.read(0, size)
    keys = recover_records(data)
    if size > 97:
        keys = keys[:-33] + keys[:33]
    answer(n, data, keys)
"""
)


@pytest.mark.usefixtures("eager")
def test_a_wrong_key_refuses_no_valid_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The process returns a right key at the sampled index and a wrong one elsewhere. A valid block then seems to have the signature of
    another witness.
    """
    monkeypatch.setattr("random.randrange", lambda count: 0)
    monkeypatch.setattr(block_prefetcher, "Pool", warm_pool((sys.executable, "-P", "-c", LIE)))
    (tmp_path / "log").write_bytes(log_of(*chain_of()))
    expected = state_digest(replayed(tmp_path / "log", 0).state)
    assert state_digest(replayed(tmp_path / "log", 2).state) == expected
    (reason,) = {record.values["reason"] for record in caplog.records if hasattr(record, "values")}
    same_as_golden(reason)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("program", ["", "import time; time.sleep(60)", LIE.replace("keys[:-33]", "keys[33:]")])
def test_a_replay_goes_on_without_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(block_prefetcher, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr("node.key_recovery.pool.HANGING_SECONDS", 0.1)
    monkeypatch.setattr(block_prefetcher, "Pool", lambda workers: Pool(workers, (sys.executable, "-P", "-c", program)))
    (tmp_path / "log").write_bytes(log_of(*chain_of()))
    expected = state_digest(replayed(tmp_path / "log", 0).state)
    assert state_digest(replayed(tmp_path / "log", 2).state) == expected


# ------------------------------------------------------------------ how much is done ahead


class Source:
    """Iterator of blocks that counts the blocks read, and raises an error at its end."""

    def __init__(self, blocks: list[SignedBlock]) -> None:
        self.blocks, self.read = blocks, 0

    def __iter__(self) -> Iterator[SignedBlock]:
        for block in self.blocks:
            self.read += 1
            yield block
        raise FileError("the rest is torn")


class Untouched(Pool):
    """A pool that records the size of each batch but accepts none."""

    def __init__(self) -> None:
        super().__init__(0)
        self.given: list[int] = []

    def give(self, records: bytes) -> None:
        self.given.append(len(records) // RECORD_SIZE)


@pytest.mark.parametrize("bound", ["AHEAD_BLOCKS_MAX", "AHEAD_SIZE_MAX"])
def test_prefetching_is_bounded(monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    monkeypatch.setattr(block_prefetcher, "RECORDS_BEFORE_START", 10)
    monkeypatch.setattr(block_prefetcher, "BATCH_RECORDS", 6)
    wire, blocks = chain_of(30)
    monkeypatch.setattr(block_prefetcher, bound, 8 if bound == "AHEAD_BLOCKS_MAX" else 8 * blocks[-1].size)
    source, pool = Source(blocks), Untouched()
    following = iter(BlockPrefetcher(source, wire, 1, Skip.NOTHING, lambda workers: pool))
    for number, block in enumerate(blocks, 1):
        assert next(following) is block
        # Two blocks with three signatures each make a batch. The batch in progress counts too.
        assert source.read - number <= 10
        assert number != 4 or source.read >= 8
    with fails(FileError):
        next(following)
    # No process starts before there is enough work. Then all batches are sent in order.
    assert pool.given[0] + sum(pool.given[1:]) < sum(1 + len(block.transactions) for block in blocks)
    assert set(pool.given[:-1]) <= {6, 7}


def test_few_signatures_or_trusted_blocks_start_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(workers: int) -> Pool:
        raise AssertionError("no process is needed")

    monkeypatch.setattr(block_prefetcher, "Pool", forbidden)
    (tmp_path / "log").write_bytes(log_of(*chain_of()))
    assert replayed(tmp_path / "log", 1).state.props.head_block_number == BLOCKS
    monkeypatch.setattr(block_prefetcher, "RECORDS_BEFORE_START", 1)
    assert replayed(tmp_path / "log", 1, skip=TRUSTED).state.props.head_block_number == BLOCKS
    assert replayed(tmp_path / "log", 0).state.props.head_block_number == BLOCKS
    with pytest.raises(AssertionError, match="no process is needed"):
        replayed(tmp_path / "log", 1)
