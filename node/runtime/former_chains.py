"""Former chain ids of specs that come with coind. The former chains had the accounts at genesis, and are different from the current chains
of these specs.
"""

# The names of the specs, by chain id.
FORMER = {
    "72a2b8e4c8af1c8e571f90b7ee885840b00fb10acfc8c024cd2b538d4dc4fbbc": "dev",
    "aba0ceab4e13f9f3d6248f03359d1a1632d52d57cc8c6826b0250d5eec204e26": "dev-tests",
}


def advice(chain_id: str) -> str:
    """Return the end of an error message: why a chain with a former id is refused, and how it can be used. Return "" for other ids."""
    name = FORMER.get(chain_id)
    if name is None:
        return ""
    return (
        f". An older version of coind made it, with the accounts of {name} at genesis; now blocks create them. Start a new chain, or use"
        f' the old one with --chain FILE.toml, a file of these lines: base = "{name}", chain_id = "{chain_id}",'
        " genesis.accounts_in_blocks = false, genesis.vests_per_coin = 1, genesis.recent_claims = 0"
    )
