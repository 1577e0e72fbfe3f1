"""Sends operations as a transaction: sets the reference block, signs, broadcasts (or only shows a dry run), and waits for the block."""

import json
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter

from node.cli.parameters import Bounds, Flag, Repeated
from node.cli.remote import Remote, RemoteOptions, call_node
from node.cli.times import seconds_of
from node.cli.tx.field_texts import Context
from node.cli.tx.signers import KeyChoice, Signer, add_signatures, parse_keys, prompt_for_keys
from node.cli.tx.transaction_file import is_legacy, to_json
from node.client.errors import RefusedCall
from node.runtime.errors import NodeError, Status, last_line
from node.runtime.output import say, write_json, write_pairs, write_table
from state.protocol.constants import COIN_MAX_TIME_UNTIL_EXPIRATION
from state.protocol.errors import ChainError
from state.protocol.operation import Operation
from state.protocol.transaction import SignedTransaction
from state.protocol.values.text import time_text

EXPIRE_SECONDS = 600
# Equal transactions are refused as duplicates. By default the expiration varies, so that the same command works twice.
EXPIRE_SPREAD_SECONDS = 600
WAIT_SECONDS_MAX = 60
WAIT_STEP_SECONDS = 0.25
BLOCKS_SCANNED_MAX = 2000

Make = Callable[[Remote, Context], SignedTransaction | tuple[Operation, ...]]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SendOptions(RemoteOptions):
    """Options that all commands of `coind tx` have."""

    key: Annotated[
        Repeated,
        Parameter(
            help="A private key (WIF) to sign with, in addition to the known keys of test chains; can be repeated.", env_var="COIND_KEY"
        ),
    ] = ()
    wait: Annotated[Flag, Parameter(help="Wait until the transaction is in a block, and print the block's number.")] = False
    dry_run: Annotated[Flag, Parameter(help="Only show fields, id, digest, bytes, signers and the node's verdict.")] = False
    sign_only: Annotated[Flag, Parameter(help="Only print the signed transaction as JSON.")] = False
    unsigned: Annotated[Flag, Parameter(help="Don't sign, for accounts that the node impersonates.")] = False
    expire: Annotated[
        int | None,
        Parameter(
            help="The time of expiration, in seconds after the head block; by default 10 to 20 minutes.",
            validator=Bounds(1, COIN_MAX_TIME_UNTIL_EXPIRATION),
        ),
    ] = None
    chain: Annotated[str | None, Parameter(help="The required chain of the node: a name, or a TOML file.")] = None


def send(make: Make, options: SendOptions) -> int:
    """Build and sign a transaction. Then broadcast it, print it if `options.sign_only` is set, or only describe it if `options.dry_run` is
    set. Return the exit status.
    """
    if options.dry_run and options.sign_only:
        raise NodeError("--dry-run and --sign-only exclude each other. Give one of them.")
    given = parse_keys(options.key)
    # Keys from variables and files apply to many commands. A key on the command line is for this one: it signs even if not needed.
    must_sign = any(word.partition("=")[0] == "--key" for word in sys.argv)
    return call_node(options, lambda remote: send_to(remote, make, options, given, must_sign=must_sign))


def send_to(remote: Remote, make: Make, options: SendOptions, given: tuple[bytes, ...], *, must_sign: bool) -> int:
    """Do the work of `send` with a node that is already connected."""
    remote.require_chain(options.chain)
    head = remote.head()
    context = Context(remote.wire.codecs, seconds_of(head["time"]))
    found = make(remote, context)
    signers: tuple[Signer, ...] = ()
    problem, advice = "", "Give private keys by --key or COIND_KEY."
    if isinstance(found, SignedTransaction):
        trx = found
    else:
        trx = unsigned(remote, found, head, options.expire)
        if not options.unsigned:
            signing = KeyChoice(remote, found)
            if signing.unknown_accounts():
                advice = "bin/coind show accounts lists all accounts."
            signers, problem = choose_signers(signing, given, must_sign=must_sign, may_ask=not options.dry_run)
        add_signatures(trx, signers, remote)
    if options.dry_run:
        show_dry_run(remote, trx, signers, problem, options)
        return Status.REFUSED if problem else Status.DONE
    if problem:
        raise NodeError(f"{problem}. {advice}")
    if options.sign_only:
        write_json(to_json(trx, remote.wire))
        return Status.DONE
    broadcast(remote, trx)
    return report_result(remote, trx, head, options)


def unsigned(remote: Remote, operations: tuple[Operation, ...], head: dict[str, Any], expire: int | None) -> SignedTransaction:
    """Return an unsigned transaction with the operations. Its reference block is the head block."""
    seconds = EXPIRE_SECONDS + secrets.randbelow(EXPIRE_SPREAD_SECONDS) if expire is None else expire
    block_id = bytes.fromhex(head["head_block_id"])
    trx = SignedTransaction(
        ref_block_num=head["head_block_number"] & 0xFFFF,
        ref_block_prefix=int.from_bytes(block_id[4:8], "little"),
        expiration=seconds_of(head["time"]) + seconds,
        operations=operations,
    )
    return remote.wire.seal(trx)


def choose_signers(signing: KeyChoice, given: tuple[bytes, ...], *, must_sign: bool, may_ask: bool) -> tuple[tuple[Signer, ...], str]:
    """Return the signing keys, and a description of the problem with them ("" for none).

    Given keys sign even if they don't suffice, since the node's refusal explains the problem best. With `must_sign`, the given keys also
    sign if the known keys alone would suffice.
    """
    found = signing.choose(given)
    if found is not None and (not must_sign or not given or any(signer.secret in given for signer in found)):
        return found, ""
    if given:
        return signing.all_of(given), ""
    if may_ask and not signing.unknown_accounts() and sys.stdin.isatty() and sys.stderr.isatty():
        from getpass import getpass

        found = prompt_for_keys(signing, given, getpass)
        if found is not None:
            return found, ""
    return (), signing.missing()


def broadcast(remote: Remote, trx: SignedTransaction) -> None:
    """Broadcast a transaction to the node. Raises RefusedCall."""
    shown = to_json(trx, remote.wire)
    if is_legacy(trx):
        remote.call("condenser_api.broadcast_transaction", [shown])
    else:
        remote.call("network_broadcast_api.broadcast_transaction", {"trx": shown})


def report_result(remote: Remote, trx: SignedTransaction, head: dict[str, Any], options: SendOptions) -> int:
    """Print the result of a broadcast. If the options require it, first wait until the transaction is in a block."""
    result: dict[str, Any] = {"id": trx.id.hex(), "expiration": time_text(trx.expiration)}
    start = head["head_block_number"]
    # In the block mode instant, its block exists already.
    place = wait_for(remote, trx, start) if options.wait else find_in_blocks(remote, trx, start, remote.head()["head_block_number"])
    if place is not None:
        result |= {"block_num": place[0], "trx_num": place[1]}
    if options.json:
        write_json(result)
        return Status.DONE
    pairs: list[tuple[str, object]] = [("accepted", operation_names(trx)), ("id", result["id"])]
    if place is not None:
        pairs.append(("block", f"{result['block_num']}, transaction {result['trx_num']} of it"))
    else:
        pairs.append(("state", f"pending, expires at {result['expiration']} (chain time)"))
    write_pairs(pairs)
    return Status.DONE


def operation_names(trx: SignedTransaction) -> str:
    """Return the names of a transaction's operations."""
    return ", ".join(operation.NAME for operation in trx.operations)


def find_in_blocks(remote: Remote, trx: SignedTransaction, after: int, last: int) -> tuple[int, int] | None:
    """Search the blocks after `after` up to `last`, at most BLOCKS_SCANNED_MAX of them, for a transaction. Return the block number and the
    transaction's position in the block, or None.
    """
    wanted = trx.id.hex()
    for number in range(max(after, last - BLOCKS_SCANNED_MAX) + 1, last + 1):
        block = remote.call("condenser_api.get_block", [number])
        if block is not None and wanted in block["transaction_ids"]:
            return number, block["transaction_ids"].index(wanted)
    return None


def wait_for(remote: Remote, trx: SignedTransaction, start: int) -> tuple[int, int]:
    """Wait until a transaction is in a block. Return the block number and the position in the block. Raises NodeError if the transaction
    expires, or after a timeout.

    This function reads all new blocks, which every node can return. A search by transaction id would need a plugin of the node.
    """
    wanted, scanned, moved = trx.id.hex(), start, time.monotonic()
    while True:
        head = remote.head()
        number = head["head_block_number"]
        if number < scanned:
            # Blocks were undone.
            scanned = max(0, number - 1)
        if number > scanned:
            place = find_in_blocks(remote, trx, scanned, number)
            if place is not None:
                return place
            scanned, moved = number, time.monotonic()
        if seconds_of(head["time"]) >= trx.expiration:
            raise NodeError(f"{wanted} has expired without being in a block")
        if time.monotonic() - moved > WAIT_SECONDS_MAX:
            raise NodeError(
                f"{wanted} is pending, but no block was made for {WAIT_SECONDS_MAX} s. On a local chain, bin/coind dev mine makes one."
            )
        time.sleep(WAIT_STEP_SECONDS)


# ------------------------------------------------------------------ dry run


def show_dry_run(remote: Remote, trx: SignedTransaction, signers: tuple[Signer, ...], problem: str, options: SendOptions) -> None:
    """Print the details of a transaction that is not sent."""
    wire = remote.wire
    explained = explanation(remote, trx)
    checked = static_refusal(remote, trx)
    if options.json:
        write_json({
            "transaction": to_json(trx, wire),
            "id": trx.id.hex(),
            "digest": wire.signature_digest(trx).hex(),
            "hex": wire.pack_transaction(trx).hex(),
            "size": trx.size,
            "signers": [{"key": signer.key, "belongs_to": signer.belongs_to} for signer in signers],
            "missing": problem or checked,
            "explain": explained,
        })  # fmt: skip
        return
    pairs: list[tuple[str, object]] = [
        ("chain", f"{remote.spec.name} {remote.spec.chain_id.hex()}"),
        ("id", trx.id.hex()),
        ("digest", wire.signature_digest(trx).hex()),
        ("reference", f"block {trx.ref_block_num} (16 bits), prefix {trx.ref_block_prefix}"),
        ("expires", f"{time_text(trx.expiration)} (chain time)"),
        ("size", f"{trx.size} bytes"),
        ("bytes", wire.pack_transaction(trx).hex()),
    ]
    write_pairs(pairs, title="not sent")
    for operation in trx.operations:
        say("")
        body = wire.codecs.dump(operation, is_legacy(trx))
        texts = [(name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)) for name, value in body.items()]
        write_pairs(texts, title=operation.NAME)
    say("")
    write_table(["=key", "belongs to"], [(signer.key, signer.belongs_to) for signer in signers], title="would sign", empty="nobody")
    say("")
    for text in filter(None, (problem, checked)):
        last_line(f"coind: {text}")
    show_explanation(explained)


def static_refusal(remote: Remote, trx: SignedTransaction) -> str:
    """Return the reason why a check that doesn't depend on the state refuses one of the operations, or ""."""
    for operation in trx.operations:
        try:
            operation.validate(remote.wire.codecs)
        except ChainError as error:
            return f"{operation.NAME} would be refused: {error.message(remote.spec.spell)}"
    return ""


def explanation(remote: Remote, trx: SignedTransaction) -> dict[str, Any] | None:
    """Return the node's explanation of how it would treat a transaction, or None if the node has no dev_api."""
    try:
        found = remote.call("dev_api.explain_transaction", {"trx": remote.wire.transaction_to_json(trx)})
    except RefusedCall as error:
        if error.is_unknown_method or error.hint:
            return None
        return {"why": error.message, "rule": "unknown"}
    return found if isinstance(found, dict) else None


def show_explanation(explained: dict[str, Any] | None) -> None:
    """Print the result of `explanation`. If it is None, print that the node can't check transactions in advance."""
    if explained is None:
        say("The node can't check transactions in advance (it has no dev_api).")
        return
    pairs = [(name.replace("_", " "), explained[name]) for name in ("rule", "why", "what_to_do") if explained.get(name)]
    if pairs:
        write_pairs(pairs, title="the node would say")
    else:
        say("The node would accept it.")
