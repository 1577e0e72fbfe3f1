"""Encodes a chain spec as the tables of a file, and checks a spec that was read from a base file."""

from msgspec.structs import asdict

from node.specs.builder import build_spec, check_numbers
from node.specs.tables import Fault, Table
from state.protocol.constants import COIN_MAX_WITNESSES
from state.protocol.keys.keys import ROLES, public_key_text
from state.protocol.spec import BUILDS, ChainSpec
from state.protocol.values.text import is_valid_account_name

KEY_SIZE = 33  # bytes


def encode_spec(spec: ChainSpec) -> Table:
    """Return the tables of a spec, without its genesis but for the first witness."""
    build = asdict(BUILDS[spec.build])
    return {
        "name": spec.name,
        "brand": spec.brand,
        "key_prefix": spec.key_prefix,
        "chain_id": spec.chain_id.hex(),
        "build": spec.build,
        "smt": spec.smt,
        "block_limit": spec.block_limit,
        "witness_keys": list(spec.witness_keys),
        "required_participation": spec.required_participation,
        "plugins": list(spec.plugins),
        "community_prefix": spec.community_prefix,
        "remove_threshold": spec.remove_threshold,
        "symbols": {"coin": spec.coin_symbol, "debt": spec.debt_symbol, "vests": spec.vests_symbol},
        "genesis": {
            "witness": spec.genesis.witness,
            "witness_key": public_key_text(spec.genesis.witness_key, spec.key_prefix),
            "hardfork": spec.genesis.hardfork,
        },
        "constants": {name: value for name, value in asdict(spec.constants).items() if value != build[name]},
    }


def check_spec(spec: ChainSpec) -> None:
    """Raise Fault for a spec that no file of tables could result in. A spec that was decoded from JSON has only been checked for types."""
    genesis = spec.genesis
    if len(genesis.witness_key) != KEY_SIZE:
        raise Fault("genesis", f"expected public keys of {KEY_SIZE} bytes")
    build_spec(encode_spec(spec))
    for name in (*genesis.witness_names, *(account.name for account in genesis.accounts)):
        if not is_valid_account_name(name):
            raise Fault("genesis", "expected valid account names")
    keys = [each.key for each in genesis.special_witnesses if each.key]
    keys += [getattr(account, role) for account in genesis.accounts for role in ROLES]
    if any(len(key) != KEY_SIZE for key in keys):
        raise Fault("genesis", f"expected public keys of {KEY_SIZE} bytes")
    check_numbers(spec)
    if not 1 <= spec.round_size <= COIN_MAX_WITNESSES:
        raise Fault("round_size", f"expected a number from 1 to {COIN_MAX_WITNESSES}")
    if not all(text.isprintable() for text in (spec.name, spec.account_password)):
        raise Fault("name", "expected characters that can be printed")
