"""Replies to failed requests: invalid requests, unknown methods, refusals with explanations, and bugs. Source: rpc-api.md §1.4-§1.8."""

from collections.abc import Callable
from typing import Any

from rpc.caller import Caller
from rpc.declare import errors
from rpc.declare.arguments import PreparsedTransaction
from rpc.declare.demand import NotFetched
from rpc.declare.plugin_switches import hint
from rpc.explain.explainer import Explainer
from rpc.json.encoding import encoded
from rpc.jsonrpc.registry import BoundMethod, Path, Registry, Rights
from rpc.log import Log
from state.protocol.errors import ChainError, EndOfFile, Refused, UnreadableBlock
from state.protocol.transaction import SignedTransaction, Wire
from state.protocol.work import TooMuchWork

REQUEST_LOGGED_MAX = 2000
NOTHING_SENT = "send a JSON-RPC request by POST. /health shows the state of the node, and / the explorer unless it is off"

RequestId = int | str | None
# A function that is called after each request with the method's name ("" if unknown), the duration in seconds, and the error.
Observe = Callable[[str, float, Exception | None], None]
_NO_REQUEST = errors.InvalidRequest()
_log = Log("rpc")


class ErrorReplies:
    """Builds the replies to failed requests, with the names and symbols of one chain."""

    def __init__(self, registry: Registry, wire: Wire, clock: errors.Clock, explainer: Explainer | None, observe: Observe) -> None:
        self._registry, self._wire, self._clock, self._explainer, self._observe = registry, wire, clock, explainer, observe

    def failed(self, request_id: RequestId, error: Exception, request: Any) -> bytes:
        """Return the error reply to a call that raised `error`."""
        if isinstance(error, errors.PushFailed):
            said = errors.error_object(error.error, errors.SERVER_ERROR, self._wire, self._clock)
            if error.units:
                said["data"].setdefault("units", error.units)
            return self._explained(request_id, said, error.error, request, error.transaction)
        if isinstance(error, errors.UpstreamError):
            return error_reply(request_id, error.error)
        if isinstance(error, errors.InvalidParameters):
            return error_reply(request_id, errors.invalid_parameters(error))
        if isinstance(error, errors.NotServed):
            return self.refused(request_id, error.error, errors.DISPATCH_ERROR)
        if isinstance(error, errors.NotEnabled):
            return self.refused(request_id, error.error, errors.CALL_ERROR, hint=hint(error.plugins))
        if isinstance(error, ChainError):
            said = errors.error_object(error, errors.code_of(error, errors.CALL_ERROR), self._wire, self._clock)
            return self._explained(request_id, said, error, request)
        if isinstance(error, errors.BadArgument):
            said = errors.error_object(error.error, errors.code_of(error.error, errors.CALL_ERROR), self._wire, self._clock)
            said["data"]["parameter"] = error.name
            return self._explained(request_id, said, error.error, request, unread=error.unread)
        if isinstance(error, UnreadableBlock):
            # The reason can contain the path of the file.
            _log.error("a block can't be read", block=error.number, reason=str(error))
            refused = Refused("block ${block} can't be read, see the log of the node", condition="block is readable", block=error.number)
            return self.refused(request_id, refused, errors.CALL_ERROR)
        return self.bug(request_id, error, request)

    def _explained(
        self,
        request_id: RequestId,
        said: dict[str, Any],
        error: ChainError,
        request: Any,
        trx: SignedTransaction | None = None,
        unread: tuple[Any, bool] | None = None,
    ) -> bytes:
        """Return an error reply. If the request broadcasts a transaction, the reply also explains the refusal of that transaction."""
        # If the request exceeded the work limit before its transaction was parsed, parsing the transaction again would take as long.
        is_unread = trx is None and isinstance(error, TooMuchWork)
        if self._explainer is not None and not is_unread and not isinstance(error, errors.RefusedTooOften):
            given, is_legacy = (unread or self._transaction_of(request)) if trx is None else (None, False)
            given = dict(given) if type(given) is PreparsedTransaction else given
            if trx is None and given is not None:
                try:
                    trx = self._wire.transaction_from_json(given, is_legacy)
                except ChainError as found:
                    error = found
            if trx is not None or given is not None:
                explanation = self._explainer.refuse(trx, error, given=given, is_legacy=is_legacy)
                if explanation is not None:
                    said["data"]["explain"] = explanation
            elif isinstance(error, NotFetched) and (explanation := self._explainer.explain_call(error)) is not None:
                said["data"]["explain"] = explanation
        return error_reply(request_id, said)

    def _transaction_of(self, request: Any) -> tuple[Any, bool]:
        """Return the JSON of the transaction that a request broadcasts, and whether it has the condenser's form. Return (None, False) if it
        broadcasts none.
        """
        found = self._registry.transaction_of(request)
        return (None, False) if found is None else (found[0][found[1]], found[2])

    def refused(self, request_id: RequestId, error: ChainError, code: int, **members: Any) -> bytes:
        """Return the reply to a refused request. `members` are added to `error.data`."""
        said = errors.error_object(error, code, self._wire, self._clock)
        said["data"].update(members)
        return error_reply(request_id, said)

    def not_found(self, request_id: RequestId, path: Path, caller: Caller) -> bytes:
        """Return the reply to an unknown method name, with similar names, or with the reason why the method isn't served."""
        rights = caller.is_local, caller.session is not None
        error = self._registry.not_found(path, rights)
        self._observe("", 0.0, error)
        return self.refused(request_id, error, errors.DISPATCH_ERROR, **self._registry.suggestion(path, rights))

    def hidden(self, request_id: RequestId, bound: BoundMethod, rights: Rights, why: str) -> bytes:
        """Return the reply to a caller who may not use a method. It looks like the reply for an unknown method, but also has a hint about
        the missing right.
        """
        error = self._registry.not_found(tuple(bound.name.split(".")), rights)
        self._observe(bound.name, 0.0, error)
        return self.refused(request_id, error, errors.DISPATCH_ERROR, hint=why)

    def malformed(self, request_id: RequestId, code: int, message: str) -> bytes:
        """Return the reply to a request that isn't valid JSON-RPC."""
        self._observe("", 0.0, _NO_REQUEST)
        return error_reply(request_id, errors.plain_error(code, message))

    def rejected(self, error: Exception, body: bytes, code: int = errors.SERVER_ERROR) -> bytes:
        """Return the reply to a body or request that was refused before its method was known."""
        self._observe("", 0.0, error)
        if not isinstance(error, ChainError):
            return self.bug(None, error, body)
        return self.refused(None, error, code, **({"hint": NOTHING_SENT} if isinstance(error, EndOfFile) else {}))

    def bug(self, request_id: RequestId, error: Exception, request: Any) -> bytes:
        """Log an unexpected error together with its request. Return a reply that doesn't reveal details."""
        shown = request if isinstance(request, bytes) else encoded(request)
        _log.error("request failed", request=shown[:REQUEST_LOGGED_MAX].decode("utf-8", "replace"), exc_info=error)
        return error_reply(request_id, errors.internal_error())


def error_reply(request_id: RequestId, error: dict[str, Any]) -> bytes:
    """Encode a reply that contains this error object."""
    return encoded({"jsonrpc": "2.0", "error": error, "id": request_id})
