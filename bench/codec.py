"""Measures the wire format: CPU microseconds per transaction, and multiples of one key recovery of the same run.

Run: .venv/bin/python -m bench.codec [block_log ...]         (default: the block logs of the recorded cases)
"""

import gzip
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import state.operations  # noqa: F401 - fills the registry
from bench.store import Report, best, quiet_collector
from node.specs.builder import load_spec
from state.protocol.keys.signatures import Canonical
from state.protocol.operation import SMT_TAGS
from state.protocol.transaction import SignedTransaction, Wire, frames

CASES = Path(__file__).resolve().parent.parent / "tests" / "conformance" / "cases"
SINGLE = ("transfer", "vote", "comment")
SAMPLE = 4000


def read_log(path: Path) -> bytes:
    """Read a block log, plain or gzipped."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def transactions(wire: Wire, paths: list[Path]) -> list[SignedTransaction]:
    """Return all transactions of block logs, except those that the condenser can't parse."""
    found: list[SignedTransaction] = []
    for path in paths:
        log = read_log(path)
        for start, _ in frames(log):
            found += wire.unpack_block(log, start)[0].transactions
    return [trx for trx in found if not any(operation.TAG in SMT_TAGS for operation in trx.operations)]


def bench_forms(report: Report, wire: Wire, label: str, chosen: list[SignedTransaction]) -> None:
    """Measure each form in both directions. Unpacking and parsing JSON include the id and other hashes."""
    packed = [wire.pack_transaction(trx) for trx in chosen]
    report.line(f"{label}: unpack", best(wire.unpack_transaction, packed))
    report.line(f"{label}: pack", best(wire.pack_body, chosen))
    for legacy, form in ((False, "NAI"), (True, "condenser")):

        def write(trx: SignedTransaction, legacy: bool = legacy) -> Any:
            return wire.transaction_to_json(trx, legacy)

        def read(given: Any, legacy: bool = legacy) -> Any:
            return wire.transaction_from_json(given, legacy)

        report.line(f"{label}: to JSON, {form}", best(write, chosen))
        report.line(f"{label}: from JSON, {form}", best(read, [write(trx) for trx in chosen]))


def bench_hashes(report: Report, wire: Wire, chosen: list[SignedTransaction]) -> None:
    """Measure sealing: packing, id and merkle leaf."""
    report.line("all: pack and hash", best(wire.seal, chosen))


def bench_keys(report: Report, wire: Wire, chosen: list[SignedTransaction]) -> None:
    """Measure the key recovery of a transaction with one signature, including its digest."""
    signed = [trx for trx in chosen if len(trx.signatures) == 1]

    def signer(trx: SignedTransaction) -> None:
        trx.signers = None
        wire.signers(trx, Canonical.bip_0062)

    report.line("recover the key", best(signer, signed))


def bench_blocks(report: Report, wire: Wire, paths: list[Path]) -> None:
    """Measure unpacking of non-empty blocks."""
    blocks: list[bytes] = []
    count = 0
    for path in paths:
        log = read_log(path)
        for start, end in frames(log):
            transactions = len(wire.unpack_block(log, start)[0].transactions)
            if transactions:
                blocks.append(log[start:end])
                count += transactions
    report.line(f"block of {count / len(blocks):.1f} transactions: unpack", best(wire.unpack_block, blocks))


def main(paths: list[Path]) -> None:
    """Print all figures."""
    wire = Wire(load_spec("steem-testnet"))
    found = transactions(wire, paths)
    chosen = found[:: max(len(found) // SAMPLE, 1)][:SAMPLE]
    report = Report(f"{len(found)} transactions")
    with quiet_collector():
        for name in SINGLE:
            alone = [trx for trx in found if [operation.NAME for operation in trx.operations] == [name]]
            bench_forms(report, wire, name, alone[:SAMPLE])
        bench_forms(report, wire, "all", chosen)
        bench_hashes(report, wire, chosen)
        bench_keys(report, wire, chosen[: SAMPLE // 4])
        bench_blocks(report, wire, paths)


if __name__ == "__main__":
    main([Path(path) for path in sys.argv[1:]] or sorted(CASES.glob("*/block_log*")))
