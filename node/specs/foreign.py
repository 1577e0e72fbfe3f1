"""The spec of another node's chain, from the replies of methods that every node of the family has.

For a chain in `genesis/` it is that spec, which adds the public test keys. Otherwise it is built from the node's constants.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from node.specs.builder import load_spec, spec_names
from state.protocol.config import MICROSECONDS, config_types
from state.protocol.errors import ChainError
from state.protocol.keys.keys import NULL_KEY, public_key_from_text
from state.protocol.spec import BuildConstants, ChainSpec, Genesis
from state.protocol.values.text import is_valid_account_name, time_from_text, version_from_text

CHAIN_ID_DIGITS = 64
LENGTH_MAX = 16
NUMBER_MAX = 2**63
"""Limits of what a node reports: the length of its symbols, and its constants."""


class NotOfFamily(ValueError):
    """The replies are not those of a node of this chain family. The text continues a sentence that begins with the node's address."""


def spec_of(config: dict[str, Any], version: dict[str, Any], properties: dict[str, Any]) -> ChainSpec:
    """Return the spec of a chain from the results of get_config, get_version and condenser_api.get_dynamic_global_properties.

    Raises NotOfFamily.
    """
    brand = brand_of(config)
    chain_id = chain_id_of(config, version)
    facts = {"brand": brand, "chain_id": chain_id, "key_prefix": short(config[f"{brand.upper()}_ADDRESS_PREFIX"]), **symbols_of(properties)}
    for known in known_specs():
        if known.chain_id == chain_id and known.brand == brand and known.coin_symbol == facts["coin_symbol"]:
            return known
    return foreign_spec(config, facts)


def known_specs() -> Iterator[ChainSpec]:
    """Yield the chain specs in `genesis/`."""
    for name in spec_names():
        yield load_spec(name)


def brand_of(config: dict[str, Any]) -> str:
    """Return the brand of a chain, for example STEEM, which is the prefix of its constants' names."""
    for key in config:
        word = key.removesuffix("_ADDRESS_PREFIX")
        if word != key:
            return short(word.lower())
    raise NotOfFamily("is not a node of this chain family: its constants have no address prefix")


def chain_id_of(config: dict[str, Any], version: dict[str, Any]) -> bytes:
    """Return the chain id from the node's version or from its constants, since older nodes report it in only one of them."""
    given = str(version.get("chain_id", ""))
    if len(given) != CHAIN_ID_DIGITS:
        given = next((str(value) for key, value in config.items() if key.endswith("CHAIN_ID")), "")
    try:
        chain_id = bytes.fromhex(given)
    except ValueError:
        chain_id = b""
    if len(chain_id) * 2 != CHAIN_ID_DIGITS:
        raise NotOfFamily("doesn't report its chain id")
    return chain_id


def symbols_of(properties: dict[str, Any]) -> dict[str, str]:
    """Return the names of the three symbols, as they appear in the chain's supplies."""
    debt = next((key for key in properties if key.startswith("current_") and key.endswith("_supply") and key != "current_supply"), "")
    keys = {"coin_symbol": "current_supply", "debt_symbol": debt, "vests_symbol": "total_vesting_shares"}
    try:
        return {name: short(str(properties[key]).split(" ")[1]) for name, key in keys.items()}
    except (KeyError, IndexError):
        raise NotOfFamily("is not a node of this chain family: it reports no supplies") from None


def short(text: Any) -> str:
    """Return a name of the chain's, which must be short and printable. Raises NotOfFamily."""
    if type(text) is not str or not text.isascii() or not text.isalnum() or len(text) > LENGTH_MAX:
        raise NotOfFamily(f"is not a node of this chain family: {str(text)[:LENGTH_MAX]!r} is no brand, symbol or key prefix")
    return text


def foreign_spec(config: dict[str, Any], facts: dict[str, Any]) -> ChainSpec:
    """Return a spec for a chain that is not in `genesis/`. Constants that the node doesn't report are those of the build."""
    upper = facts["brand"].upper()
    base = load_spec("testnet" if config.get("IS_TEST_NET") else "steem-mainnet")
    treasury = str(config.get(f"{upper}_TREASURY_ACCOUNT", ""))
    try:
        key = public_key_from_text(str(config.get(f"{upper}_INIT_PUBLIC_KEY_STR", "")), facts["key_prefix"])
    except ChainError:
        key = NULL_KEY
    named = replace(base, **facts)
    return replace(
        named,
        name=f"unknown {facts['brand']} chain",
        constants=constants_of(config, named),
        treasury_name=treasury if is_valid_account_name(treasury) and treasury != named.treasury else "",
        smt=bool(config.get(f"{upper}_ENABLE_SMT", False)),
        genesis=Genesis(witness=str(config.get(f"{upper}_INIT_MINER_NAME", "initminer")), witness_key=key),
        witness_keys=(),
    )


def constants_of(config: dict[str, Any], spec: ChainSpec) -> BuildConstants:
    """Return the constants of a spec, with those replaced that a node reports and that builds can have in different values."""
    found = {}
    for name, how in config_types():
        value = config.get(spec.spell(name))
        if name in BuildConstants.__struct_fields__ and value is not None:
            with suppress(ChainError, ValueError):
                number = READERS.get(how, whole)(value)
                if 0 <= number < NUMBER_MAX:
                    found[name] = number
    return replace(spec.constants, **found)


def whole(value: Any) -> int:
    """Return a constant that is reported as a number, or as the text of one. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | str) or len(str(value)) > len(str(NUMBER_MAX)):
        raise ValueError("not a number")
    return int(value)


READERS: dict[str, Callable[[Any], int]] = {
    "span": lambda value: whole(value) // MICROSECONDS,
    "time": lambda value: time_from_text(str(value)),
    "version": lambda value: version_from_text(str(value)),
}
