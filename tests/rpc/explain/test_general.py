"""The general explanation of refusals for which there is no specific one."""

import pytest

from rpc.explain.budget import SharedBudget
from rpc.explain.case import RefusalCase
from rpc.explain.explain import explain
from state.protocol.errors import Refused
from tests.helpers.nodes import dev_chain, make_block, transfer


@pytest.mark.parametrize("name", ["rule", "why", "what_to_do", "self", "what", "fields", "operation"])
def test_the_values_of_a_refusal_can_have_any_name(name: str) -> None:
    chain = dev_chain()
    make_block(chain)
    for text in (f"it is refused: ${{{name}}}", "${n} calls wait for transactions already"):
        error = Refused(text, condition="a > b", **{name: "told"})
        explanation = explain(RefusalCase(chain, error, transfer(chain), SharedBudget().budget(0)))
        assert explanation.why
        assert name == "what" or name in explanation.values
