"""Reading ``/metrics`` as Prometheus does."""

from __future__ import annotations

from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families as strictly
from prometheus_client.parser import text_string_to_metric_families
from serving import Live

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def scrape(live: Live, **headers: str) -> dict[str, dict[frozenset[tuple[str, str]], float]]:
    """Give every sample: its name -> its labels -> its value."""
    answer = live.client.get("/metrics", headers=headers)
    assert answer.status_code == 200, answer.text
    parse: Any = strictly if "openmetrics" in answer.headers["content-type"] else text_string_to_metric_families
    samples: dict[str, dict[frozenset[tuple[str, str]], float]] = {}
    for family in parse(answer.text):
        for sample in family.samples:
            series = samples.setdefault(sample.name, {})
            labels = frozenset(sample.labels.items())
            assert labels not in series, f"{sample.name}{dict(labels)} is there twice"
            series[labels] = sample.value
    return samples


class Change:
    """What a block of calls changed. ``change("name", label="x")`` is by how much."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._before = scrape(live)

    def __call__(self, name: str, **labels: str) -> float:
        """Sum over all series that have these labels."""
        after = scrape(self._live)
        assert name in after, f"no metric {name}"
        return self._sum(after, name, labels) - self._sum(self._before, name, labels)

    @staticmethod
    def _sum(samples: Any, name: str, labels: dict[str, str]) -> float:
        wanted = labels.items()
        return float(sum(value for found, value in samples.get(name, {}).items() if wanted <= found))
