"""Builds metric families for Prometheus from plain numbers."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prometheus_client import Metric


class DurationHistogram:
    """Histogram of durations in seconds. `counts` has one bucket more than `bounds`, which counts the durations above the last bound."""

    __slots__ = ("bounds", "counts", "seconds")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.seconds += seconds


Value = tuple[tuple[str, ...], float]


def gauge(name: str, text: str, value: float | None = None, labels: tuple[str, ...] = (), values: Iterable[Value] = ()) -> "Metric":
    """Return a gauge family with a single value or with labelled values. `text` is its description."""
    from prometheus_client.core import GaugeMetricFamily

    return filled(GaugeMetricFamily(name, text, labels=labels), value, values)


def counter(name: str, text: str, value: float | None = None, labels: tuple[str, ...] = (), values: Iterable[Value] = ()) -> "Metric":
    """Return a counter family with a single value or with labelled values. `text` is its description."""
    from prometheus_client.core import CounterMetricFamily

    return filled(CounterMetricFamily(name, text, labels=labels), value, values)


def histogram(name: str, text: str, values: Iterable[tuple[tuple[str, ...], DurationHistogram]], labels: tuple[str, ...] = ()) -> "Metric":
    """Return a histogram family. Prometheus requires cumulative buckets: each includes the counts of the smaller ones."""
    from prometheus_client.core import HistogramMetricFamily

    family = HistogramMetricFamily(name, text, labels=labels)
    for named, durations in values:
        buckets, total = [], 0
        for bound, count in zip((*durations.bounds, "+Inf"), durations.counts, strict=True):
            total += count
            buckets.append((str(bound), float(total)))
        family.add_metric(named, buckets, durations.seconds)
    return family


def filled(family: Any, value: float | None, values: Iterable[Value]) -> "Metric":
    """Add a single value or labelled values to a family, and return the family."""
    for labels, number in [((), value), *values] if value is not None else values:
        family.add_metric(labels, number)
    made: Metric = family
    return made
