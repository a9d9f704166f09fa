"""A controller that learns: the cross-entropy method finds a shaper's rate, with no package but Gymnasium."""

import numpy as np
from numpy.typing import NDArray

import lockgate as lg
from lockgate import gym

scenario = lg.Scenario(
    "a shaper before a modem",
    duration=lg.s(2),
    node={"home": {}, "router": {}, "modem": {}, "isp": {}},
    link={
        "lan": {"between": ["home", "router"], "rate": lg.gbit(1)},
        "home": {"between": ["router", "modem"], "rate": lg.mbit(100)},
        "line": {"between": ["modem", "isp"], "rate": lg.mbit(10), "delay": lg.ms(5)},
    },
    port={"router:modem": {"queue": {"shaper": {"kind": "cake", "bandwidth": "8mbit"}}}},
    flow={
        "upload": {"from": "home", "to": "isp", "transport": "tcp", "bytes": "unlimited"},
        # Something random: without it, all seeds were one episode.
        "other": {
            "from": "home",
            "to": "isp",
            "transport": "udp",
            "size": lg.B(1200),
            "gap": {"distribution": "exponential", "mean": lg.ms(8)},
        },
    },
)


def reward(seen: lg.Observation) -> float:
    """Returns throughput in Mbit/s, less a tenth of the median delay in milliseconds."""
    return (seen["flow.upload.received_bps"] or 0.0) / 1e6 - 100.0 * (seen["flow.upload.owd_p50_s"] or 0.0)


env = gym.QueueEnv(
    scenario,
    knobs=[gym.Knob("port.router:modem.queue.shaper.bandwidth", 2e6, 20e6, log=True)],
    observe=["flow.upload.owd_p50_s", "flow.upload.received_bps"],
    reward=reward,
    interval=0.25,
)


def episode(action: NDArray[np.float32]) -> float:
    """Returns the rewards of two runs with one constant action: of other seeds than the run that judges it."""
    total = 0.0
    for seed in (1, 2):
        env.reset(seed=seed)
        ended = False
        while not ended:
            _, gained, _, ended, _ = env.step(action)
            total += gained
    return total


random = np.random.default_rng(1)
mean, spread = 0.5, 0.3
for _ in range(4):
    actions = [np.clip(random.normal(mean, spread, 1), 0.0, 1.0).astype(np.float32) for _ in range(8)]
    best = sorted(actions, key=episode)[-3:]
    mean, spread = float(np.mean(best)), float(np.std(best)) + 0.02
print(f"the best rate found: {env.settings([mean])[0]}")

env.reset(seed=101)
outcome = env.step(np.array([mean], np.float32))
while "run" not in outcome[4]:
    outcome = env.step(np.array([mean], np.float32))
judged: lg.Run = outcome[4]["run"]
print(f"on a run that it has not seen: {judged.metric('flow.upload.goodput') / 1e6:.1f} Mbit/s")
