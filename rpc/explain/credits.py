"""Explains transactions whose payer has too few resource credits."""

from typing import Any

from rpc.explain.case import Explanation, RefusalCase, span
from state.effects.balances import vests_to_coin
from state.plugins.rc.plugin import RC
from state.plugins.rc.rows import REGENERATION_SECONDS, maximum_rc
from state.protocol.values.asset import COIN, VESTS
from state.protocol.values.text import time_text

POWER_UP = "Power up {vests} or more (about {price}), or get VESTS delegated: VESTS determine the resource credits."


def too_few_credits(case: RefusalCase) -> Explanation:
    """Explain that the payer has too few resource credits: how many it needs, how many it has left, and when it will have enough."""
    values = case.error.values
    name, needed, current = values["account"], values["rc_needed"], values["rc_current"]
    assert isinstance(name, str)
    assert isinstance(needed, int)
    assert isinstance(current, int)
    state = case.state
    row, account = RC.of(state).accounts.by_account.get(name), state.accounts.by_name.get(name)
    maximum = 0 if row is None or account is None else maximum_rc(account, row.adjustment)
    missing = needed - current
    why = f"The transaction costs {needed:,} resource credits, and {name}, who pays for it, has {current:,}: {missing:,} are missing."
    facts: dict[str, Any] = {"account": name, "needed": needed, "current": current, "missing": missing, "maximum": maximum}
    if needed > maximum:
        vests = needed - maximum
        why += f" {name} can have at most {maximum:,}, so waiting doesn't help."
        to_do = POWER_UP.format(vests=case.asset_text(vests, VESTS), price=case.asset_text(vests_to_coin(state, vests) + 1, COIN))
        facts |= {"seconds_to_wait": None, "enough_at": None, "cause": "maximum_too_small"}
        return case.explained("too_few_resource_credits", why, to_do, **facts)
    seconds = -(-missing * REGENERATION_SECONDS // maximum)
    at = time_text(state.head_time + seconds)
    why += f" They regenerate from 0 to {maximum:,} in five days. In {span(seconds)}, at {at}, there will be enough."
    to_do = case.spec.spell(f"Send it again after {at}, or power up COIN.")
    return case.explained("too_few_resource_credits", why, to_do, **facts, seconds_to_wait=seconds, enough_at=at, cause="wait")
