"""Intervals and verdicts of a quantile: what Student's t and the BCa bootstrap say of seeds whose truth is known.

    python benchmarks/intervals.py scenario.toml metric [seeds]

The mean over many seeds is the truth; intervals are of samples of them. A false alarm is a difference that is seen
between two samples of one variant.
"""

from __future__ import annotations

import sys
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

import lockgate as lg

Values = npt.NDArray[np.float64]

#: Two-sided 95 % quantiles of Student's t by the number of values.
STUDENT = {5: 2.776445, 10: 2.262157, 20: 2.093024}
NORMAL = NormalDist()


def student(sample: Values) -> tuple[float, float]:
    """Returns the ends of Student's interval of the mean."""
    half = STUDENT[len(sample)] * float(sample.std(ddof=1)) / len(sample) ** 0.5
    return float(sample.mean()) - half, float(sample.mean()) + half


def bca(sample: Values, draws: np.random.Generator) -> tuple[float, float]:
    """Returns the ends of the bias-corrected and accelerated interval (Efron 1987) of the mean, by 1000 resamples."""
    count = len(sample)
    means = sample[draws.integers(0, count, (1000, count))].mean(axis=1)
    bias = NORMAL.inv_cdf(min(max(float((means < sample.mean()).mean()), 1e-4), 1 - 1e-4))
    apart = sample - sample.mean()
    acceleration = float((apart**3).sum() / (6 * (apart**2).sum() ** 1.5))
    ends = (bias + NORMAL.inv_cdf(end) for end in (0.025, 0.975))
    shares = [NORMAL.cdf(bias + end / (1 - acceleration * end)) for end in ends]
    low, high = np.quantile(means, shares)
    return float(low), float(high)


def main(path: str, metric: str, seeds: int) -> None:
    """Prints how often intervals have the truth in them, and how often a difference is seen that is none."""
    scenario = lg.read(path)
    runs = scenario.run(seeds=range(1, seeds + 1))
    values = np.array([value for value in runs.interval(metric).values if value is not None])
    draws, truth = np.random.default_rng(5), float(values.mean())
    for count in STUDENT:
        samples = [draws.choice(values, count, replace=False) for _ in range(2000)]
        of = {"Student": [student(one) for one in samples], "BCa": [bca(one, draws) for one in samples]}
        rates = {name: sum(low <= truth <= high for low, high in ends) / 2000 for name, ends in of.items()}
        print(f"{count} seeds: the truth is within {rates['Student']:.1%} of Student's, {rates['BCa']:.1%} of BCa's")
    differences = (draws.choice(values, (2, 20), replace=False) for _ in range(4000))
    alarms = [not low <= 0.0 <= high for low, high in (student(one - other) for one, other in differences)]
    print(f"false alarms: {sum(alarms[:200]) / 200:.1%} of 200 trials, {sum(alarms) / 4000:.1%} of 4000")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3000)
