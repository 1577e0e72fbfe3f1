"""The explorer's files: their content, headers, and references to each other."""

import gzip
import json
import re
from typing import Any

import pytest

from rpc.explorer.files import FIRST, JOINED, MODULES, POLICY, POLICY_WITH_PICTURES, PREFIX, ROOT, SHEETS, STYLE, TYPES, WebFile, read_files
from rpc.http.access import AccessPolicy
from state.protocol.operation import OPERATIONS
from tests.rpc.http.test_asgi_app import PING, PONG, ask, server

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PAGES = AccessPolicy(has_pages=True)
NAMES = re.compile(r"\{([^}:]+)(?::(\w+))?\}")
KINDS = {"", "account", "accounts", "code", "percent", "permlink", "price", "proposals", "text", "titled", "token"}
SOURCES = sorted((ROOT / "app").rglob("*.js"))


def declared(name: str) -> Any:
    """Return a constant of says.js."""
    return json.loads((ROOT / "app" / "says.js").read_text().partition(f"const {name} = ")[2].partition(";\n")[0])


@pytest.fixture(scope="module")
def files() -> dict[str, WebFile]:
    """The explorer's files by path."""
    return read_files()


async def test_a_browser_gets_the_page_at_every_address() -> None:
    async with server(access=PAGES) as port:
        for path in ("/", "/block/1", "/@alice", "/x/y/z"):
            status, headers, body = await ask(port, "GET", path, None, headers=HTML)
            assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
            assert headers["content-security-policy"] == POLICY
            assert (headers["x-content-type-options"], headers["x-frame-options"]) == ("nosniff", "DENY")
            assert body == (ROOT / "index.html").read_bytes()
        assert (await ask(port, "HEAD", "/", None, headers=HTML))[0] == 200


async def test_only_the_page_with_the_query_may_load_pictures_of_others() -> None:
    async with server(access=PAGES) as port:
        for path, policy in (
            ("/@bob/hello?pictures=shown", POLICY_WITH_PICTURES),
            ("/?tab=votes&pictures", POLICY_WITH_PICTURES),
            ("/@bob/hello?tab=pictures", POLICY),
            ("/@bob/pictures", POLICY),
            (JOINED + "?pictures", POLICY),
        ):
            assert (await ask(port, "GET", path, None, headers=HTML))[1]["content-security-policy"] == policy, path
    assert POLICY_WITH_PICTURES.replace(" https:", "") == POLICY


async def test_other_clients_get_the_plain_answers() -> None:
    async with server(access=PAGES) as port:
        assert (await ask(port, "POST", "/", PING, headers=HTML))[2] == json.dumps(PONG, separators=(",", ":")).encode()
        assert b"jsonrpc" in (await ask(port, "GET", "/", None))[2]
        assert (await ask(port, "GET", "/health", None, headers=HTML))[1]["content-type"] == "application/json"


async def test_files_are_compressed_and_cached_until_they_change() -> None:
    async with server(access=PAGES) as port:
        path = STYLE
        plain = b"".join((ROOT / sheet.removeprefix(PREFIX)).read_bytes() for sheet in SHEETS)
        status, headers, body = await ask(port, "GET", path, None, headers={})
        assert (status, headers["content-type"], body) == (200, "text/css; charset=utf-8", plain)
        status, headers, body = await ask(port, "GET", path, None, headers={"Accept-Encoding": "gzip"})
        assert (headers["content-encoding"], gzip.decompress(body)) == ("gzip", plain)
        asked_again = {"Accept-Encoding": "gzip", "If-None-Match": headers["etag"]}
        status, _, body = await ask(port, "GET", path, None, headers=asked_again)
        assert (status, body) == (304, b"")


async def test_compression_and_caches_of_files() -> None:
    async with server(access=PAGES) as port:
        path = PREFIX + "app.js"
        whole = await ask(port, "GET", path, None)
        tag = whole[1]["etag"]
        for asked, status in (
            ({"Accept-Encoding": "gzip;q=0, *"}, 200),
            ({"If-None-Match": f'"x", {tag}'}, 304),
            ({"If-None-Match": tag, "Accept-Encoding": "gzip"}, 200),
            ({"If-Match": '"x"'}, 412),
            ({"Range": "bytes=10-19"}, 200),
            ({"Range": "bytes=-1"}, 200),
        ):
            got, headers, body = await ask(port, "GET", path, None, headers=asked)
            assert got == status, asked
            assert ("content-encoding" in headers) == (asked.get("Accept-Encoding") == "gzip")
            assert headers["content-security-policy"] == POLICY
            assert "Range" not in asked or body == whole[2]
        status, headers, body = await ask(port, "HEAD", path, None)
        assert (status, headers | {"date": whole[1]["date"]}, body) == (200, whole[1], b"")


async def test_unknown_files_are_404() -> None:
    async with server(access=PAGES) as port:
        for path in ("nothing.js", "../files.py", "..%2ffiles.py", "%2e%2e/files.py", "app/", "", "app/../../files.py"):
            status, headers, _ = await ask(port, "GET", PREFIX + path, None, headers=HTML)
            assert (status, headers["content-security-policy"], headers["x-content-type-options"]) == (404, POLICY, "nosniff"), path


async def test_without_the_explorer_there_are_no_pages() -> None:
    async with server() as port:
        for path in ("/", PREFIX + "app.js"):
            assert b"jsonrpc" in (await ask(port, "GET", path, None, headers=HTML))[2]


def test_modules_import_existing_files(files: dict[str, WebFile]) -> None:
    for module in SOURCES:
        text = module.read_text()
        for name in re.findall(r'^import [^;]*?"([^"]+)"', text, re.MULTILINE):
            assert (module.parent / name).resolve().is_file(), (module.name, name)
        for name in re.findall(r'"(/explorer/[^"]+)"', text):
            assert name in files, (module.name, name)


def test_markup_complies_with_the_policy(files: dict[str, WebFile]) -> None:
    index = (ROOT / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|style=|<style", index)
    assert set(re.findall(r'(?:src|href)="([^"]+)"', index)) <= set(files)
    for module in SOURCES:
        text = module.read_text()
        assert not re.search(r"innerHTML|dangerouslySetInnerHTML|document\.write|\beval\(|new Function|javascript:", text), module.name
        assert not re.search(r"(?:from|import|fetch\(|src=|href=)\s*[\"'`]https?://", text), module.name


def test_a_page_loads_one_file_and_its_imports(files: dict[str, WebFile]) -> None:
    index = (ROOT / "index.html").read_text()
    imported = set(re.findall(r'^import .*? from "([^"]+)";$', files[JOINED].body.decode(), re.MULTILINE))
    assert set(re.findall(r'modulepreload" href="([^"]+)"', index)) | {FIRST} == imported
    assert set(re.findall(r'<script [^>]*src="([^"]+)"', index)) == {FIRST, JOINED}
    assert [path for path in files if path.startswith(MODULES)] == [FIRST]
    for module in SOURCES:
        assert module.name == "calls.js" or module.read_text().splitlines()[-1] in files[JOINED].body.decode()


def test_the_module_of_calls_imports_nothing() -> None:
    assert not re.search(r"^import ", (ROOT / "app" / "calls.js").read_text(), re.MULTILINE)


def test_every_operation_has_its_sentence() -> None:
    sentences = declared("sentences")
    classes = {cls.NAME: cls for cls in OPERATIONS.values()}
    assert sorted(sentences) == sorted(classes)
    for name, sentence in sentences.items():
        fields = {field.rstrip("_") for field in classes[name].__struct_fields__}
        say = {"": sentence["say"]} if isinstance(sentence["say"], str) else sentence["say"]
        assert sentence["theme"]
        assert "" in say
        for condition, text in say.items():
            assert not condition or re.split("[<>=]", condition)[0] in fields, (name, condition)
            for field, kind in NAMES.findall(text):
                assert set(re.split(r"[/+]", field)) <= fields, (name, field)
                assert kind in KINDS, (name, kind)


def test_every_sentence_of_an_account_has_a_verb_that_can_be_tried() -> None:
    ordinary = {cls.NAME for cls in OPERATIONS.values() if not cls.VIRTUAL}
    says = [sentence["say"] for name, sentence in declared("sentences").items() if name in ordinary]
    texts = [text for say in says for text in ([say] if isinstance(say, str) else say.values())]
    verbs = declared("verbs")
    found = {text: next((word for word in text.split() if word in verbs), None) for text in (*texts, *declared("customs").values())}
    assert not [text for text, verb in found.items() if verb is None]
    assert not [text for text, verb in found.items() if verb and not re.fullmatch(r"(\{[^}]+\}|A miner) ", text.partition(verb)[0])]
    assert set(found.values()) == set(verbs)


def test_every_file_has_a_type() -> None:
    others = {path.name for path in ROOT.rglob("*") if path.is_file() and path.suffix not in TYPES}
    assert others == {"README.md", "LICENSES.txt"}
