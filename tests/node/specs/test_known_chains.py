"""The chains that explanations of refusals can name: those in `genesis/` and public ones."""

from node.specs.builder import load_spec, spec_names
from node.specs.known_chains import known_chains


def test_all_specs_are_known() -> None:
    by_name = {known.name: known for known in known_chains()}
    assert by_name.keys() > set(spec_names())
    for name in spec_names():
        spec, known = load_spec(name), by_name[name]
        assert (known.chain_id, known.coin, known.debt, known.vests) == (
            spec.chain_id,
            spec.coin_symbol,
            spec.debt_symbol,
            spec.vests_symbol,
        )


def test_the_ids_of_public_chains() -> None:
    by_name = {known.name: known for known in known_chains()}
    assert by_name["Hive"].chain_id.hex() == "beeab0de" + 56 * "0"
    assert all(len(known.chain_id) == 32 for known in by_name.values())
