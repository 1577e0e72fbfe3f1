"""Measures the wire format. Each figure is in CPU microseconds per transaction, and in multiples of a key recovery in the same run.

Run: .venv/bin/python -m bench.codec [block_log ...]         (default: the block logs of the recorded cases)
"""

import sys
from functools import partial
from pathlib import Path

import state.operations  # noqa: F401 - fills the registry
from bench.replay import CASES
from bench.store import Report, best, quiet_collector
from node.specs.builder import load_spec
from node.storage.blockfile import BlockFile
from state.protocol.keys.signatures import Canonical
from state.protocol.operation import SMT_TAGS
from state.protocol.transaction import SignedTransaction, Wire

SINGLE = ("transfer", "vote", "comment")
SAMPLE = 4000


def bench_forms(report: Report, wire: Wire, label: str, chosen: list[SignedTransaction]) -> None:
    """Measure how long it takes to read and write the transactions in each form. Reading includes computing ids and other hashes."""
    report.line(f"{label}: unpack", best(wire.unpack_transaction, [wire.pack_transaction(trx) for trx in chosen]))
    report.line(f"{label}: pack", best(wire.pack_body, chosen))
    for is_legacy, form in ((False, "NAI"), (True, "condenser")):
        write, read = partial(wire.transaction_to_json, legacy=is_legacy), partial(wire.transaction_from_json, legacy=is_legacy)
        report.line(f"{label}: to JSON, {form}", best(write, chosen))
        report.line(f"{label}: from JSON, {form}", best(read, [write(trx) for trx in chosen]))


def main(paths: list[Path]) -> None:
    """Measure the wire format of the chains in these files, and print the figures."""
    wire = Wire(load_spec("steem-testnet"))
    blocks = [block for path in paths for block in BlockFile(path, wire) if block.transactions]
    transactions = [trx for block in blocks for trx in block.transactions]
    # The condenser can't parse these operations.
    found = [trx for trx in transactions if not any(operation.TAG in SMT_TAGS for operation in trx.operations)]
    chosen = found[:: max(len(found) // SAMPLE, 1)][:SAMPLE]

    def recover(trx: SignedTransaction) -> None:
        trx.signers = None
        wire.signers(trx, Canonical.bip_0062)

    report = Report(f"{len(found)} transactions")
    with quiet_collector():
        for name in SINGLE:
            alone = [trx for trx in found if [operation.NAME for operation in trx.operations] == [name]]
            bench_forms(report, wire, name, alone[:SAMPLE])
        bench_forms(report, wire, "all", chosen)
        report.line("all: pack and hash", best(wire.seal, chosen))
        report.line("recover the key", best(recover, [trx for trx in chosen[: SAMPLE // 4] if len(trx.signatures) == 1]))
        packed = [wire.pack_block(block) for block in blocks]
        report.line(f"block of {len(transactions) / len(blocks):.1f} transactions: unpack", best(wire.unpack_block, packed))


if __name__ == "__main__":
    main([Path(path) for path in sys.argv[1:]] or sorted(CASES.glob("*/block_log*")))
