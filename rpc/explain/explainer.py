"""Explains refusals for the service, and keeps a log of the newest ones.

A bug in an explanation is logged, and the reply then has no explanation.
"""

from collections.abc import Callable
from typing import Any

from rpc.explain.budget import Budget, SharedBudget
from rpc.explain.case import Explanation, KnownChains, RefusalCase, no_chains
from rpc.explain.refused_log import RefusedTransactionLog
from rpc.log import Log
from state.chain.chain import Chain
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedTransaction

Clock = Callable[[], float]
RefusedListener = Callable[[SignedTransaction | None, ChainError, Explanation | None], None]

_log = Log("explain")


class Explainer:
    """Explains why transactions are refused on one chain. `clock` returns seconds since 1970.

    For each refused client transaction, every listener in `on_refused` is called with the transaction, its error and its explanation.
    """

    def __init__(self, chain: Chain, clock: Clock, known_chains: KnownChains = no_chains) -> None:
        self.refused = RefusedTransactionLog(chain.state.wire)
        self.on_refused: list[RefusedListener] = []
        self._chain, self._clock, self._known_chains = chain, clock, known_chains
        self._shared_budget = SharedBudget()

    def refuse(self, trx: SignedTransaction | None, error: ChainError, *, given: Any = None, is_legacy: bool = False) -> Explanation | None:
        """Explain a refused broadcast and add it to the log. If the explanation fails, log the failure and return None.

        `given` is the received JSON if it couldn't be parsed as a transaction.
        """
        now = self._clock()
        try:
            explanation = self.explain(trx, error, self._shared_budget.budget(int(now * 1000)), given=given, is_legacy=is_legacy)
            head = self._chain.state.props.head_block_number
            self.refused.add(int(now), head, trx, given, error, explanation)
            for listener in self.on_refused:
                listener(trx, error, explanation)
        except Exception as bug:
            _log.error("a refusal could not be recorded", refusal=str(error)[:200], exc_info=bug)
            return None
        return explanation

    def explain_call(self, error: ChainError) -> Explanation | None:
        """Explain the refusal of a call that isn't a broadcast, by the sentence that is declared for it."""
        from rpc.explain.explain import sentence_for
        from rpc.explain.sentences import explain_by

        sentence = sentence_for(error)
        case = RefusalCase(self._chain, error, None, self._shared_budget.budget(int(self._clock() * 1000)))
        return None if sentence is None else explain_by(sentence, case)

    def explain(
        self, trx: SignedTransaction | None, error: ChainError, budget: Budget, *, given: Any = None, is_legacy: bool = False
    ) -> Explanation | None:
        """Explain why a transaction is refused. If the explanation fails, log the failure and return None."""
        case = RefusalCase(self._chain, error, trx, budget, given, is_legacy, self._known_chains, int(self._clock()))
        try:
            # Imported at the first refusal, since importing most of this package would slow down every start.
            from rpc.explain.explain import explain

            return explain(case)
        except Exception as bug:
            _log.error("a refusal could not be explained", refusal=str(error)[:200], exc_info=bug)
            return None
