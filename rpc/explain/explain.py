"""Selects the function that explains a refusal.

The choice depends on whether the transaction was parsed, then on the error's class, its condition and its message.
"""

from collections.abc import Callable

from rpc.explain import funds
from rpc.explain.authority.malformed import BY_CONDITION, BY_TEXT
from rpc.explain.authority.missing import missing_authority, superfluous
from rpc.explain.case import Explanation, RefusalCase
from rpc.explain.credits import too_few_credits
from rpc.explain.duplicates import duplicate, not_unique, waited_for
from rpc.explain.general import any_refusal
from rpc.explain.objects import unknown_object
from rpc.explain.parse_failures import unreadable
from rpc.explain.sentences import Sentence, explain_by
from rpc.explain.table import BEGINNINGS, CONDITIONS, TEXTS
from rpc.explain.times import wrong_reference, wrong_time
from state.chain.transactions import DUPLICATE_CONDITION
from state.protocol import errors

Explain = Callable[[RefusalCase], Explanation]

CLASSES: dict[type[errors.ChainError], Explain] = {
    errors.MissingActiveAuthority: missing_authority,
    errors.MissingOwnerAuthority: missing_authority,
    errors.MissingPostingAuthority: missing_authority,
    errors.MissingOtherAuthority: missing_authority,
    errors.IrrelevantSignature: superfluous,
    errors.DuplicateSignature: superfluous,
    errors.TransactionExpired: wrong_time,
    errors.WrongReferenceBlock: wrong_reference,
    errors.UnknownKey: unknown_object,
    errors.NotUnique: not_unique,
}
FUNCTIONS_BY_CONDITION: dict[str, Explain] = {
    **BY_CONDITION,
    DUPLICATE_CONDITION: duplicate,
    "_callbacks.find( txid ) == _callbacks.end()": waited_for,
    funds.SAVINGS: funds.savings,
    funds.POWER_DOWN: funds.power_down,
}
FUNCTIONS_BY_TEXT: dict[str, Explain] = {
    **BY_TEXT,
    "Account: ${account} has ${rc_current} RC, needs ${rc_needed} RC. Please wait to transact, or power up COIN.": too_few_credits,
    "Account ${acc} does not have sufficient funds for balance adjustment. Required: ${r}, Available: ${a}": funds.balance,
    "Account ${acc} does not have enough mana to delegate. required: ${r} available: ${a}": funds.delegation,
    "Account ${acc} does not have enough downvote mana to delegate. required: ${r} available: ${a}": funds.delegation,
    funds.NEW_ACCOUNT: funds.creation_fee,
}


def explain(case: RefusalCase) -> Explanation:
    """Explain why a transaction is refused."""
    if case.trx is None:
        return unreadable(case)
    error = case.error
    function = CLASSES.get(type(error)) or FUNCTIONS_BY_CONDITION.get(error.condition) or FUNCTIONS_BY_TEXT.get(error.text)
    if function is not None:
        return function(case)
    sentence = sentence_for(error)
    return any_refusal(case) if sentence is None else explain_by(sentence, case)


def sentence_for(error: errors.ChainError) -> Sentence | None:
    """Return the declared sentence for a refusal, or None if none is declared."""
    found = TEXTS.get(error.text) or CONDITIONS.get(error.condition)
    if found is None:
        said = error.text or error.condition
        found = next((sentence for beginning, sentence in BEGINNINGS.items() if said.startswith(beginning)), None)
    return found
