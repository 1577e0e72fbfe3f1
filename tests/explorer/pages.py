"""The addresses of explorer pages on the chain of `world`, keyed by the names that screenshots and checks use for them."""

from tests.explorer.world import COMMUNITY, Node


def addresses(node: Node) -> dict[str, str]:
    """Return the addresses of all pages."""
    entries = node.call("condenser_api.get_account_history", ["alice", -1, 100])
    sent = next(entry for _, entry in reversed(entries) if entry["op"][0] == "transfer")
    refused = node.call("dev_api.list_refused", {"limit": 1})[0]
    token = node.call("database_api.list_smt_tokens", {"start": {}, "limit": 1, "order": "by_symbol"})["tokens"][0]["token"][
        "liquid_symbol"
    ]["nai"]
    key = node.call("condenser_api.get_accounts", [["alice"]])[0]["memo_key"]
    return {
        "home": "/",
        "blocks": "/blocks",
        "block": f"/block/{sent['block']}",
        "transaction": f"/transaction/{sent['trx_id']}",
        "account": "/@alice",
        "account history": "/@alice?tab=history",
        "account authorities": "/@shared.fund?tab=authorities",
        "account of a stranger": "/@judy",
        "post": "/@bob/hello",
        "post unpaid": "/@bob/unpaid",
        "post paid": "/@alice/paid",
        "post of a stranger": "/@judy/attack-0",
        "posts": "/posts/trending",
        "communities": "/communities",
        "community": f"/community/{COMMUNITY}",
        "market": "/market",
        "witnesses": "/witnesses",
        "proposals": "/proposals",
        "proposal": "/proposal/0",
        "tokens": "/tokens",
        "token": f"/token/{token}",
        "due": "/due",
        "refused": "/refused",
        "refusal": f"/refused/{refused['id']}",
        "fork": "/fork",
        "node": "/node",
        "console": "/console",
        "console method": "/console/database_api.find_accounts",
        "search": f"/search?q={key}",
        "not found": "/no/such/page",
    }
