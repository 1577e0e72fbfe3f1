"""`coind keys`: prints the keys that a name and a password give, without a node."""

from typing import Annotated, Literal

from cyclopts import Parameter

from node.commands.shared import DEFAULT_CHAIN, say
from node.failures import NodeError
from node.specs import load_spec
from state.protocol.keys.keys import ROLES, derive_secret, public_key, public_key_text, wif_from_secret
from state.protocol.values.text import is_valid_account_name


def keys_command(
    name: Annotated[str, Parameter(help="The name of an account.")],
    /,
    *,
    role: Annotated[Literal["owner", "active", "posting", "memo"] | None, Parameter(help="Only the keys of this role.")] = None,
    password: Annotated[str, Parameter(help="The password that the keys are derived from.")] = "dev",
) -> int:
    """Print the keys that follow from an account's name, a role and a password, with the prefix of the chain dev."""
    if not is_valid_account_name(name):
        raise NodeError(f"{name} is no valid account name")
    prefix = load_spec(DEFAULT_CHAIN).key_prefix
    say(f"keys of {name}, public ones with the prefix of the chain {DEFAULT_CHAIN} ({prefix})")
    for each in ROLES if role is None else (role,):
        secret = derive_secret(name, each, password)
        say(f"{each:8}public   {public_key_text(public_key(secret), prefix)}")
        say(f"{each:8}private  {wif_from_secret(secret)}")
    return 0
