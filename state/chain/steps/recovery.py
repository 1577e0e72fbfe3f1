"""Block steps for requests about accounts: recovery, changes of the recovery partner, declined voting rights.

Source: block-processing.md §3.20, §3.22.
"""

from state.effects.votes import clear_witness_votes, own_and_proxied, propagate_all
from state.protocol.transaction import SignedBlock
from state.tables import State


def account_recovery_processing(state: State, block: SignedBlock) -> None:
    """Remove expired recovery requests and old owner authorities, and make the changes of recovery partners that are due."""
    requests = state.recovery_requests
    while (request := requests.by_expiration.first()) is not None and request.expires <= state.head_time:
        requests.remove(request)
    forget_owner_histories(state)
    changes = state.change_recovery_requests
    while (change := changes.by_effective_date.first()) is not None and change.effective_on <= state.head_time:
        state.accounts.modify(state.account(change.account_to_recover), recovery_account=change.recovery_account)
        changes.remove(change)


def forget_owner_histories(state: State) -> None:
    """Remove former owner authorities that are too old for a recovery. Stop at the first one, in id order, that is recent enough."""
    histories, period = state.owner_histories, state.spec.constants.COIN_OWNER_AUTH_RECOVERY_PERIOD
    if not len(histories):  # the usual case
        return
    while (oldest := next(iter(histories), None)) is not None and oldest.last_valid_time + period < state.head_time:
        histories.remove(oldest)


def process_decline_voting_rights(state: State, block: SignedBlock) -> None:
    """Remove the witness votes, proxy and voting right of accounts whose request to decline voting rights is due."""
    requests = state.decline_voting_requests
    while (request := requests.by_effective_date.first()) is not None and request.effective_date <= state.head_time:
        account = state.account(request.account)
        propagate_all(state, account, tuple(-weight for weight in own_and_proxied(account)))
        clear_witness_votes(state, account)
        state.accounts.modify(account, can_vote=False, proxy="")
        requests.remove(request)
