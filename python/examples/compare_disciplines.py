"""Which discipline at a router keeps a call short, and is the difference real?"""

import lockgate as lg

home = lg.Scenario(
    "a call beside a download",
    duration=lg.s(6),
    warmup=lg.s(1),
    node={"pc": {}, "phone": {}, "router": {}, "server": {}},
    link={
        "lan": {"between": ["pc", "router"], "rate": lg.gbit(1)},
        "voice": {"between": ["phone", "router"], "rate": lg.gbit(1)},
        "wan": {"between": ["router", "server"], "rate": lg.mbit(10), "delay": lg.ms(10)},
    },
    port={
        "router:server": {
            "root": "fifo",
            "alternatives": ["fair"],
            "queue": {"fifo": {"kind": "fifo", "limit": "250kB"}, "fair": {"kind": "fq_codel"}},
        }
    },
    flow={
        "call": {"from": "phone", "to": "server", "profile": "g711"},
        "download": {"from": "pc", "to": "server", "transport": "tcp", "bytes": "unlimited", "start": "10ms"},
    },
)

comparison = lg.compare(
    home,
    vary={"port.router:server.root": ["fifo", "fair"]},
    seeds=range(1, 4),
    metrics=["flow.call.owd.p99", "flow.download.goodput"],
)
print(comparison)
delay = comparison.metrics[0]
assert delay.best == 1, "fair queueing keeps the call short"
