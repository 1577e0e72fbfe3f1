"""rc_api: the resources and their costs."""

import pytest

from state.plugins.rc.plugin import RC
from state.plugins.rc.prices import RESOURCES
from state.plugins.registry import PLUGINS
from tests.helpers.api import ApiChain


@pytest.fixture
def api() -> ApiChain:
    """A chain at genesis with every plugin."""
    return ApiChain(plugins=[*PLUGINS])


def test_resources(api: ApiChain) -> None:
    api.start(1)
    reply = api.call("rc_api.get_resource_params")
    assert reply["resource_names"] == [resource.name for resource in RESOURCES] == list(reply["resource_params"])
    history = reply["resource_params"]["resource_history_bytes"]
    assert history["resource_dynamics_params"]["pool_eq"] == "27050539251"
    assert history["resource_dynamics_params"]["decay_params"] == {
        "decay_per_time_unit": 3613026481,
        "decay_per_time_unit_denom_shift": 51,
    }
    assert history["price_curve_params"] == {"coeff_a": "14034213032882683904", "coeff_b": 211332338, "shift": 52}
    sizes = reply["size_info"]
    assert sizes["resource_state_bytes"]["STATE_BYTES_SCALE"] == 10000
    assert sizes["resource_execution_time"]["vote_operation_exec_time"] == 26500
    assert sizes["resource_execution_time"]["smt_create_operation_exec_time"] == 0
    of_mainnet = ApiChain("steem-mainnet", plugins=[RC.name]).call("rc_api.get_resource_params")["size_info"]["resource_execution_time"]
    assert not [name for name in of_mainnet if name.startswith("smt_") or "balance2" in name]
    assert len(of_mainnet) == len(sizes["resource_execution_time"]) - 7
