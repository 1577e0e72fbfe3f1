"""docs/clients.md and the client sessions: their chain ids, keys and versions match those of the chains and the pinned requirements."""

import re

import pytest

from node.specs.builder import load_spec
from state.protocol.keys.keys import derive_secret, wif_from_secret
from tests.clients.__main__ import CLIENTS, Client
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
CHAINS = {name: load_spec(name) for name in ("dev", "dev-tests", "mainnet-like", "steem-testnet")}
KNOWN_KEYS = {
    *CHAINS["steem-testnet"].witness_keys,
    *(wif_from_secret(derive_secret("alice", role, "dev")) for role in ("active", "posting")),
}


def texts() -> list[str]:
    """Return the text of the page and of every session."""
    return [
        PAGE,
        *(
            path.read_text(encoding="utf-8")
            for path in sorted((ROOT / "tests" / "clients").rglob("*.[pj][ys]"))
            if "node_modules" not in path.parts
        ),
    ]


def test_chain_ids_match_the_chains() -> None:
    known = {spec.chain_id.hex() for spec in CHAINS.values()}
    found = {text for page in texts() for text in re.findall(r"\b[0-9a-f]{64}\b", page)}
    assert found == known


def test_private_keys_match_the_chains() -> None:
    found = {text for page in texts() for text in re.findall(r"\b5[1-9A-HJ-NP-Za-km-z]{50}\b", page)}
    assert found == KNOWN_KEYS


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_versions_match_the_pinned_ones(client: Client) -> None:
    (version,) = re.findall(rf"\| \[{re.escape(client.name)}\]\(#{re.escape(client.name)}\) \(\w+\) \| ([\d.]+) \|", PAGE)
    pins = client.folder / ("package.json" if client.is_javascript else "requirements.txt")
    assert re.search(rf"\b{version}\b", pins.read_text(encoding="utf-8"))
