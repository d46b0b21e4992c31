"""``make fuzz``: every target of this folder for its share of the time; ``fuzzing.py [SECONDS]``.

Each round of hypothesis has a seed of its own, which is printed when a round fails; the smallest failing example is in
the traceback. atheris keeps what crashed beside the seeds. What is found becomes a test of its kind.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import hypothesis

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
_ROUND_EXAMPLES = 25
_SEED_BYTES = 2048
_SEEDS = ("sandbox/guest/*.py", "deploy/**/*.sh", "docs/*.md", "tests/attacks/payloads/*.py")
_QUIET = tuple(hypothesis.HealthCheck)


def bounded(one: Callable[[], None], examples: int) -> None:
    """Try a property on the same examples each time."""
    hypothesis.settings(
        max_examples=examples, derandomize=True, database=None, deadline=None, suppress_health_check=_QUIET
    )(one)()


def for_seconds(properties: Sequence[Callable[[], None]], seconds: float, seed: int) -> int:
    """Try properties in turn on ever new examples; give the number of rounds. Raises what a property raises."""
    until = time.monotonic() + seconds
    settings = hypothesis.settings(
        max_examples=_ROUND_EXAMPLES, database=None, deadline=None, suppress_health_check=_QUIET, print_blob=True
    )
    for rounds in itertools.count():
        for one in properties:
            if time.monotonic() >= until:
                return rounds
            try:
                hypothesis.seed(seed + rounds)(settings(_again(one)))()
            except BaseException:
                print(f"{one.__name__}: seed {seed + rounds}")  # noqa: T201 - for whoever repeats it
                raise
    return 0


def _again(one: Callable[[], None]) -> Callable[[], None]:
    """Give the property as it was before settings or a seed were put upon it."""
    for name in ("_hypothesis_internal_use_settings", "_hypothesis_internal_settings_applied"):
        with contextlib.suppress(AttributeError):
            delattr(one, name)
    return one


@contextlib.contextmanager
def seeds() -> Iterator[Path]:
    """Give a folder of texts to begin with: pieces of our own, as each language."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "seeds")
        folder.mkdir()
        for number, path in enumerate(sorted(each for pattern in _SEEDS for each in ROOT.glob(pattern))):
            text = path.read_bytes()[:_SEED_BYTES]
            (folder / f"{number}").write_bytes(bytes([{".py": 0, ".sh": 2, ".md": 4}[path.suffix]]) + text)
        yield folder


def analysers(*flags: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run atheris over the analysers, in a process of its own, with libFuzzer's flags."""
    with seeds() as folder:
        return subprocess.run(
            [sys.executable, str(HERE / "analyse.py"), *flags, str(folder)],
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )


def main() -> None:
    """Give a quarter of the time to each target; end with 1 where one found something."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=float, default=180.0, help="for all targets together")
    parser.add_argument("--seed", type=int, default=time.time_ns() % (1 << 31), help="of the first round")
    arguments = parser.parse_args()
    sys.path[:0] = [str(ROOT), *(str(HERE.parent / name) for name in ("fumehood", "sandbox"))]
    import http_properties  # noqa: PLC0415 - needs the paths
    import path_properties  # noqa: PLC0415 - likewise
    import wire_properties  # noqa: PLC0415 - likewise

    share = arguments.seconds / 4
    for name, properties in (("wire", wire_properties.PROPERTIES), ("paths", path_properties.PROPERTIES)):
        rounds = for_seconds(properties, share, arguments.seed)
        print(f"{name}: {rounds} rounds of {_ROUND_EXAMPLES} examples for each property, nothing found")  # noqa: T201
    with http_properties.properties() as those:
        rounds = for_seconds(those, share, arguments.seed)
    print(f"http: {rounds} rounds of {_ROUND_EXAMPLES} examples for each operation, nothing found")  # noqa: T201
    kept = tempfile.mkdtemp(prefix="fumehood-fuzz-")
    done = analysers(
        f"-max_total_time={int(share)}",
        f"-seed={arguments.seed or 1}",
        "-max_len=4096",
        "-timeout=10",
        f"-artifact_prefix={kept}/",
        seconds=share + 60,
    )
    print("\n".join((done.stdout + done.stderr).splitlines()[-30:]))  # noqa: T201
    if done.returncode:
        sys.exit(f"analysers: what crashed is in {kept}")
    shutil.rmtree(kept)


if __name__ == "__main__":
    main()
