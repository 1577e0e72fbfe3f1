"""What a fuzzing target is, and what counts as a finding. It knows neither atheris nor any single target."""

import hashlib
import time
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from msgspec import Struct

HERE = Path(__file__).parent
SEEDS, FOUND = HERE / "seeds", HERE / "regressions"
# What atheris has found to reach new code; it is not in the repository, and later runs go on from it.
CORPUS = HERE / "corpus"
# Of processor time: no input of a few kilobytes may keep anybody waiting for longer.
INPUT_SECONDS_MAX = 1.0
FINDINGS_MAX = 100  # kinds of findings that one run keeps

Run = Callable[[bytes], object]


class Target(Struct, frozen=True):
    """A parser to be fuzzed.

    `share` is the part of a whole run's inputs that it gets, `modules` are those whose branches guide the search. `is_json` says
    that inputs are JSON texts, which are also changed as such.
    """

    name: str
    place: str
    share: int
    modules: tuple[str, ...]
    size_max: int = 4096
    is_json: bool = False

    def make(self) -> Run:
        """Build what the target works on, once, and return the function that takes one input.

        It raises nothing for whatever the parser refuses as documented, so that everything it raises is a finding. Only here the
        parser is imported: atheris must look on.
        """
        run: Run = getattr(import_module(f"tests.fuzz.targets.{self.place}"), self.name)()
        return run


class TooSlow(Exception):
    """One input took longer than INPUT_SECONDS_MAX."""


class Keeper:
    """Runs a target and keeps one input of each kind of failure, the shortest, in `found/<target>/`."""

    def __init__(self, target: Target, run: Run, folder: Path = FOUND) -> None:
        self.kinds: dict[str, bytes] = {}
        self.count = 0
        self._folder = folder / target.name
        self._run = run

    def __call__(self, data: bytes) -> None:
        """Take one input."""
        self.count += 1
        start = time.thread_time()
        try:
            self._run(data)
            seconds = time.thread_time() - start
            if seconds > INPUT_SECONDS_MAX:
                raise TooSlow(f"{seconds:.1f} s")
        except Exception as error:
            self._keep(error, data)

    def _keep(self, error: Exception, data: bytes) -> None:
        kind = kind_of(error)
        known = self.kinds.get(kind)
        if known is None and len(self.kinds) >= FINDINGS_MAX:
            return
        if known is None or len(data) < len(known):
            self.kinds[kind] = data
            path = self._path(data)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            if known is None:
                print(f"finding {kind}: {path}\n{''.join(traceback.format_exception(error))}", flush=True)
            else:
                self._path(known).unlink(missing_ok=True)

    def _path(self, data: bytes) -> Path:
        return self._folder / name_of(data)


def kind_of(error: BaseException) -> str:
    """Return what makes two failures the same one: the class, and the line of ours in which it was raised."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    last = ours[-1] if ours else None
    return f"{type(error).__name__} at {'' if last is None else f'{Path(last.filename).name}:{last.lineno}'}"


def name_of(data: bytes) -> str:
    """Return the name of the file of an input: the beginning of its SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


def kept_inputs(target: Target) -> Iterator[Path]:
    """The files of a target's seeds and of what was found with it."""
    for folder in (SEEDS / target.name, FOUND / target.name):
        if folder.is_dir():
            yield from sorted(path for path in folder.iterdir() if path.is_file())
