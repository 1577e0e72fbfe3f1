"""`coind keys`: prints the keys of an account, without a node. The keys come from a chain spec, or from the account's name and a
password, for example that of a fork.
"""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from node.cli.parameters import Chain, Config
from node.client.urls import is_url
from node.fork.file import read_fork
from node.runtime.errors import NodeError
from node.runtime.output import say
from node.specs.builder import DEFAULT_CHAIN, load_spec
from state.chain.known_keys import known_accounts
from state.protocol.keys.keys import ROLES, derive_secret, public_key, public_key_text, wif_from_secret
from state.protocol.spec import ChainSpec
from state.protocol.values.text import is_valid_account_name

DEFAULT_PASSWORD = "dev"


def keys_command(
    name: Annotated[str, Parameter(help="The name of an account.")],
    /,
    *,
    chain: Chain = DEFAULT_CHAIN,
    fork: Annotated[str | None, Parameter(help="A fork file whose accounts have derived keys, instead of a chain spec.")] = None,
    role: Annotated[Literal["owner", "active", "posting", "memo"] | None, Parameter(help="Only the keys of this role.")] = None,
    password: Annotated[
        str | None, Parameter(help="The password for deriving the keys; by default that of the chain's accounts.", show_default=False)
    ] = None,
    config: Config = None,
) -> int:
    """Print the keys of an account from the chain spec, or derived from its name and a password."""
    if not is_valid_account_name(name):
        raise NodeError(f"{name} is not a valid account name")
    if fork is not None and is_url(fork):
        raise NodeError(f"--fork {fork}: expected a fork file. The banner of coind run --fork URL names the file of that chain.")
    spec = load_spec(chain) if fork is None else read_fork(Path(fork)).spec
    secrets, origin = keys_of(spec, name, password)
    say(f"keys of {name}{origin}, public ones with the prefix of the chain {spec.name} ({spec.key_prefix})")
    for each in ROLES if role is None else (role,):
        if each not in secrets:
            raise NodeError(f"the spec of {spec.name} has only the public {each} key of {name}, not the private one")
        say(f"{each:8}public   {public_key_text(public_key(secrets[each]), spec.key_prefix)}")
        say(f"{each:8}private  {wif_from_secret(secrets[each])}")
    return 0


def keys_of(spec: ChainSpec, name: str, password: str | None) -> tuple[dict[str, bytes], str]:
    """Return the secrets of an account by role, and a remark on their origin ("" if it is obvious). Raises NodeError if they are
    unknown.
    """
    if password is None and spec.account_password:
        password = spec.account_password
    if password is None:
        known = next((account for account in known_accounts(spec) if account.name == name), None)
        if known is not None:
            return known.secrets, " as its spec gives them to a witness" if is_witness(spec, name) else ""
        if spec.base.number:
            raise NodeError(f"the accounts of the {spec.name} have their own keys. Use --password to derive others from the name.")
        if is_witness(spec, name) or any(account.name == name for account in spec.genesis.accounts):
            raise NodeError(f"the spec of {spec.name} has only public keys of {name}. Use --password to derive others from its name.")
    chosen = default_password(spec) if password is None else password
    origin = f" from its name and the password {chosen}" if password is None and not spec.is_test else ""
    return {role: derive_secret(name, role, chosen) for role in ROLES}, origin


def is_witness(spec: ChainSpec, name: str) -> bool:
    """Whether an account is a witness at genesis."""
    return name in spec.genesis.witness_names


def default_password(spec: ChainSpec) -> str:
    """Return the password of the first account in the spec that has one, or else the password of the dev chain's accounts."""
    return next((account.password for account in spec.genesis.accounts if account.password), DEFAULT_PASSWORD)
