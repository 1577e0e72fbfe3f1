"""Detects the chain that blocks belong to: the one named in their data folder, else the known chain that accepts the first blocks.

Chains differ in the signatures of their first blocks, and in constants such as the time of the genesis. Block 1 also shows whether the
accounts of a chain spec are created by blocks or at genesis.
"""

from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from node.history.sources import STANDARD_INPUT, is_pipe, open_source
from node.runtime import former_chains
from node.runtime.errors import FileError, NodeError
from node.snapshots.base import read_base
from node.specs.builder import load_spec, spec_names, with_accounts, with_main_chain_id, with_witnesses
from node.storage.blockfile import SYSTEM
from node.storage.blocklog import LOG_NAME
from node.storage.datafolder import ChainMark, FolderMark, as_marked, fork_in, mark_of, read_chain
from node.storage.spec_copy import PARSE_ERRORS, read_copy
from rpc.push.events import StreamHeader
from rpc.push.header import genesis_fingerprint
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.operations.accounts import AccountCreate
from state.protocol.constants import MAIN_CHAIN_ID
from state.protocol.errors import ChainError
from state.protocol.spec import ACCOUNTS_PER_BLOCK, ChainSpec
from state.protocol.transaction import Wire

ANY = "steem-mainnet"  # for checking whether a file contains blocks at all
FIRST_BLOCKS = 100  # at most as many are applied to tell chains apart


class _GenesisCopy(Struct):
    accounts: list[Any] = []
    witnesses: list[str] = []


class _SpecCopy(Struct):
    genesis: _GenesisCopy


class ChainUnclear(NodeError):
    """Error for blocks that belong to another chain than the given one, or whose chain can't be detected."""


class FormerChain(ChainUnclear):
    """Error for blocks of a chain with a former id. The message contains the spec for them."""


def detect_chain(path: Path, given: ChainSpec | None) -> ChainSpec:
    """Return the spec for the blocks at a path: `given`, or the detected one if `given` is None. `fitted` then adapts the spec to block 1.
    In a data folder with a fork file, the spec is that of the file.

    Raises ChainUnclear if the blocks contradict `given`, or if no chain is detected, and FileError for unreadable blocks. The blocks of a
    pipe are not compared with `given`.
    """
    if (fork := fork_in(path)) is not None:
        spec = read_base(fork)
        if given is not None and given.chain_id != spec.chain_id:
            raise ChainUnclear(f"{path}: the blocks belong to the chain {spec.name}, not to {given.name}")
        return spec
    if given is None:
        if not path.exists() and path != STANDARD_INPUT:
            raise FileError(f"{path}: No such file or folder")
        return fitted(stored_variant(load_spec(_chain_of(path)), path), path)
    given = stored_variant(given, path)
    if path.exists() and not is_pipe(path):
        _require_fitting(path, given)
    return fitted(given, path)


def stored_variant(spec: ChainSpec, path: Path) -> ChainSpec:
    """Return the variant of a spec that the data folder at a path belongs to (`recorded_variant`). If there is no data folder, or it is
    damaged, return the spec itself.
    """
    try:
        mark = _mark_at(path)
    except ChainUnclear:  # reading the blocks doesn't need the mark
        return spec
    return spec if mark is None else recorded_variant(spec, mark, read_copy(SYSTEM, _folder_of(path)))


def recorded_variant(spec: ChainSpec, mark: ChainMark, copy: bytes) -> ChainSpec:
    """Return the variant of a spec that fits a mark (`as_marked`), if necessary with the numbers of witnesses and accounts in `copy`, which
    the options --witnesses and --accounts have set. `copy` is the copy of the spec that was written with the mark.
    """
    found = as_marked(spec, mark)
    if mark_of(found).genesis != mark.genesis:
        with suppress(NodeError, *PARSE_ERRORS):
            genesis = msgspec.json.decode(copy, type=_SpecCopy).genesis
            counted = _with_account_count(with_witnesses(spec, 1 + len(genesis.witnesses)), len(genesis.accounts))
            other = as_marked(counted, mark)
            if mark_of(other).genesis == mark.genesis:
                return other
    return found


def followed_variant(spec: ChainSpec, header: StreamHeader) -> ChainSpec:
    """Return the variant of a spec that has the genesis of the chain with this stream header, if necessary with other numbers of witnesses
    and accounts. If there is none, return the spec itself.
    """
    with suppress(NodeError):
        named = with_main_chain_id(spec) if header.chain_id == MAIN_CHAIN_ID.hex() and spec.is_test else spec
        counted = _with_account_count(with_witnesses(named, header.witnesses), header.accounts)
        for in_blocks in (True, False):
            found = counted.with_accounts_in_blocks(in_blocks)
            if genesis_fingerprint(found) == header.genesis:
                return found
    return spec


def _with_account_count(spec: ChainSpec, count: int) -> ChainSpec:
    """Return the spec with `count` accounts, as `--accounts` adds and removes them. Raises NodeError."""
    accounts = spec.genesis.accounts
    return spec if count == len(accounts) else with_accounts(spec, count - sum(not account.password for account in accounts))


def fitted(spec: ChainSpec, path: Path) -> ChainSpec:
    """Return the variant of the spec that fits the first blocks at a path. If these create the spec's accounts, the accounts are created by
    blocks, including the additional ones of `--accounts`. Otherwise the accounts are created at genesis.

    Without block 1, or if the path is a pipe, the spec is unchanged.
    """
    accounts = spec.genesis.accounts
    created = _created_accounts(spec, path) if accounts and path.exists() and not is_pipe(path) else None
    if created is None:
        return spec
    spec = spec.with_accounts_in_blocks(accounts[0].name in created)
    if spec.genesis.accounts_in_blocks and [account.name for account in accounts] != created:
        with suppress(NodeError):
            other = _with_account_count(spec, len(created))
            if [account.name for account in other.genesis.accounts] == created:
                return other
    return spec


def _created_accounts(spec: ChainSpec, path: Path) -> list[str] | None:
    """Return the names of the accounts that the first witness creates in the first blocks. Return None if the source has no block 1."""
    created: list[str] | None = None
    with suppress(FileError), closing(open_source(path, Wire(spec))) as source:  # blocks of another chain, or none
        for number, block in enumerate(source, 1):
            if block.number != number:
                break
            operations = (operation for trx in block.transactions for operation in trx.operations if isinstance(operation, AccountCreate))
            names = [operation.new_account_name for operation in operations if operation.creator == spec.genesis.witness]
            created = [*(created or ()), *names]
            if len(names) < ACCOUNTS_PER_BLOCK:
                break
    return created


def _chain_of(path: Path) -> str:
    """Detect the chain of the blocks at a path, and return its name."""
    marked = _mark_at(path)
    if marked is not None and former_chains.advice(marked.chain_id):
        raise _former(path, marked.chain_id)
    if marked is not None and marked.name in spec_names():
        return marked.name
    found: list[str] = []
    if not is_pipe(path):
        open_source(path, Wire(load_spec(ANY))).close()
        found = _accepting(path, 1)
        # Chains with the same witness keys differ in the signatures of transactions.
        decided = _accepting(path, _deciding_block(path, load_spec(found[0]))) if len(found) > 1 else found
        if not decided:
            _require_current(path)
        found = decided or found
    if len(found) == 1:
        return found[0]
    which = f"{', '.join(found)} accept the first blocks" if found else f"The known chains are {', '.join(spec_names())}"
    raise ChainUnclear(f"{path}: the chain of these blocks is unknown. {which}")


def _require_fitting(path: Path, spec: ChainSpec) -> None:
    """Raise ChainUnclear if the folder belongs to another chain, or if `spec` refuses first blocks that a known chain accepts."""
    try:
        marked = _mark_at(path)
    except ChainUnclear:  # reading the blocks doesn't need the mark
        marked = None
    if marked is not None:
        found = [] if marked.chain_id == spec.chain_id.hex() else [marked.name]
        if found and former_chains.advice(marked.chain_id):
            raise _former(path, marked.chain_id)
    else:
        number = _deciding_block(path, spec)
        is_fitting = not number or _accepts(spec, path, number)
        found = [] if is_fitting else [name for name in _accepting(path, number) if name != spec.name]
        if not is_fitting and not found:
            _require_current(path)
    if found:
        raise ChainUnclear(f"{path}: the blocks belong to the chain {' or '.join(found)}, not to {spec.name}")


def _require_current(path: Path) -> None:
    """Raise FormerChain if the first blocks of a source belong to a chain with a former id. The caller has found no known chain that
    accepts them.
    """
    for chain_id in former_chains.FORMER:
        former = former_spec(chain_id)
        if _accepts(former, path, _deciding_block(path, former)):
            raise _former(path, chain_id)


def former_spec(chain_id: str) -> ChainSpec:
    """Return the spec of a chain with a former id."""
    spec = load_spec(former_chains.FORMER[chain_id]).with_accounts_in_blocks(False)
    return replace(spec, chain_id=bytes.fromhex(chain_id), genesis=replace(spec.genesis, vests_per_coin=1, recent_claims=0))


def _former(path: Path, chain_id: str) -> FormerChain:
    """Return the error for blocks of a chain with a former id."""
    return FormerChain(f"{path}: the blocks belong to the chain {chain_id[:8]}{former_chains.advice(chain_id)}")


def _folder_of(path: Path) -> Path:
    """Return the data folder that blocks at a path can belong to."""
    return path.parent if path.name == LOG_NAME and path.is_file() else path


def _mark_at(path: Path) -> FolderMark | None:
    """Return the contents of `chain.json` in the data folder at a path, or None. Raises ChainUnclear for a damaged folder."""
    folder = _folder_of(path)
    try:
        return read_chain(SYSTEM, folder) if folder.is_dir() else None
    except OSError as error:
        raise ChainUnclear(f"{error.filename or folder}: {error.strerror}") from None
    except FileError as error:
        raise ChainUnclear(str(error)) from None


def _deciding_block(path: Path, spec: ChainSpec) -> int:
    """Return the number of the first block with a transaction. If none of the first FIRST_BLOCKS blocks has a transaction, return the
    number of the last of these blocks. Return 0 if the blocks don't begin with block 1.
    """
    number = 0
    try:
        with closing(open_source(path, Wire(spec))) as source:
            for block in islice(source, FIRST_BLOCKS):
                if block.number != number + 1:
                    break
                number += 1
                if block.transactions:
                    break
    except FileError:  # possibly readable with another chain's spec
        number += 1
    return number


def _accepting(path: Path, number: int) -> list[str]:
    """Return the names of the known chains that accept the blocks of a source up to block `number`."""
    return [name for name in spec_names() if _accepts(load_spec(name), path, number)]


def _accepts(spec: ChainSpec, path: Path, number: int) -> bool:
    """Whether a chain at genesis accepts the blocks of a source up to block `number`."""
    chain = Chain(new_state(fitted(spec, path)))
    try:
        with closing(open_source(path, chain.state.wire)) as source:
            for block in source:
                chain.push_block(block)
                if block.number >= number:
                    return chain.state.props.head_block_number == number
    except (ChainError, NodeError):
        pass
    return False
