"""Looks up accounts by public key. Source: rpc-api.md §3.2.2, §3.4, §6.7."""

from rpc.declare.arguments import AccountName, PublicKey
from rpc.declare.method import method
from state.plugins import account_by_key
from state.plugins.account_by_key import ACCOUNT_BY_KEY
from state.tables import State

REFERENCES_MAX = 10_000

# In the reference, this refusal names another plugin.
OFF = ("_account_by_key_api", "account_history_api_plugin not enabled.")


@method("account_by_key_api.get_key_references", key="accounts", plugin=ACCOUNT_BY_KEY)
@method("condenser_api.get_key_references", plugin=ACCOUNT_BY_KEY, not_enabled=OFF)
def get_key_references(state: State, keys: list[PublicKey]) -> list[list[AccountName]]:
    """For each key, list the names of at most 10,000 accounts that use it as an owner, active or posting key, in ascending order."""
    return [list(account_by_key.references(state, key)[:REFERENCES_MAX]) for key in keys]
