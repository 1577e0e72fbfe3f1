"""docs/troubleshooting.md: its messages exist in the program, and the described mistakes cause them."""

import re
from pathlib import Path

import pytest

from node.cli import run_options
from tests.conftest import ROOT
from tests.helpers.commands import coind

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)
PIECE_MIN = 4  # shorter segments between placeholders are not distinctive
BLOCKS = "tests/conformance/cases/rewards/block_log"

# Invalid command lines, each with the page's message that it causes.
WRONG = {
    "run --blocks often": "is not a block mode; expected ...",
    "run --enable magic": "there is no plugin ...",
    "run --data FILE": "a file is where the data folder should be",
    "run --config FILE": "unknown key; ...",
    "run --port 0 --ready-file FILE": "this file exists and is not a node's. Use another name.",
    "run --http 192.0.2.1:8090": "can't listen on .... Choose another address.",
    "show chain --url http://127.0.0.1:1": "no node answers at ...",
    f"replay {BLOCKS} --chain steem-testnet --until later": "is not a position in a chain. Expected N for a block, or N:T",
    f"replay {BLOCKS} --chain steem-testnet --until 1000 --verify none": "is beyond the end: the blocks end with block ...",
    f"replay {BLOCKS} --chain steem-testnet --checkpoint 5": "expected N:ID, the number of a block and its id in 40 hex digits",
    f"export {BLOCKS} --to FILE --blocks 5": "is not a range. Expected FIRST:END, for example 1M:2M, 1M: or :2M.",
    f"report {BLOCKS} --to no/such/file": ": there is no folder ...",
    "sql tests select --csv --json": "--csv and --json exclude each other. Give one of them.",
    "sql tests select": "has no .... Give the folder of an export",
}


def sources() -> str:
    """Return the source text of the program with adjacent string literals joined."""
    files = [*(path for part in ("node", "state", "rpc", "bin") for path in (ROOT / part).rglob("*.py")), ROOT / "bin" / "ensure_venv.sh"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return re.sub(r'"\n\s*f?"', "", text)


def test_each_message_exists_in_the_source() -> None:
    text = sources()
    pieces = {(message, piece) for message in MESSAGES for piece in message.split("...") if len(piece.strip()) >= PIECE_MIN}
    assert [message for message, piece in sorted(pieces) if piece.strip() not in text] == []


@pytest.mark.parametrize(("command", "message"), WRONG.items())
def test_mistake_causes_its_message(
    command: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("colour = 'red'\n", encoding="utf-8")
    words = [str(file) if word == "FILE" else word for word in command.split()]
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(run_options, "configure_logs", lambda *_, **__: None)
    done = coind(capsys, *words)
    pattern = ".*".join(re.escape(piece) for piece in message.split("..."))
    assert message in MESSAGES
    assert done.status in (1, 2)
    assert re.search(pattern, done.err.replace("\n", " ")), done.err
