"""The harness of the pages: that it finds what a page says wrongly, and lets pass what is right."""

from pathlib import Path

import pytest

from tests.docs.reader import Block, Stop, agrees, logical_lines, read_page
from tests.docs.session import PageError, Ports, reader
from tests.helpers.wheels import Installed

FENCE = "```"


def page(folder: Path, *blocks: str) -> Path:
    """A page of these blocks: language and text, one after the other; a stop stands for itself."""
    path = folder / "page.md"
    path.write_text(
        "\n\n".join(block if block.startswith("<") else f"{FENCE}{block}\n{FENCE}" for block in blocks) + "\n", encoding="utf-8"
    )
    return path


def follow(package: Installed, folder: Path, *blocks: str) -> None:
    """Follow a page of these blocks."""
    steps = read_page(page(folder, *blocks))
    with reader(folder / "coind", package) as following:
        for step in steps:
            following.follow(step)


@pytest.mark.parametrize(
    ("seen", "printed", "right"),
    [
        ("a", "a\n", True),
        ("a", "a  \n\n", True),
        ("a", "b", False),
        ("a", "a\nb", False),
        ("a\n...", "a\nb\nc", True),
        ("a\n...\nc", "a\nc", True),
        ("a\n...\nc", "a\nb", False),
        ("head ... of 9", "head 7 of 9", True),
        ("head ...", "head 7\n8", False),
        ("(a.b)", "(axb)", False),
        ("", "", True),
        ("", "a", False),
    ],
)
def test_what_one_sees(seen: str, printed: str, right: bool) -> None:
    assert agrees(seen, printed) is right


def test_lines_that_go_on() -> None:
    lines = logical_lines("a \\\n  b   # -> c\n\n# says\nd   # no -> e")
    assert [(line.text, line.seen) for line in lines] == [("a \\\n  b", "c"), ("# says", None), ("d   # no -> e", None)]


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        (["text\na"], "a text that no command before it prints"),
        (["sh\na", "text\na", "text\nb"], "a text that no command before it prints"),
        (["toml a.toml\nb = 1", "text\na"], "a text that no command before it prints"),
        (["sh\na   # -> b", "text\na"], "says already what its lines print"),
        (["\na"], "neither run nor written nor seen"),
        (["console\na"], "neither run nor written nor seen"),
        (["toml\na = 1"], "neither run nor written nor seen"),
        (["sh name\na"], "neither run nor written nor seen"),
    ],
)
def test_a_page_that_nobody_could_run(blocks: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        read_page(page(tmp_path, *blocks))


def test_a_block_without_end(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(f"{FENCE}sh\na\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"page.md:1: the block has no end"):
        read_page(tmp_path / "page.md")


def test_steps_in_their_order(tmp_path: Path) -> None:
    steps = read_page(page(tmp_path, "sh\ncoind run --quiet", "<!-- Ctrl-C -->", "py a.py\nb"))
    assert [type(step) for step in steps] == [Block, Stop, Block]
    assert [isinstance(step, Block) and step.is_terminal for step in steps] == [True, False, False]


@pytest.mark.parametrize(
    ("command", "is_terminal"),
    [
        ("coind run", True),
        ("coind run --chain dev \\\n  --data x", True),
        ("cd x\ncoind replay f --serve 127.0.0.1:8091", True),
        ("coind run &", False),
        ("coind run > log", False),
        ("coind run\nls", False),
        ("coind replay f", False),
        ("coind keys alice", False),
    ],
)
def test_terminals_of_their_own(command: str, is_terminal: bool) -> None:
    assert Block("page.md", 1, "sh", "", command).is_terminal is is_terminal


def test_variables_and_files_stay(tmp_path: Path, package: Installed) -> None:
    follow(
        package,
        tmp_path,
        "sh\na=7",
        "py x.py\nimport os\nprint(os.environ['a'])",
        "sh\nexport a\n.venv/bin/python x.py   # -> 7",
        "py\nprint(8)",
        "text\n8",
    )


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        (["sh\necho a", "text\nb"], r"page.md:1: one sees something else than\nb\n--- printed\na"),
        (["sh\necho a\necho b   # -> c"], r"something else"),
        (["sh\nfalse\ntrue"], r"page.md:1: a command fails"),
        (["sh\necho a   # -> a\nls nothing"], r"a command fails: ls nothing"),
        (["py\nraise SystemExit(1)"], r"the program fails"),
        (["sh\ncoind run", "text\nchain: testnet"], r"page.md:1: one sees something else"),
        (["<!-- Ctrl-C -->"], r"page.md:1: there is no node to end"),
        (["sh\nexit"], r"the shell has ended"),
        (["sh\ncoind run --chain nothing"], r"the node doesn't answer[^$]*no such chain"),
    ],
)
def test_what_a_page_says_wrongly_is_found(blocks: list[str], said: str, tmp_path: Path, package: Installed) -> None:
    with pytest.raises(PageError, match=said):
        follow(package, tmp_path, *blocks)


def test_what_fails_may_be_shown(tmp_path: Path, package: Installed) -> None:
    follow(package, tmp_path, "sh\ncoind run --chain nothing || true", "text\ncoind: --chain: nothing: no such chain, ...")
    (tmp_path / "2").mkdir()
    follow(package, tmp_path / "2", "sh\nls nothing   # -> ls: ...")


def test_ports_of_a_page_are_free_ones() -> None:
    ports = Ports()
    put = ports.put("127.0.0.1:8090, 8091, 18090, 8090")
    assert "18090" in put
    assert put.count(str(ports[8090])) == 2
    assert ports[8090] != ports[8091]
    assert ports.put_back(put) == "127.0.0.1:8090, 8091, 18090, 8090"


def test_a_node_in_a_terminal_of_its_own(tmp_path: Path, package: Installed) -> None:
    health = "curl -s http://127.0.0.1:8090/health"
    follow(
        package,
        tmp_path,
        "sh\ncoind run",
        "text\nchain: dev\n...\naddress: http://127.0.0.1:8090\n...",
        f'sh\n{health} | grep -o \'"chain":"[a-z]*"\'   # -> "chain":"dev"',
        "sh\ncoind run --chain testnet",
        f'sh\n{health} | grep -o \'"chain":"[a-z]*"\'   # -> "chain":"testnet"',
        "<!-- Ctrl-C -->",
        f"sh\n{health}   # -> ",
    )
