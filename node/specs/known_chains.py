"""Ids and symbols of well-known chains. If a client has signed for one of them by mistake, the explanation of the refusal names it."""

from functools import cache

from node.runtime.former_chains import FORMER
from node.specs.builder import merged, read_layers, spec_names, spec_path
from rpc.explain.case import KnownChain

# Public chains of the family without a file in `genesis/`. Client libraries have these ids built in.
PUBLIC = (
    ("Hive", "beeab0de" + 56 * "0", "HIVE", "HBD", "VESTS"),
    ("Hive with the chain id of Steem", 64 * "0", "HIVE", "HBD", "VESTS"),
    ("a test chain of steem-python", "9afbce9f2416520733bacb370315d32b6b2c43d6097576df1c1222859d91eecc", "TESTS", "TBD", "VESTS"),
    ("an old test chain of steemit/steem", "46d82ab7d8db682eb1959aed0ada039a6d49afa1602491f93dde9cac3e8e6c32", "TESTS", "TBD", "VESTS"),
    ("testnet.steem.vc", "79276aea5d4877d9a25892eaa01b0adf019d3e5cb12a97478df3298ccdd01673", "TESTS", "TBD", "VESTS"),
    ("Golos", "782a3039b478c839e4cb0c941ff4eaeb7df40bdd68bd441afd444b9da763de12", "GOLOS", "GBG", "GESTS"),
    ("Blurt", "cd8d90f29ae273abec3eaa7731e25934c63eb654d55080caff2ebb7f5df6381f", "BLURT", "BBD", "VESTS"),
)


@cache
def known_chains() -> tuple[KnownChain, ...]:
    """Return the chains in `genesis/` and the public chains. The first call reads the files."""
    # Without the slow checks and computations of `load_spec`.
    named = ((name, merged(read_layers(spec_path(name)))) for name in spec_names())
    ours = [(name, table["chain_id"], *(table["symbols"][symbol] for symbol in ("coin", "debt", "vests"))) for name, table in named]
    symbols = {name: rest for name, _, *rest in ours}
    ours += [(f"{name} of coind 0.1.0", chain_id, *symbols[name]) for chain_id, name in FORMER.items()]
    return tuple(KnownChain(name, bytes.fromhex(chain_id), *symbols) for name, chain_id, *symbols in (*ours, *PUBLIC))
