"""Bundling JavaScript modules into one file: imports, exports, and unsupported syntax."""

import pytest

from rpc.explorer.bundle import joined
from tests.helpers.golden import fails


def lines(text: str) -> list[str]:
    """Return the non-empty lines of a text."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_imported_modules_come_first_and_names_stay_in_their_module() -> None:
    sources = {
        "/app/main.js": 'import Page from "./page.js";\nimport {\n  a,\n  b as c,\n} from "./parts/x.js";\nrun(Page, a, c);\n',
        "/app/page.js": 'import { a } from "./parts/x.js";\nexport default function Page() {}\n',
        "/app/parts/x.js": 'import * as calls from "../calls.js";\nexport const a = 1;\nexport async function b() {}\n'
        "export const { d, e } = calls;\nexport class F {}\nexport { g };\n",
    }
    assert lines(joined(sources, "/app/main.js")) == [
        'import * as module__app_calls_js from "/app/calls.js";',
        "const module__app_parts_x_js = {};",
        "{",
        "const calls = module__app_calls_js;",
        "const a = 1;",
        "async function b() {}",
        "const { d, e } = calls;",
        "class F {}",
        "Object.assign(module__app_parts_x_js, { a, b, d, e, F, g });",
        "}",
        "const module__app_page_js = {};",
        "{",
        "const { a } = module__app_parts_x_js;",
        "function Page() {}",
        "Object.assign(module__app_page_js, { default: Page });",
        "}",
        "const module__app_main_js = {};",
        "{",
        "const { default: Page } = module__app_page_js;",
        "const {",
        "a,",
        "b: c,",
        "} = module__app_parts_x_js;",
        "run(Page, a, c);",
        "Object.assign(module__app_main_js, {  });",
        "}",
    ]


def test_circular_imports_are_refused() -> None:
    sources = {"/a.js": 'import { b } from "./b.js";\n', "/b.js": 'import { a } from "./a.js";\n'}
    with fails(ValueError):
        joined(sources, "/a.js")


@pytest.mark.parametrize("text", ["export let x = 1;\n", 'export * from "./b.js";\n', "import './b.js';\n", "export default 5;\n"])
def test_unsupported_syntax_is_refused(text: str) -> None:
    with fails(ValueError):
        joined({"/a.js": text}, "/a.js")
