"""The signing key in the JSON of a block."""

from rpc.records.blocks import block_signer
from state.protocol.keys.keys import NULL_KEY


def test_an_unsigned_block_shows_the_null_key() -> None:
    assert block_signer(bytes(65), bytes(32)) == NULL_KEY
