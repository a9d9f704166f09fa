"""A run that is advanced step by step: a controller in Python keeps a queue near its target."""

import lockgate as lg

TARGET = 20.0  # packets

scenario = lg.Scenario(
    "a shaper that follows its load",
    duration=lg.s(5),
    node={"a": {}, "b": {}},
    link={"line": {"between": ["a", "b"], "rate": lg.mbit(10)}},
    flow={
        "load": {
            "from": "a",
            "to": "b",
            "size": lg.B(1000),
            "gap": {"distribution": "exponential", "mean": lg.ms(2)},
        }
    },
)

simulation = scenario.simulation(seed=1)
rate = 2e6
while simulation.step(by=lg.ms(50)):
    waiting = simulation.observe()["port.a:b.packets"] or 0.0
    rate = min(max(rate * (1.0 + 0.02 * (waiting - TARGET) / TARGET), 1e6), 1e7)
    simulation.set("link.line.rate", lg.bit(round(rate)))
run = simulation.finish()
backlog = run.series("port.a:b.backlog_packets")["backlog_packets"]
print(f"{run.verdict}; mean backlog {sum(backlog) / len(backlog):.1f} packets, last rate {rate / 1e6:.2f} Mbit/s")
