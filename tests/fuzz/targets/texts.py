"""Targets for short texts: keys, signatures, names, amounts, times, and edits of a post."""

import state.operations  # noqa: F401 - fills the registry
from state.effects.body_patch import WorkBudget, edited
from state.protocol.constants import EDIT_STEPS_MAX
from state.protocol.errors import ChainError
from state.protocol.keys.keys import (
    KEY_SIZE,
    base58_text,
    bytes_from_base58,
    is_secret,
    public_key,
    public_key_from_text,
    public_key_text,
    secret_from_extended_key,
    secret_from_wif,
    wif_from_secret,
)
from state.protocol.keys.signatures import SIGNATURE_SIZE, Canonical, recover
from state.protocol.values.text import is_valid_account_name
from tests.fuzz.target import Run
from tests.fuzz.targets.wires import refused_or

PREFIX = "TST"
# An input for edits is two texts: the length of the old text in characters as two bytes, the old text, the edit.
LENGTH_BYTES = 2


def keys() -> Run:
    """Return a target that parses a text in every format of keys."""

    def run(data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        key = refused_or(public_key_from_text, text, PREFIX)
        if key is not None:
            assert len(key) == KEY_SIZE
            assert refused_or(public_key_from_text, public_key_text(key, PREFIX), PREFIX) == key
        secret = refused_or(secret_from_wif, text)
        if secret is not None:
            assert secret_from_wif(wif_from_secret(secret)) == secret
            assert (refused_or(public_key, secret) is not None) == is_secret(secret)
        raw = refused_or(bytes_from_base58, text)
        assert raw is None or bytes_from_base58(base58_text(raw)) == raw
        refused_or(secret_from_extended_key, text)
        is_valid_account_name(text)

    return run


def signatures() -> Run:
    """Return a target that recovers a public key. Its input is a signature followed by a digest."""
    rules: tuple[Canonical, ...] = tuple(Canonical)

    def run(data: bytes) -> None:
        signature, digest = data[:SIGNATURE_SIZE], data[SIGNATURE_SIZE:].ljust(32, b"\1")[:32]
        for rule in rules:
            key = refused_or(recover, signature, digest, rule)
            assert key is None or len(key) == KEY_SIZE

    return run


def edits() -> Run:
    """Return a target that applies an edit to a text."""

    def edit(old: str, body: str) -> str:
        return edited(old, body, WorkBudget(EDIT_STEPS_MAX))

    def run(data: bytes) -> None:
        size = int.from_bytes(data[:LENGTH_BYTES], "little")
        text = data[LENGTH_BYTES:].decode("utf-8", "surrogateescape")
        try:
            result = edit(text[:size], text[size:])
        except ChainError:
            return
        assert isinstance(result, str)
        assert edit(text[:size], text[size:]) == result

    return run
