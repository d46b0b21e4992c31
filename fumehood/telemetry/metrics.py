"""What Prometheus reads at ``/metrics``. ``docs/observability.md`` lists every name; the names are an interface.

Counters count from the start of the process; gauges are read from their owners when somebody asks. Every label has a
closed set of values: nothing that a caller chose becomes one.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.gc_collector import GCCollector
from prometheus_client.registry import Collector

from analyzers import Verdict
from analyzers import languages as analysed_languages
from sandbox import ForkServerState, Result, Status
from sandbox.model import Cause

NEVER_STARTED = "none"
"""The ``launcher`` of a run that no guest was started for: blocked, or cancelled before it had a slot."""

_NOTHING_RAN = frozenset({Status.BLOCKED, Status.CANCELLED})
_LIMITS = (*(cause.value for cause in Cause if cause is not Cause.CANCELLED), "disk")
_ORIGINS = ("request", "run")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER = "other"

_SPAWN_BUCKETS = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.25, 0.5, 1, 2, 5, 10)
_RUN_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_WAIT_BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_ANALYSIS_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_MEMORY_BUCKETS = tuple(float(1 << power) for power in range(20, 35))


@dataclass(frozen=True, slots=True)
class Line:
    """One line for slots, read when somebody asks: its name, its sizes, and what to ask for the rest."""

    name: str
    slots: int
    places: int
    waiting: Callable[[], int]
    running: Callable[[], int]


class Metrics:
    """Every number of one service, in a registry of its own. Any thread may tell it something or ask."""

    def __init__(self, version: str, languages: Iterable[str], problems: Iterable[str]) -> None:
        # A second series for each, which process_start_time_seconds makes needless.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        GCCollector(registry=registry)
        build = ("version", "python")
        Gauge("fumehood_build_info", "Always 1; which build this is.", build, registry=registry).labels(
            version, platform.python_version()
        ).set(1)

        labels = ("language", "launcher")
        self._runs = Counter(
            "fumehood_runs", "Runs that are over, by how they ended.", ("status", *labels), registry=registry
        )
        self._spawn = Histogram(
            "fumehood_spawn_duration_seconds",
            "From the start of a run's turn until its guest may run.",
            labels,
            buckets=_SPAWN_BUCKETS,
            registry=registry,
        )
        self._wall = Histogram(
            "fumehood_run_duration_seconds",
            "Wall time of guests, from the moment they may run.",
            labels,
            buckets=_RUN_BUCKETS,
            registry=registry,
        )
        self._cpu = Counter("fumehood_run_cpu_seconds", "CPU time that guests spent.", ("language",), registry=registry)
        self._memory = Histogram(
            "fumehood_run_peak_memory_bytes",
            "The most memory that each guest held at a time.",
            ("language",),
            buckets=_MEMORY_BUCKETS,
            registry=registry,
        )
        self._limits = Counter(
            "fumehood_run_limits_hit",
            "Limits that runs hit, survived or not.",
            ("limit",),
            registry=registry,
        )
        self._wait = Histogram(
            "fumehood_queue_wait_seconds",
            "How long calls stood in line before they had a slot.",
            ("queue",),
            buckets=_WAIT_BUCKETS,
            registry=registry,
        )
        self._analyses = Counter(
            "fumehood_analyses",
            "Analyses that are over; origin says whether a run or a call of its own asked for it.",
            ("language", "verdict", "origin"),
            registry=registry,
        )
        self._analysis = Histogram(
            "fumehood_analysis_duration_seconds",
            "How long analyses took, without their wait for a slot.",
            ("language",),
            buckets=_ANALYSIS_BUCKETS,
            registry=registry,
        )
        self._problems = Counter(
            "fumehood_problems",
            "Calls and runs of batches that were refused or failed, by the last word of the problem's type.",
            ("type",),
            registry=registry,
        )
        self._requests = Counter(
            "fumehood_http_requests", "HTTP requests that are over.", ("method", "route", "code"), registry=registry
        )
        self._request = Histogram(
            "fumehood_http_request_duration_seconds",
            "From a request's headers to the last byte of its answer.",
            ("route",),
            buckets=_REQUEST_BUCKETS,
            registry=registry,
        )
        self.in_progress = Gauge("fumehood_http_requests_in_progress", "HTTP requests under way.", registry=registry)
        self._begin_at_zero(tuple(languages), problems)

    def _begin_at_zero(self, languages: Sequence[str], problems: Iterable[str]) -> None:
        """Let the first event of each kind be an increase, which rate() and alerts can see, and not a new series."""
        for language in languages:
            self._cpu.labels(language)
            for status in Status:
                if status in _NOTHING_RAN:
                    self._runs.labels(status.value, language, NEVER_STARTED)
                if status is not Status.BLOCKED:
                    self._runs.labels(status.value, language, "warm")
                    self._runs.labels(status.value, language, "cold")
        for language in analysed_languages():
            for verdict in Verdict:
                for origin in _ORIGINS:
                    self._analyses.labels(language, verdict.value, origin)
        for limit in _LIMITS:
            self._limits.labels(limit)
        for problem in problems:
            self._problems.labels(problem)

    # --- what is told ---

    def ran(self, language: str, result: Result) -> None:
        """A run is over for which a guest was started."""
        labels = (language, result.launcher.value)
        self._runs.labels(result.status.value, *labels).inc()
        self._spawn.labels(*labels).observe(result.usage.spawn_seconds)
        self._wall.labels(*labels).observe(result.usage.wall_seconds)
        self._cpu.labels(language).inc(result.usage.cpu_seconds)
        self._memory.labels(language).observe(result.usage.peak_memory_bytes)
        for limit in result.limits_hit:
            self._limits.labels(limit).inc()

    def never_ran(self, language: str, status: Status) -> None:
        """A run is over for which nothing was started."""
        self._runs.labels(status.value, language, NEVER_STARTED).inc()

    def waited(self, queue: str, seconds: float) -> None:
        """A call has its slot."""
        self._wait.labels(queue).observe(seconds)

    def analysed(self, language: str, verdict: Verdict, origin: str, seconds: float) -> None:
        """An analysis is over."""
        self._analyses.labels(language, verdict.value, origin).inc()
        self._analysis.labels(language).observe(seconds)

    def problem(self, slug: str) -> None:
        """A call, or a run of a batch, was answered by a problem."""
        self._problems.labels(slug).inc()

    def answered(self, method: str, route: str | None, code: int | None, seconds: float) -> None:
        """A request is over. Without a ``code`` its caller left before there was an answer."""
        route = route or _OTHER
        self._requests.labels(method if method in _METHODS else _OTHER, route, str(code) if code else "none").inc()
        self._request.labels(route).observe(seconds)

    # --- what is asked ---

    def watch(
        self,
        lines: Sequence[Line],
        warmth: Callable[[], Sequence[ForkServerState]],
        warm_memory_bytes: Callable[[], Mapping[str, int]],
        lacking: Callable[[], Sequence[str]],
        ready: Callable[[], bool | None],
        pending: Callable[[], int],
    ) -> None:
        """Show the lines, fork servers, accepted absences, the last probe's word, waiting records."""
        for line in lines:
            self._wait.labels(line.name)

        def make() -> Iterator[Metric]:
            yield from _of_lines(lines)
            yield from _of_fork_servers(warmth(), warm_memory_bytes())
            yield from _of_walls(lacking(), ready())
            yield _of_records(pending())

        self.registry.register(_Asked(make))

    def expose(self, accept: str) -> tuple[bytes, str]:
        """Every metric as text, in the format that ``Accept`` asks for, and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type


class _Asked(Collector):
    """Metrics that are made when somebody asks."""

    def __init__(self, make: Callable[[], Iterator[Metric]]) -> None:
        self._make = make

    def collect(self) -> Iterator[Metric]:
        return self._make()

    def describe(self) -> tuple[()]:
        """Nothing ahead: the registry would ask for it while the service is still being put together."""
        return ()


def _of_lines(lines: Sequence[Line]) -> Iterator[Metric]:
    depth = GaugeMetricFamily("fumehood_queue_depth", "Calls that stand in line for a slot.", labels=("queue",))
    capacity = GaugeMetricFamily("fumehood_queue_capacity", "How many may stand in line.", labels=("queue",))
    in_use = GaugeMetricFamily("fumehood_slots_in_use", "Slots that are held.", labels=("queue",))
    slots = GaugeMetricFamily("fumehood_slots", "How many slots there are.", labels=("queue",))
    for line in lines:
        depth.add_metric((line.name,), line.waiting())
        capacity.add_metric((line.name,), line.places)
        in_use.add_metric((line.name,), line.running())
        slots.add_metric((line.name,), line.slots)
    yield from (depth, capacity, in_use, slots)


def _of_fork_servers(states: Sequence[ForkServerState], memory_bytes: Mapping[str, int]) -> Iterator[Metric]:
    up = GaugeMetricFamily("fumehood_fork_server_up", "1 while the server is up.", labels=("server",))
    waiting = GaugeMetricFamily(
        "fumehood_fork_server_waiting_children", "Children that wait for a run.", labels=("server",)
    )
    restarts = CounterMetricFamily(
        "fumehood_fork_server_restarts", "Starts after the first one; most are planned.", labels=("server",)
    )
    failures = CounterMetricFamily(
        "fumehood_fork_server_failures",
        "A server could not be had, or failed a run before its guest went.",
        labels=("server",),
    )
    for state in states:
        labels = (state["name"],)
        up.add_metric(labels, state["up"])
        waiting.add_metric(labels, state["waiting"])
        restarts.add_metric(labels, max(state["started"] - 1, 0))
        failures.add_metric(labels, state["failures"])
    held = GaugeMetricFamily(
        "fumehood_fork_server_memory_bytes", "What it holds with all its children.", labels=("server",)
    )
    for name, size in memory_bytes.items():
        held.add_metric((name,), size)
    yield from (up, waiting, restarts, failures, held)


def _of_records(pending: int) -> Metric:
    return GaugeMetricFamily(
        "fumehood_audit_pending_records",
        "Beginnings and endings of runs that wait for the database.",
        value=pending,
    )


def _of_walls(lacking: Sequence[str], ready: bool | None) -> Iterator[Metric]:  # noqa: FBT001 - a fact, not a flag
    gauge = GaugeMetricFamily(
        "fumehood_layer_lacking", "1 for each layer whose absence the operator accepted.", labels=("layer",)
    )
    for layer in lacking:
        gauge.add_metric((layer,), 1)
    yield gauge
    known = GaugeMetricFamily(
        "fumehood_ready", "What /readyz said last: 1 if every promised layer held. Absent until somebody asked it."
    )
    if ready is not None:
        known.add_metric((), ready)
    yield known
