"""Environments: Gymnasium's own checks, episodes that repeat, knobs that act."""

from __future__ import annotations

from typing import Any

import pytest

import lockgate as lg

gymnasium = pytest.importorskip("gymnasium")
np = pytest.importorskip("numpy")

from lockgate import gym  # noqa: E402


def environment(line: lg.Scenario) -> gym.QueueEnv:
    """A shaper whose rate is learned: the delay is to be low, the rate as well."""
    return gym.QueueEnv(
        line,
        [gym.Knob("link.line.rate", 2e5, 2e6, log=True), gym.Knob("link.line.delay", 0.0, 0.01, kind="time")],
        ["flow.one.owd_p99_s", "port.a:b.packets"],
        lambda seen: -(seen["flow.one.owd_p99_s"] or 0.0),
        interval="50ms",
    )


def test_gymnasium_finds_no_fault(line: lg.Scenario) -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(environment(line), skip_render_check=True)


def test_an_episode_is_a_run_that_repeats(line: lg.Scenario) -> None:
    env = environment(line)

    def episode(seed: int, action: float) -> tuple[list[float], lg.Run]:
        figures, info = env.reset(seed=seed)
        assert info["time"] == 0.0 and figures.tolist() == [0.0, 0.0]
        rewards = []
        while True:
            _, reward, terminated, truncated, info = env.step(np.array([action, 0.0], np.float32))
            rewards.append(reward)
            assert not terminated
            if truncated:
                return rewards, info["run"]

    slow, run = episode(7, 0.0)
    assert len(slow) == 20 and episode(7, 0.0)[0] == slow and episode(8, 0.0)[0] != slow
    fast, _ = episode(7, 1.0)
    assert sum(fast) > 10 * sum(slow)
    same = line.set("link.line.rate", "200kbit").run(seed=7)
    assert run.flows["one"].received_packets == same.flows["one"].received_packets
    with pytest.raises(RuntimeError, match="reset"):
        env.step(np.zeros(2, np.float32))


def test_an_environment_is_made_by_its_name_and_scaled(line: lg.Scenario) -> None:
    plain, options = environment(line), {"observe": ["flow.one.owd_p99_s", "port.a:b.packets"], "interval": "50ms"}
    scaled = gymnasium.make(
        "lockgate/Queue-v0", scenario=line, knobs=plain.knobs, reward=len, scales=[0.1, 10], **options
    )
    action = np.array([0.5, 0.0], np.float32)
    for env in (plain, scaled.unwrapped):
        env.reset(seed=3)
        env._reward = lambda seen: 0.0
    for _ in range(5):
        seen, given = plain.step(action)[0], scaled.unwrapped.step(action)[0]
        assert given == pytest.approx(seen / np.array([0.1, 10]), rel=1e-6)
    space: Any = plain.observation_space
    assert np.isfinite([*space.low, *space.high]).all()


def test_knobs_are_in_their_units(line: lg.Scenario) -> None:
    env = environment(line)
    assert env.settings([0.0, 0.5]) == ["link.line.rate=200000bit", "link.line.delay=5000000000ps"]
    assert env.settings([1.0, 2.0]) == ["link.line.rate=2000000bit", "link.line.delay=10000000000ps"]
    assert gym.Knob("x", 0, 0.5, kind="share").value(1.0) == "50.000000%"
    assert gym.Knob("x", 1, 100, kind="packets", log=True).value(0.5) == "10p"
    with pytest.raises(ValueError, match="low is less"):
        gym.Knob("x", 1, 1)


def test_what_is_wrong_is_said_at_once(line: lg.Scenario) -> None:
    with pytest.raises(lg.MetricError):
        gym.QueueEnv(line, [gym.Knob("link.line.rate", 1e5, 1e6)], ["flow.two.rtt_s"], lambda seen: 0.0)
    with pytest.raises(lg.ScenarioError, match="did you mean `line`"):
        gym.QueueEnv(line, [gym.Knob("link.lime.rate", 1e5, 1e6)], ["flow.one.rtt_s"], lambda seen: 0.0)
    knob = gym.Knob("link.line.rate", 1e5, 1e6)
    for interval in (0, 1e-15, "0s"):
        with pytest.raises(lg.ArgumentError, match="no episode would end"):
            gym.QueueEnv(line, [knob], ["flow.one.rtt_s"], lambda seen: 0.0, interval=interval)
    with pytest.raises(lg.ArgumentError, match="is one of time, rate"):
        gym.Knob("x", 0, 1, kind="tme")  # type: ignore[arg-type]
    with pytest.raises(lg.ArgumentError, match="a number above zero for each of 1"):
        gym.QueueEnv(line, [knob], ["flow.one.rtt_s"], lambda seen: 0.0, scales=[1.0, 2.0])
    with pytest.raises(ValueError, match="at least one knob"):
        gym.QueueEnv(line, [], ["flow.one.rtt_s"], lambda seen: 0.0)
