"""The npm package: the content of its archive, and its tests that need no other package. `bin/test npm` runs it with test runners and
client libraries.
"""

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from bin.npm import SOURCE, build
from node.version import VERSION
from tests.conftest import ROOT


def test_archive_has_all_files_and_is_reproducible(tmp_path: Path) -> None:
    path = build(tmp_path / "new")
    assert path.read_bytes() == build(tmp_path / "again").read_bytes()
    with tarfile.open(path) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
        unpacked = archive.extractfile("package/package.json")
        assert unpacked is not None
        manifest = json.loads(unpacked.read())
    assert names == {path.name for path in SOURCE.iterdir()} | {"LICENSE"}
    assert manifest["version"] == VERSION
    assert {"dependencies", "scripts"} & manifest.keys() == set()
    exported = {target if isinstance(target, str) else target["default"] for target in manifest["exports"].values()} - {"./package.json"}
    assert {path for target in exported for path in (Path(target).name, f"{Path(target).stem}.d.ts")} <= names


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_package_without_other_packages() -> None:
    environment = os.environ | {"COIND": str(ROOT / "bin" / "coind")}
    command = ["node", "--test", "--test-reporter=tap", str(ROOT / "tests" / "bin" / "npm.test.mjs")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
