"""Environments for learning controllers, with the interface of Gymnasium.

An action sets values of a running scenario, such as the rate of a shaper or the target of an AQM; an observation
has figures of queues and flows; every step is an interval of simulated time. Needs `pip install lockgate[gym]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy as np
from numpy.typing import NDArray

from . import _lockgate
from ._run import Run
from ._scenario import Scenario
from ._simulation import Observation, Simulation
from ._toml import Value, setting
from ._units import Time

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
        if not self.low < self.high or (self.log and self.low <= 0.0):
            raise ValueError(f"`{self.path}`: low is less than high, and above zero with log")

    def value(self, action: float) -> Value:
        """Returns the value that an action sets.

        Args:
            action: From 0 (the smallest value) to 1 (the largest); beyond is cut off.
        """
        share = min(max(float(action), 0.0), 1.0)
        if self.log:
            number = self.low * (self.high / self.low) ** share
        else:
            number = self.low + (self.high - self.low) * share
        return _NOTATIONS[self.kind](number)


class QueueEnv(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """A scenario as an environment of Gymnasium.

    Action: a number from 0 to 1 for each knob. Observation: the figures at the addresses of `observe`, in
    their base units. `info` has the whole `Observation`, the time, and after the end the finished `Run`.
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
    ) -> None:
        """Creates the environment. Nothing is simulated before `reset`.

        Args:
            scenario: The scenario. An episode is one run of it.
            knobs: Values that actions set.
            observe: Addresses of `Observation`, such as `"flow.call.owd_p99_s"`.
            reward: Function of the observation after each step.
            interval: Simulated time of a step: seconds, or a text with its unit.
            missing: Value of a figure without an observation, such as the delay of a flow that received nothing.

        Raises:
            ScenarioError: If a knob's value cannot be changed during the run.
            MetricError: If an address names no figure.
            ValueError: If there are no knobs or addresses, or the interval is not a time.
        """
        if not knobs or not observe:
            raise ValueError("an environment has at least one knob, and observes at least one figure")
        self.scenario, self.knobs, self.observed = scenario, list(knobs), list(observe)
        self.interval = _lockgate.picoseconds(interval) * 1e-12
        self._reward, self._missing = reward, missing
        self._simulation: Simulation | None = None
        self.action_space = gymnasium.spaces.Box(0.0, 1.0, (len(self.knobs),), np.float32)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (len(self.observed),), np.float32)
        # A trial, so that errors are raised here instead of in the first episode.
        trial = scenario.simulation()
        self._figures(trial.observe())
        trial.set({knob.path: knob.value(0.0) for knob in self.knobs})

    def _figures(self, observation: Observation) -> NDArray[np.float32]:
        found = [observation[address] for address in self.observed]
        return np.array([self._missing if value is None else value for value in found], np.float32)

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
        """
        simulation = self._simulation
        if simulation is None:
            raise RuntimeError("call `reset` first: there is no running episode")
        values = zip(self.knobs, np.asarray(action).ravel(), strict=True)
        simulation.set({knob.path: knob.value(float(share)) for knob, share in values})
        goes_on = simulation.step(by=self.interval)
        observation = simulation.observe()
        info: dict[str, Any] = {"observation": observation, "time": observation.time}
        if not goes_on:
            self._simulation = None
            run: Run = simulation.finish()
            info["run"] = run
        return self._figures(observation), float(self._reward(observation)), False, not goes_on, info

    def settings(self, action: Sequence[float]) -> list[str]:
        """Returns what an action sets, each `PATH=VALUE`, as after `--set` of the command."""
        return [setting(knob.path, knob.value(share)) for knob, share in zip(self.knobs, action, strict=True)]
