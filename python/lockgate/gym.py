"""Environments for learning controllers, with the interface of Gymnasium.

An action sets values of a running scenario, such as the rate of a shaper or the target of an AQM; an observation
has figures of queues and flows; every step is an interval of simulated time. Needs `pip install lockgate[gym]`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy as np
from numpy.typing import NDArray

from . import _arguments, _lockgate
from ._errors import ArgumentError
from ._run import Run
from ._scenario import Scenario
from ._simulation import Observation, Simulation
from ._toml import Value, setting
from ._units import Time

#: Largest figure of an observation.
_LARGEST = float(np.finfo(np.float32).max)

#: Notation of a number in the base unit of each kind of quantity.
_NOTATIONS: Mapping[str, Callable[[float], Value]] = {
    "time": lambda seconds: f"{max(0, round(seconds * 1e12))}ps",
    "rate": lambda bits: f"{max(0, round(bits))}bit",
    "size": lambda count: f"{max(0, round(count))}B",
    "packets": lambda count: f"{max(0, round(count))}p",
    "share": lambda share: f"{min(max(share, 0.0), 1.0) * 100:.6f}%",
    "number": float,
    "count": round,
}


@dataclass(frozen=True)
class Knob:
    """A value that actions set.

    Attributes:
        path: Path of the value, such as `"port.router:modem.queue.cake.bandwidth"`.
        low: Smallest value, in the base unit of its kind.
        high: Largest value.
        kind: Kind of the quantity: `time` in seconds, `rate` in bits per second, `size` in bytes, `packets`,
            `share` from 0 to 1, `number`, or `count` (a whole number).
        log: True if the action, which goes from 0 to 1, moves at equal ratios instead of equal steps.
    """

    path: str
    low: float
    high: float
    kind: Literal["time", "rate", "size", "packets", "share", "number", "count"] = "rate"
    log: bool = False

    def __post_init__(self) -> None:
        _arguments.text("path", self.path)
        low, high = _arguments.real("low", self.low), _arguments.real("high", self.high)
        if not low < high or (_arguments.truth("log", self.log) and low <= 0.0):
            raise ArgumentError(f"`{self.path}`: low is less than high, and above zero with log")
        if _arguments.text("kind", self.kind) not in _NOTATIONS:
            raise ArgumentError(f"`{self.path}`: `kind` is one of {', '.join(_NOTATIONS)}, not {self.kind!r}")

    def value(self, action: float) -> Value:
        """Returns the value that an action sets.

        Args:
            action: From 0 (the smallest value) to 1 (the largest); beyond is cut off.
        """
        share = min(max(_arguments.real("action", action), 0.0), 1.0)
        if self.log:
            number = self.low * (self.high / self.low) ** share
        else:
            number = self.low + (self.high - self.low) * share
        return _NOTATIONS[self.kind](number)


class QueueEnv(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """A scenario as an environment of Gymnasium, also by `gymnasium.make("lockgate/Queue-v0", scenario=..., ...)`.

    Action: a number from 0 to 1 for each knob. Observation: the figures at the addresses of `observe`, in
    their base units, each divided by its number of `scales`. `info` has the whole `Observation`, the time, and after
    the end the finished `Run`.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        scenario: Scenario,
        knobs: Sequence[Knob],
        observe: Sequence[str],
        reward: Callable[[Observation], float],
        *,
        interval: Time = 0.1,
        missing: float = 0.0,
        scales: Sequence[float] | None = None,
    ) -> None:
        """Creates the environment. Nothing is simulated before `reset`.

        Args:
            scenario: The scenario. An episode is one run of it.
            knobs: Values that actions set.
            observe: Addresses of `Observation`, such as `"flow.call.owd_p99_s"`.
            reward: Function of the observation after each step.
            interval: Simulated time of a step: seconds, or a text with its unit.
            missing: Value of a figure without an observation, such as the delay of a flow that received nothing.
            scales: A number for each figure by which it is divided, such as 0.1 of a delay and 1e7 of a rate: learning
                wants figures of about one. By default none.

        Raises:
            ScenarioError: If a knob's value cannot be changed during the run.
            MetricError: If an address names no figure.
            ArgumentError: If there are no knobs or addresses, the interval is no time above zero, or another argument
                is of a wrong kind.
        """
        self.scenario = _arguments.instance("scenario", scenario, Scenario, "a scenario")
        several = _arguments.several("knobs", knobs, "knobs")
        self.knobs = [_arguments.instance("knobs", one, Knob, "knobs") for one in several]
        self.observed = _arguments.texts("observe", observe)
        if not self.knobs or not self.observed:
            raise ArgumentError("an environment has at least one knob, and observes at least one figure")
        self.interval = _lockgate.picoseconds(_arguments.time("interval", interval)) * 1e-12
        if self.interval <= 0.0:
            raise ArgumentError("`interval` is zero: no episode would end")
        self._reward = _arguments.callback("reward", reward, "a function of an observation")
        self._missing = _arguments.real("missing", missing)
        self._scales = np.ones(len(self.observed), np.float64)
        if scales is not None:
            self._scales = np.array(_numbers("scales", scales, len(self.observed)))
            if len(self._scales) != len(self.observed) or not (self._scales > 0.0).all():
                raise ArgumentError(f"`scales` has a number above zero for each of {len(self.observed)} figures")
        self._simulation: Simulation | None = None
        self.action_space = gymnasium.spaces.Box(0.0, 1.0, (len(self.knobs),), np.float32)
        self.observation_space = gymnasium.spaces.Box(-_LARGEST, _LARGEST, (len(self.observed),), np.float32)
        # A trial, so that errors are raised here instead of in the first episode.
        trial = scenario.simulation()
        self._figures(trial.observe())
        trial.set({knob.path: knob.value(0.0) for knob in self.knobs})

    def _figures(self, observation: Observation) -> NDArray[np.float32]:
        found = [observation[address] for address in self.observed]
        figures = np.array([self._missing if value is None else value for value in found], np.float64)
        return np.clip(figures / self._scales, -_LARGEST, _LARGEST).astype(np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Starts a run at time zero.

        Args:
            seed: Seed of the run and of what follows; without one, the next run has another seed, drawn from
                the last seed given.
            options: Not used.

        Returns:
            The first observation, and `info`.
        """
        if seed is not None:
            seed = _arguments.whole("seed", seed)
        super().reset(seed=seed)
        run_seed = seed if seed is not None else int(self.np_random.integers(1, 2**32))
        self._simulation = self.scenario.simulation(run_seed)
        observation = self._simulation.observe()
        return self._figures(observation), {"observation": observation, "time": 0.0, "seed": run_seed}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Sets the knobs and advances the run by the interval.

        Returns:
            Observation, reward, false (a network has no terminal state), true once the run has ended, `info`.

        Raises:
            RuntimeError: Before `reset`, and after the end.
            ArgumentError: If the action is not a number for each knob.
        """
        simulation = self._simulation
        if simulation is None:
            raise RuntimeError("call `reset` first: there is no running episode")
        simulation.set(self._values(action))
        goes_on = simulation.step(by=self.interval)
        observation = simulation.observe()
        info: dict[str, Any] = {"observation": observation, "time": observation.time}
        if not goes_on:
            self._simulation = None
            run: Run = simulation.finish()
            info["run"] = run
        return self._figures(observation), float(self._reward(observation)), False, not goes_on, info

    def _values(self, action: Iterable[float]) -> dict[str, Value]:
        shares = _numbers("action", action, len(self.knobs))
        if len(shares) != len(self.knobs):
            raise ArgumentError(f"`action` has {len(shares)} numbers, and the environment {len(self.knobs)} knobs")
        return {knob.path: knob.value(share) for knob, share in zip(self.knobs, shares, strict=True)}

    def settings(self, action: Iterable[float]) -> list[str]:
        """Returns what an action sets, each `PATH=VALUE`, as after `--set` of the command."""
        return [setting(path, value) for path, value in self._values(action).items()]


def _numbers(name: str, values: Iterable[float], many: int) -> list[float]:
    """Returns numbers; no more than one too many, however many they are."""
    values = itertools.islice(_arguments.several(name, values, "numbers"), many + 1)
    return [_arguments.real(name, one) for one in values]


gymnasium.register("lockgate/Queue-v0", entry_point="lockgate.gym:QueueEnv")
