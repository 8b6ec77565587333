"""Speed of searches, from the buckets of a histogram."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isinf

from schemas.http.extensions.operations_bodies import SearchSpeed

_MILLISECONDS = 1000


def search_speed(buckets: Mapping[float, int]) -> SearchSpeed:
    """Present how long searches took; `buckets`: cumulative counts by upper bound in seconds."""
    bounds = sorted(buckets)
    cumulative = [buckets[bound] for bound in bounds]
    return SearchSpeed(
        count=cumulative[-1],
        median=_quantile(0.5, bounds, cumulative),
        p99=_quantile(0.99, bounds, cumulative),
        bounds=[bound * _MILLISECONDS for bound in bounds if not isinf(bound)],
        by_bucket=[after - before for before, after in pairwise([0, *cumulative])],
    )


def _quantile(share: float, bounds: Sequence[float], cumulative: Sequence[int]) -> float | None:
    """Interpolate within the bucket of the quantile, as Prometheus does; milliseconds."""
    wanted = share * cumulative[-1]
    if not cumulative[-1]:
        return None
    at = next(place for place, count in enumerate(cumulative) if count >= wanted)
    lower = bounds[at - 1] if at else 0.0
    if isinf(bounds[at]):
        return round(lower * _MILLISECONDS, 2)
    before = cumulative[at - 1] if at else 0
    part = (wanted - before) / (cumulative[at] - before)
    return round((lower + (bounds[at] - lower) * part) * _MILLISECONDS, 2)
