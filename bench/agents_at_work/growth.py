"""What programs and base weigh, moment by moment, and whether that grows for ever."""

import asyncio
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from bench.agents_at_work.programs import Programs, Weight

# What the line through the samples may rise by. One that grows for ever does so by more in half an hour.
MAX_RISE_MB = 8.0
MAX_RISE_HANDLES = 6.0
MAX_RISE_THREADS = 4.0
MAX_WAL_MB = 64.0
# The share of the time that counts as warming up.
WARM_UP_SHARE = 0.25


@dataclass(frozen=True)
class Sample:
    seconds: float
    weights: dict[str, Weight]
    wal_mb: float
    database_mb: float
    files: int


async def take_samples(
    programs: Programs, until: float, every_seconds: float, show: Callable[[Sample], None] = lambda sample: None
) -> list[Sample]:
    begun, samples = time.monotonic(), list[Sample]()
    while time.monotonic() < until:
        await asyncio.sleep(min(every_seconds, max(until - time.monotonic(), 0)))
        samples.append(await asyncio.to_thread(take_sample, programs, time.monotonic() - begun))
        show(samples[-1])
    return samples


def take_sample(programs: Programs, seconds: float) -> Sample:
    files = sum(1 for path in programs.data_dir.rglob("*") if path.is_file())
    database_mb = programs.database.stat().st_size / 2**20
    return Sample(seconds, programs.weigh(), programs.wal_mb(), database_mb, files)


def judge_growth(samples: Sequence[Sample]) -> list[str]:
    """Tell what has risen since it was warm; return the bounds that are broken, a sentence each."""
    warm = samples[int(len(samples) * WARM_UP_SHARE) :]
    wrong = []
    for name in warm[0].weights:
        for what, bound, values in (
            ("MB", MAX_RISE_MB, [sample.weights[name].rss_mb for sample in warm]),
            ("handles", MAX_RISE_HANDLES, [sample.weights[name].handles for sample in warm]),
            ("threads", MAX_RISE_THREADS, [sample.weights[name].threads for sample in warm]),
        ):
            slope = _slope_of([sample.seconds for sample in warm], values)
            rise = slope * (warm[-1].seconds - warm[0].seconds)
            print(f"  {name:8} {rise:+6.1f} {what} since it was warm, {slope * 3600:+7.1f} an hour")
            if rise > bound:
                wrong.append(f"The {name} grows: {rise:.1f} {what}, and {bound:g} are allowed.")
    return wrong


def judge_log(samples: Sequence[Sample]) -> list[str]:
    highest = max(sample.wal_mb for sample in samples)
    print(f"  log of the database at most {highest:.1f} MB")
    return [f"The log of the database grew to {highest:.0f} MB."] if highest > MAX_WAL_MB else []


def _slope_of(times: Sequence[float], values: Sequence[float]) -> float:
    """The median of the slopes between any two samples: some that lie far off do not move it."""
    points = zip(times, values, strict=True)
    slopes = [(later[1] - earlier[1]) / (later[0] - earlier[0]) for earlier, later in combinations(points, 2)]
    return statistics.median(slopes) if slopes else 0.0
