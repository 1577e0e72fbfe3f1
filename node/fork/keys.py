"""Keys of a fork that are known on this machine: those of its accounts, derived from their names, and that of all witnesses."""

from state.chain.known_keys import AUTHORITIES, derived_keys
from state.portable import Batch
from state.protocol import constants
from state.protocol.authority import key_authority
from state.protocol.keys.keys import NULL_KEY, derive_secret, public_key
from state.protocol.spec import ChainSpec

PASSWORD = "fork"
SIGNING_SECRET = derive_secret("witness", "block", PASSWORD)  # of all witnesses


def replace_keys(batch: Batch, spec: ChainSpec) -> None:
    """Replace the keys in a batch by keys that are known on this machine: the signing keys of witnesses, so that it can make their blocks,
    and, unless the fork keeps them, the authorities and memo keys of accounts.

    The reference's own accounts keep theirs, because nobody can act for `null`, and everybody for `temp`.
    """
    key = public_key(SIGNING_SECRET)
    for row in batch.get("witnesses", ()):
        if row["signing_key"] != NULL_KEY:
            row["signing_key"] = key
    if not spec.account_password:
        return
    own = {constants.COIN_MINER_ACCOUNT, constants.COIN_NULL_ACCOUNT, constants.COIN_TEMP_ACCOUNT, spec.treasury}
    for row in batch.get("account_authorities", ()):
        if row["account"] not in own:
            derived = derived_keys(row["account"], spec.account_password)
            row |= {role: key_authority(derived[role][1]) for role in AUTHORITIES}
    batch.pop("account_by_key/references", None)  # of the keys that are replaced
    for row in batch.get("accounts", ()):
        if row["name"] not in own:
            row["memo_key"] = derived_keys(row["name"], spec.account_password)["memo"][1]
