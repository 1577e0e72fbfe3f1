"""Checks that a tag may become a release: `python3 -m bin.release TAG [--notes FILE]`.

The tag must name the version in node/version.py, CHANGELOG.md must have a section of it, nothing may be left under "Unreleased" or
uncommitted, and the tag must lead to this commit, once it is there. `--notes` writes the text of the section, for the release's page.
Standard library only: it runs before anything is installed.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from node.version import VERSION

ROOT = Path(__file__).resolve().parent.parent


def section(changelog: str, name: str) -> str:
    """The text below the heading of a version, which may have the date after it; "" when there is none."""
    found = re.search(rf"^## {re.escape(name)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def problems(tag: str, root: Path, version: str) -> Iterator[str]:
    """Yield what keeps a tag from becoming a release of the checkout `root`, each with the way out."""
    if tag != f"v{version}":
        yield f"the tag is {tag}, and node/version.py says {version}: the tag must be v{version}"
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not section(changelog, version):
        yield f'CHANGELOG.md has nothing under "## {version}": write what users notice there'
    if section(changelog, "Unreleased"):
        yield f'CHANGELOG.md has something under "## Unreleased": move it to "## {version}"'
    if changes := git(root, "status", "--porcelain"):
        yield f"uncommitted: {', '.join(line[3:] for line in changes.splitlines())}: commit it, or take it away"
    tagged = git(root, "rev-parse", "--quiet", "--verify", f"refs/tags/{tag}^{{commit}}")
    if tagged and tagged != git(root, "rev-parse", "HEAD"):
        yield f"the tag {tag} is at {tagged[:10]}, and this is another commit: check that one out, or tag a new version"


def git(root: Path, *arguments: str) -> str:
    """What git prints; "" when it finds nothing."""
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False).stdout.rstrip()


def main(arguments: list[str], root: Path = ROOT, version: str = VERSION) -> int:
    """Print what is wrong, or write the notes; the status is 0 when the tag may become a release."""
    parser = argparse.ArgumentParser(prog="python3 -m bin.release", description="Checks that a tag may become a release.")
    parser.add_argument("tag", help="of the release: v and the version")
    parser.add_argument("--notes", type=Path, metavar="FILE", help="write the section of the changelog here")
    given = parser.parse_args(arguments)
    found = list(problems(given.tag, root, version))
    for problem in found:
        print(f"release: {problem}", file=sys.stderr)
    if found:
        return 1
    if given.notes:
        given.notes.write_text(section((root / "CHANGELOG.md").read_text(encoding="utf-8"), version) + "\n", encoding="utf-8")
    print(f"{given.tag} may become a release")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
