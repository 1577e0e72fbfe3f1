"""Renders the pages of docs/api as markdown from the OpenRPC document; `bin.docs` writes the files. Not related to the pages of
condenser_api.get_state.
"""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

Document = dict[str, Any]
Pages = dict[str, str]

INDEX, RECORDS, OPERATIONS = "index.md", "records.md", "operations.md"
MADE_BY = "<!-- Made by `python -m bin.docs` from the declarations in rpc/api and rpc/records. Don't edit. -->"
WHOLE_TYPES = {2**bits - 1 for bits in (7, 8, 15, 16, 31, 32, 63, 64)}
ERRORS = (
    (-32700, "an element of a request is not an object"),
    (-32600, 'not a JSON-RPC 2.0 request: `jsonrpc` is not "2.0", `method` is missing, or `id` is neither an integer nor a text'),
    (-32001, "`call` without `params`"),
    (-32002, "there is no such method or group, or its plugin is off"),
    (-32003, "the method refuses its arguments: the message begins with `Assert Exception:`"),
    (-32000, "everything else: arguments that can't be parsed, refusals of the chain, invalid JSON"),
)
OPENING = """
Every method is called by HTTP POST, or in a text frame of a WebSocket, on any path:
```
curl -s http://127.0.0.1:8090 -d '{"jsonrpc": "2.0", "id": 1, "method": "condenser_api.get_accounts", "params": [["alice"]]}'
```
Methods of condenser_api take their arguments as one array, all others as an object by name, or as an array in the order of the table.
Missing arguments have the defaults that `jsonrpc.get_signature` shows. Numbers can also be sent as text.

The form `"method": "call", "params": ["GROUP", "METHOD", ARGUMENTS]` is equivalent. The reply to an array of requests is an array.
`rpc.discover` returns all of this as an OpenRPC document in the spelling of the node's chain. These pages use the spelling of `dev`.
"""


def pages(document: Document) -> Pages:
    """Return the text of every page by file name: an index, one page per group, the records, the operations."""
    methods = sorted(document["methods"], key=lambda method: method["name"])
    groups = {name: list(members) for name, members in groupby(methods, key=lambda method: method["name"].split(".")[0])}
    schemas = document["components"]["schemas"]
    texts = {f"{name}.md": _group(name, members) for name, members in groups.items()}
    return {INDEX: _index(groups), **texts, RECORDS: _records(schemas), OPERATIONS: _operations(schemas)}


# ------------------------------------------------------------------ pages


def _index(groups: dict[str, list[Any]]) -> str:
    lines = ["# Methods", MADE_BY, OPENING.strip("\n"), "", "| group | methods |", "|---|---|"]
    lines += [f"| [{name}]({name}.md) | {len(members)} |" for name, members in groups.items()]
    lines += [
        "",
        f"Their results contain [records]({RECORDS}) and [operations]({OPERATIONS}).",
        "",
        "## Errors",
        "",
        "| code | when |",
        "|---|---|",
    ]
    lines += [f"| {code} | {when} |" for code, when in ERRORS]
    return _joined(lines)


def _group(name: str, methods: list[Any]) -> str:
    lines = [f"# {name}", MADE_BY, f"Back to the [index]({INDEX})."]
    for method in methods:
        lines += ["", f"## {method['name']}", *_method(method)]
    return _joined(lines)


def _method(method: Any) -> Iterator[str]:
    yield method.get("description", method["summary"])
    yield ""
    if method["params"]:
        yield from ("| argument | type | when left out |", "|---|---|---|")
        for parameter in method["params"]:
            yield f"| `{parameter['name']}` | {type_text(parameter['schema'])} | {_left_out(parameter, method)} |"
        yield ""
    yield f"Result: {type_text(method['result']['schema'])}"
    yield ""
    for error in method["errors"]:
        yield f"- refused with {error['code']}: `{error['message'].strip()}`"
    for example in method["examples"]:
        given = {member["name"]: member["value"] for member in example["params"]}
        params = list(given.values()) if method["paramStructure"] == "by-position" else given
        yield from ("```", json.dumps({"jsonrpc": "2.0", "id": 1, "method": method["name"], "params": params}), "```")


def _left_out(parameter: Any, method: Any) -> str:
    if parameter["required"]:
        return "refused" if method["paramStructure"] == "by-position" else "needed"
    default = parameter["schema"].get("default")
    return "nothing" if default is None else f"`{json.dumps(default)}`"


def _records(schemas: dict[str, Any]) -> str:
    lines = ["# Records", MADE_BY, "Records that differ in condenser_api have a second form, whose name begins with `Condenser`."]
    operations = {reference for pair in _pairs(schemas) for reference in pair}
    for name, schema in schemas.items():
        if name not in operations:
            lines += ["", f"## {name}", *_record(schema)]
    return _joined(lines)


def _record(schema: Any) -> Iterator[str]:
    yield schema.get("description", "")
    yield ""
    if "properties" in schema:
        yield from ("| member | type |", "|---|---|")
        for name, member in schema["properties"].items():
            yield f"| `{name}` | {type_text(member)}{'' if name in schema['required'] else ', may be absent'} |"
    elif "description" not in schema:
        yield type_text(schema)


def _operations(schemas: dict[str, Any]) -> str:
    about = (
        'The condenser shows an operation as `["transfer", {...}]`, all other groups as `{"type": "transfer_operation", "value": {...}}`. '
        "The table shows both forms of members that differ in the condenser."
    )
    lines = ["# Operations", MADE_BY, about]
    for appbase, condenser in _pairs(schemas):
        ours, theirs = schemas[appbase], schemas[condenser]
        lines += ["", f"## {appbase}", ours["description"], "", "| member | type | in condenser_api |", "|---|---|---|"]
        for name, member in ours["properties"].items():
            both = type_text(member), type_text(theirs["properties"][name])
            lines.append(f"| `{name}` | {both[0]} | {'the same' if both[0] == both[1] else both[1]} |")
    return _joined(lines)


def _pairs(schemas: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the components of each operation in both forms."""
    appbase = [_target(each["properties"]["value"]) for each in schemas["Operation"]["anyOf"]]
    condenser = [_target(each["items"][1]) for each in schemas["CondenserOperation"]["anyOf"]]
    return list(zip(appbase, condenser, strict=True))


# ------------------------------------------------------------------ types


def type_text(schema: Any) -> str:
    """Describe a schema in words, with links to records."""
    if "$ref" in schema:
        return _link(_target(schema))
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return " or ".join(f"`{name}`" for name in schema["enum"])
    for several in ("anyOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(type_text(each) for each in schema[several]))
    match schema.get("type"):
        case "array":
            items = schema["items"]
            return f"list of {type_text(items)}" if isinstance(items, dict) else f"[{', '.join(map(type_text, items))}]"
        case "object" if "properties" in schema:
            return "{" + ", ".join(f"`{name}`: {type_text(member)}" for name, member in schema["properties"].items()) + "}"
        case "object" if "additionalProperties" in schema:
            return f"object of {type_text(schema['additionalProperties'])} by name"
        case "string":
            return str(schema.get("description", "text"))
        case "integer":
            maximum = schema.get("maximum", 0)
            return f"integer, at most {maximum}" if maximum and maximum not in WHOLE_TYPES else "integer"
        case None:
            return "anything"
    return str(schema["type"])


def _target(schema: Any) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _link(name: str) -> str:
    page = OPERATIONS if name.endswith("_operation") else RECORDS
    return f"[{name}]({page}#{name.lower()})"


def _joined(lines: list[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"
