"""Checks that a tag can become a release: `python3 -m bin.release TAG [--notes FILE]`.

The tag must match the version in node/version.py. CHANGELOG.md must have a section for this version, and nothing under "Unreleased". There
must be no uncommitted changes. If the tag already exists, it must be on this commit. `--notes` writes the text of the section to a file,
for the release's page. The program uses only the standard library, since it runs before anything is installed.
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
    """Return the text of a version's section in the changelog, or "" if there is none. The section's heading can have a date after the
    version.
    """
    found = re.search(rf"^## {re.escape(name)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def problems(tag: str, root: Path, version: str) -> Iterator[str]:
    """Yield the problems that prevent a release of the checkout `root`. Each text says how to fix the problem."""
    if tag != f"v{version}":
        yield f"the tag is {tag}, but node/version.py has {version}: the tag must be v{version}"
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not section(changelog, version):
        yield f'CHANGELOG.md has nothing under "## {version}": list the changes for users there'
    if section(changelog, "Unreleased"):
        yield f'CHANGELOG.md has entries under "## Unreleased": move them to "## {version}"'
    if changes := git(root, "status", "--porcelain"):
        yield f"uncommitted: {', '.join(line[3:] for line in changes.splitlines())}: commit or remove them"
    tagged = git(root, "rev-parse", "--quiet", "--verify", f"refs/tags/{tag}^{{commit}}")
    if tagged and tagged != git(root, "rev-parse", "HEAD"):
        yield f"the tag {tag} is on {tagged[:10]}, which isn't this commit: check that one out, or tag a new version"


def git(root: Path, *arguments: str) -> str:
    """Return the output of git, or "" if it fails."""
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False).stdout.rstrip()


def main(arguments: list[str], root: Path = ROOT, version: str = VERSION) -> int:
    """Print the problems. If there are none, write the release notes. Return the exit status, 0 if the tag can become a release."""
    parser = argparse.ArgumentParser(prog="python3 -m bin.release", description="Check that a tag can become a release.")
    parser.add_argument("tag", help="the tag of the release: v and the version")
    parser.add_argument("--notes", type=Path, metavar="FILE", help="write the section of the changelog here")
    given = parser.parse_args(arguments)
    found = list(problems(given.tag, root, version))
    for problem in found:
        print(f"release: {problem}", file=sys.stderr)
    if found:
        return 1
    if given.notes:
        given.notes.write_text(section((root / "CHANGELOG.md").read_text(encoding="utf-8"), version) + "\n", encoding="utf-8")
    print(f"{given.tag} can become a release")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
