"""The signing key that a witness gets by its properties."""

from msgspec import structs

from state.chain.chain import Chain
from state.operations.witnesses import WitnessSetProperties
from state.protocol.keys.keys import NULL_KEY
from tests.helpers.chains import add_account, add_witness, apply, chain_at, key_of, refused


def chain_of(signing_key: bytes) -> Chain:
    chain = chain_at()
    add_account(chain.state, "wit")
    add_witness(chain.state, "wit", signing_key=signing_key)
    return chain


def properties(chain: Chain, **props: bytes) -> WitnessSetProperties:
    operation = WitnessSetProperties("wit", tuple(sorted(props.items())))
    operation.validate(chain.state.wire.codecs)
    return operation


def test_empty_bytes_for_the_new_key_keep_the_old_one() -> None:
    chain = chain_of(key_of("wit"))
    witness = chain.state.witness("wit")
    apply(chain, properties(chain, key=key_of("wit"), new_signing_key=b"", url=b"\x01a"))
    assert (witness.signing_key, witness.url) == (key_of("wit"), "a")
    apply(chain, properties(chain, key=key_of("wit"), new_signing_key=NULL_KEY))
    assert witness.signing_key == NULL_KEY


def test_empty_bytes_for_the_current_key_are_the_null_key() -> None:
    chain = chain_of(NULL_KEY)
    witness = chain.state.witness("wit")
    apply(chain, properties(chain, key=b"", new_signing_key=b""))
    assert witness.signing_key == NULL_KEY
    apply(chain, properties(chain, key=b"", new_signing_key=key_of("new")))
    assert witness.signing_key == key_of("new")
    still = structs.replace(properties(chain, key=b"", new_signing_key=b""))
    assert "'key' does not match witness signing key." in refused(chain, still)
