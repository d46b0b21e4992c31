"""The benchmarks' own arithmetic, and that they run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import contest
import table

ROOT = Path(__file__).resolve().parents[2]


def lines_of(*words: str) -> list[dict[str, object]]:
    """Run a benchmark as a person would and give its lines."""
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("percent", "expected"), [(0, 1.0), (1, 1.0), (50, 50.0), (90, 90.0), (98.5, 99.0), (99, 99.0), (100, 100.0)]
)
def test_a_percentile_is_a_time_that_was_taken(percent: float, expected: float) -> None:
    """Nearest rank: of one to a hundred, the nth percentile is n, in whatever order they came."""
    times = contest.Times([float(each) for each in range(100, 0, -1)])
    assert times.percentile(percent) == expected
    assert contest.Times([3.0]).percentile(percent) == 3.0


def test_contenders_take_turns_and_warming_up_does_not_count() -> None:
    """Each turn settles first; a burst is several calls of one turn, each a time of its own."""
    heard: list[str] = []

    def contender(name: str, burst: int) -> contest.Contender:
        return contest.Contender(name=name, run=lambda: heard.append(name), check=lambda _: "", burst=burst)

    pair = (contender("a", 1), contender("b", 2))
    times = contest.compete(pair, 2, lambda: heard.append("."), warm_up=1)
    assert "".join(heard) == ".a.bb" * 3
    assert {name: len(each.seconds) for name, each in times.items()} == {"a": 2, "b": 4}


def test_a_wrong_answer_ends_the_contest() -> None:
    """A fast wrong answer is no time at all."""
    liar = contest.Contender(name="liar", run=lambda: 2, check=lambda answer: f"said {answer}")
    with pytest.raises(SystemExit, match="liar: said 2"):
        contest.compete([liar], 1, lambda: None, warm_up=0)


def test_a_crowd_counts_every_call_and_what_went_wrong() -> None:
    """Callers begin together; one that raises is wrong and goes on."""

    def fail() -> None:
        raise OSError("refused")

    met = contest.crowd(3, 4, lambda: contest.Contender(name="x", run=fail, check=lambda _: ""))
    assert (len(met.times.seconds), len(met.wrong), met.wrong[0]) == (12, 12, "OSError('refused')")
    both = contest.joined([met, met])
    assert both.line("x")["errors"] == 24
    assert both.runs_per_second == pytest.approx(met.runs_per_second)


def test_a_bound_that_is_touched_is_met(capsys: pytest.CaptureFixture[str]) -> None:
    """At most and at least, both inclusive."""
    for ratio in (0.12, 0.13):
        contest.say_at_most("m", ratio, 0.12)
        contest.say_at_least("n", ratio, 0.13)
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["met"] for line in said] == [True, False, False, True]
    assert said[0] == {"measure": "m", "ratio": 0.12, "bound": "<= 0.12", "met": True}


def test_the_table_takes_its_place_again_and_again() -> None:
    """Between the markers, whatever stood there before; what is no line is passed over."""
    text = table.tables(table.parsed('noise\n{"measure": "m", "ratio": 0.1, "bound": "<= 0.2", "met": true}\n'))
    assert "| m | 0.1 | <= 0.2 | yes |" in text
    page = f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n"
    once = table.placed(page, text)
    assert (table.placed(once, text), "old" in once, once.startswith("before\n")) == (once, False, True)
    with pytest.raises(ValueError, match="no <!--"):
        table.placed("no markers", text)
    table.placed((ROOT / "docs/performance.md").read_text(encoding="utf-8"), text)


def test_a_quick_benchmark_says_facts_figures_and_a_ratio() -> None:
    """The real engine, twice: enough to see that a script still works."""
    lines = lines_of("benchmarks/cold.py", "--quick")
    assert "facts" in lines[0]
    assert [line["name"] for line in lines if "name" in line] == ["bare python", "bare bwrap", "Sandbox.run, cold"]
    assert lines[-1].keys() == {"measure", "ratio", "bound", "met"}
