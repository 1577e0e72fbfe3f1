"""The definition of a fuzzing target and of a finding, independent of atheris and of the targets."""

import hashlib
import time
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from msgspec import Struct

HERE = Path(__file__).parent
SEEDS, FOUND = HERE / "seeds", HERE / "regressions"
# Inputs that reached new code. They are not in the repository; later runs continue from them.
CORPUS = HERE / "corpus"
# CPU seconds. An input of a few kilobytes must not block others for longer.
INPUT_SECONDS_MAX = 1.0
FINDINGS_MAX = 100  # maximum number of kinds of findings in a run

Run = Callable[[bytes], object]


class Target(Struct, frozen=True):
    """A parser to fuzz.

    `share` is the number of inputs that it gets out of 1,000 of a complete run. `modules` are the modules whose branch coverage guides the
    search. If `is_json`, the inputs are JSON texts, and mutations also change them as JSON.
    """

    name: str
    place: str
    share: int
    modules: tuple[str, ...]
    size_max: int = 4096
    is_json: bool = False

    def make(self) -> Run:
        """Prepare the target once and return the function that processes an input.

        The function must not raise documented refusals, since every exception is a finding. It imports the parser here, so that atheris can
        instrument the import.
        """
        run: Run = getattr(import_module(f"tests.fuzz.targets.{self.place}"), self.name)()
        return run


class TooSlow(Exception):
    """Raised for an input that takes longer than INPUT_SECONDS_MAX."""


class Keeper:
    """Runs a target and keeps the shortest input of each kind of failure in `found/<target>/`."""

    def __init__(self, target: Target, run: Run, folder: Path = FOUND) -> None:
        self.kinds: dict[str, bytes] = {}
        self.count = 0
        self._folder = folder / target.name
        self._run = run

    def __call__(self, data: bytes) -> None:
        """Process an input."""
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
    """Return the key that equal failures share: the exception class, and the line of our code that raised the exception."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    last = ours[-1] if ours else None
    return f"{type(error).__name__} at {'' if last is None else f'{Path(last.filename).name}:{last.lineno}'}"


def name_of(data: bytes) -> str:
    """Return the file name of an input: the start of its SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


def kept_inputs(target: Target) -> Iterator[Path]:
    """Yield the files of a target's seeds and findings."""
    for folder in (SEEDS / target.name, FOUND / target.name):
        if folder.is_dir():
            yield from sorted(path for path in folder.iterdir() if path.is_file())
