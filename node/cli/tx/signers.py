"""Chooses the keys that sign a transaction: first the keys given by the user, then the public keys of test chains.

Only the necessary keys sign, since the chain refuses superfluous signatures.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from node.cli.remote import Remote
from node.runtime.errors import NodeError
from state.operations.witnesses import NOBODY as NO_KEY
from state.protocol.authority import Authority
from state.protocol.authorization.fewest_keys import suffice
from state.protocol.authorization.signatures_check import LIMITS, Lookup, Lookups, require_only_posting
from state.protocol.errors import ChainError
from state.protocol.keys.keys import derive_secret, is_secret, public_key, public_key_text, secret_from_wif
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.operation import Needed, Operation
from state.protocol.transaction import SignedTransaction

ROLES = ("posting", "active", "owner")
KEYS_MAX = 64
NOBODY = Authority(1)


@dataclass(frozen=True)
class Signer:
    """A signing key, and the account and role that it belongs to."""

    key: str
    secret: bytes = field(repr=False)
    belongs_to: str


class Authorities:
    """Cache of the authorities of accounts. Each account is fetched from the node once."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._parse = remote.wire.codecs.parser(Authority, True)
        self.found: dict[str, dict[str, Authority] | None] = {}

    def fetch(self, names: Iterable[str]) -> None:
        """Fetch the accounts that are not cached yet."""
        wanted = sorted({name for name in names if name} - self.found.keys())
        if not wanted:
            return
        self.found |= dict.fromkeys(wanted)
        for account in self._remote.call("condenser_api.get_accounts", [wanted]):
            self.found[account["name"]] = {role: self._parse(account[role]) for role in ROLES}

    def lookup(self, role: str) -> Lookup:
        """Return a function that finds an account's authority for a role by the account's name. For an unknown account it returns an
        authority that no signature satisfies.
        """

        def find(name: str) -> Authority:
            self.fetch([name])
            account = self.found[name]
            return NOBODY if account is None else account[role]

        return find

    def lookups(self) -> Lookups:
        """Return a `lookup` function for each role."""
        return Lookups(active=self.lookup("active"), owner=self.lookup("owner"), posting=self.lookup("posting"))

    def owners(self, key: bytes) -> Iterator[tuple[str, str]]:
        """Yield the account and the role of each cached authority that contains a key."""
        for name, roles in self.found.items():
            for role, authority in (roles or {}).items():
                if any(member == key for member, _ in authority.key_auths):
                    yield name, role


class KeyChoice:
    """Chooses the keys that sign the given operations."""

    def __init__(self, remote: Remote, operations: tuple[Operation, ...]) -> None:
        self._remote = remote
        self._prefix = remote.spec.key_prefix
        self.needed = needed_by(operations)
        if NO_KEY in self.needed.other:
            raise NodeError("PROPS need the property key: the witness's current signing key, which bin/coind show witness OWNER prints")
        self.authorities = Authorities(remote)
        self._keys: dict[bytes, bytes] = {}
        self.names = self.needed.posting | self.needed.active | self.needed.owner
        self._touched = self.names | {name for operation in operations for name in operation.impacted()}
        self.authorities.fetch(self.names)

    def unknown_accounts(self) -> list[str]:
        """Return the names of required signers that don't exist as accounts."""
        return sorted(name for name in self.names if self.authorities.found.get(name) is None)

    def choose(self, given: tuple[bytes, ...]) -> tuple[Signer, ...] | None:
        """Return a minimal set of keys that suffices, or None if there is none. Keys in `given` are preferred."""
        if self._suffice(given):
            return self._fewest(given)
        every = (*given, *self._public_secrets())
        if not self._suffice(every):
            return None
        known = self._members()
        return self._fewest(tuple(secret for secret in every if self._key(secret) in known))

    def all_of(self, given: tuple[bytes, ...]) -> tuple[Signer, ...]:
        """Return all given keys as signers, including unnecessary ones."""
        return tuple(self._signer(secret) for secret in dict.fromkeys(given))

    def missing(self) -> str:
        """Describe in a sentence the authorities that are required."""
        unknown = self.unknown_accounts()
        if unknown:
            return f"there is no account {', '.join(unknown)} on this chain"
        parts = []
        for role in ROLES:
            for name in sorted(getattr(self.needed, role)):
                authority = (self.authorities.found[name] or {})[role]
                parts.append(f"the {role} authority of {name} ({self._describe(authority)})")
        parts += [f"the authority {self._describe(authority)}" for authority in self.needed.other]
        return f"it needs {' and '.join(parts)}"

    def _describe(self, authority: Authority) -> str:
        """Describe the keys and accounts of an authority."""
        members = [public_key_text(key, self._prefix) for key, _ in authority.key_auths]
        members += [f"account {name}" for name, _ in authority.account_auths]
        if len(members) == 1:
            return members[0]
        weights = [weight for _, weight in (*authority.key_auths, *authority.account_auths)]
        listed = ", ".join(f"{member} with {weight}" for member, weight in zip(members, weights, strict=True))
        return f"{authority.weight_threshold} of {listed}" if members else "nobody"

    def _members(self) -> set[bytes]:
        """Return the keys in all cached and required authorities. No other key can be necessary."""
        seen = [authority for roles in self.authorities.found.values() for authority in (roles or {}).values()]
        return {key for authority in (*seen, *self.needed.other) for key, _ in authority.key_auths}

    def _key(self, secret: bytes) -> bytes:
        """Return the public key of a secret. Keys are cached."""
        if secret not in self._keys:
            self._keys[secret] = public_key(secret)
        return self._keys[secret]

    def _suffice(self, secrets: Iterable[bytes]) -> bool:
        """Whether signatures with these keys suffice, even if some of them are superfluous."""
        return suffice(self.needed, {self._key(secret) for secret in secrets}, self.authorities.lookups(), LIMITS)

    def _fewest(self, secrets: tuple[bytes, ...]) -> tuple[Signer, ...]:
        """Drop each key without which the others suffice, beginning with the last. Unlike `fewest_keys`, this prefers given keys."""
        kept = list(dict.fromkeys(secrets))
        for secret in reversed(list(kept)):
            others = [each for each in kept if each != secret]
            if self._suffice(others):
                kept = others
        return tuple(self._signer(secret) for secret in kept)

    def _signer(self, secret: bytes) -> Signer:
        key = self._key(secret)
        owners = sorted({f"{name} ({role})" for name, role in self.authorities.owners(key)})
        return Signer(public_key_text(key, self._prefix), secret, ", ".join(owners) or "none of the accounts")

    def _public_secrets(self) -> Iterator[bytes]:
        """Yield the secret keys that a chain spec publishes: first those of accounts, from the lowest role up, then those of witnesses."""
        spec = self._remote.spec
        passwords = dict.fromkeys(account.password for account in spec.genesis.accounts if account.password)
        names = sorted({*self._touched, *self.authorities.found, *(account.name for account in spec.genesis.accounts)})
        for role in ROLES:
            for name in names:
                for password in passwords:
                    yield derive_secret(name, role, password)
        for text in spec.witness_keys:
            yield secret_from_wif(text)
        yield from self._listed_secrets()

    def _listed_secrets(self) -> Iterator[bytes]:
        """Yield the secret keys that a node reports to local clients. It does so for a test chain whose spec isn't in `genesis/`."""
        try:
            listed = self._remote.call("dev_api.list_keys", {})
        except NodeError:
            return
        for account in listed:
            for role in ROLES:
                if role in account["keys"]:
                    yield secret_from_wif(account["keys"][role]["private"])


def needed_by(operations: tuple[Operation, ...]) -> Needed:
    """Return the authorities that operations require. Raises NodeError for a malformed operation, or for roles that one transaction can't
    combine.
    """
    try:
        needed = Needed.by(operations)
    except ChainError as error:
        raise NodeError(f"can't determine the signers: {error}") from None
    try:
        if needed.posting:
            require_only_posting(needed)
    except ChainError:
        raise NodeError("operations with posting authority can't be in one transaction with operations of other authorities") from None
    return needed


def parse_keys(texts: tuple[str, ...]) -> tuple[bytes, ...]:
    """Parse private keys in wallet import format. Raises NodeError, whose message doesn't contain the key."""
    if len(texts) > KEYS_MAX:
        raise NodeError(f"expected at most {KEYS_MAX} keys, got {len(texts)}")
    return tuple(parse_key(text) for text in texts)


def parse_key(text: str) -> bytes:
    """Parse a private key in wallet import format. Raises NodeError, whose message doesn't contain the key."""
    try:
        secret = secret_from_wif(text.strip())
    except ChainError:
        secret = b""
    if not is_secret(secret):
        raise NodeError("a given key is not a private key in wallet import format, which starts with 5")
    return secret


def add_signatures(trx: SignedTransaction, signers: tuple[Signer, ...], remote: Remote) -> None:
    """Sign a transaction with all signers. Signatures that are canonical before hardfork 20 are also canonical after it, so the hardfork
    doesn't matter.
    """
    digest = remote.wire.signature_digest(trx)
    trx.signatures = tuple(sign(signer.secret, digest, Canonical.fc_canonical) for signer in signers)
    remote.wire.seal(trx)


def prompt_for_keys(signing: KeyChoice, given: tuple[bytes, ...], ask: Callable[[str], str]) -> tuple[Signer, ...] | None:
    """Prompt for further keys until they suffice. Return None if the user enters nothing."""
    texts: Any = given
    while len(texts) < KEYS_MAX:
        text = ask(f"{signing.missing()}\nPrivate key (not shown; empty to give up): ")
        if not text.strip():
            return None
        texts = (*texts, parse_key(text))
        found = signing.choose(texts)
        if found is not None:
            return found
    return None
