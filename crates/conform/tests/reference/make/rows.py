"""The rows: commands and traffic of each reference run."""

CS1, AF41, EF, CS2, CS3, CS6, ECT = 0x20, 0x88, 0xB8, 0x40, 0x60, 0xC0, 0x02


def window(flow):
    """Returns the part of a run that is judged, in seconds: without its first two."""
    return flow["start_s"] + 2, flow["stop_s"]


def udp(mbit, size=1000, **more):
    """Returns a flow of datagrams with Poisson arrivals; port and seed come from its place among the flows of the row."""
    return {"offered_bps": round(mbit * 1e6), "l2_bytes": size, "process": "poisson", **more}


def flows(*rates, **more):
    """Returns flows of these rates in Mbit/s, named f1, f2, ..."""
    return {f"f{index + 1}": udp(rate, **more) for index, rate in enumerate(rates)}


def row(name, commands, setups, seconds=12, known=()):
    """Returns a run. `$` stands for the device; a line that begins with the name of a discipline is the root."""
    lines = [commands] if isinstance(commands, str) else commands
    lines = [line if line.startswith(("class", "filter", "qdisc")) else f"qdisc add $ root handle 1: {line}" for line in lines]
    made = {}
    for index, (flow, setup) in enumerate(setups.items()):
        made[flow] = {
            "type": "udp", "dport": 9000 + index, "start_s": 0.0, "stop_s": float(seconds), "seed": 11 + index,
            "burst_packets": 1, "tos": 0, **setup,
        }
    return {"id": name, "commands": [f"tc {line.replace('$', 'dev r1')}" for line in lines],
            "duration_s": float(seconds), "flows": made, **({"known": list(known)} if known else {})}


def delay_off(flow, by, why):
    """Returns a known deviation of a mean delay, as a fraction of it."""
    return [{"flow": flow, "quantity": "mean delay", "off_by": by, "why": why}]


def link(*lines, mbit=10):
    """Returns commands of a class of HTB as a link, with a discipline `10:` in it."""
    first, *more = lines
    rate = f"{mbit}mbit"
    return ["htb default 1", f"class add $ parent 1: classid 1:1 htb rate {rate} ceil {rate} burst 1600 cburst 1600 quantum 1514",
            f"qdisc add $ parent 1:1 handle 10: {first}", *more]


def to_classes(parent, *classes):
    """Returns filters that lead the flows to these classes, in order."""
    return [f"filter add $ parent {parent} protocol ip prio 1 u32 match ip dport {9000 + index} 0xffff flowid {id}"
            for index, id in enumerate(classes)]


def hosts(**flows_of):
    """Returns flows `NAME1`, `NAME2`, ... of (source, destination, number, Mbit/s each)."""
    made = {}
    for name, (source, destination, count, rate) in flows_of.items():
        for index in range(count):
            made[f"{name}{index + 1}"] = udp(rate, src=f"10.1.0.{source}", dst=f"10.2.0.{destination}")
    return made


FOUR = {"bulk": udp(6, tos=CS1), "best": udp(6), "video": udp(6, tos=AF41), "voice": udp(6, tos=EF)}
# Linux counts the memory of its buffers against `memlimit`, so that the limit must not be reached in a row on the law.
CAKE = "cake bandwidth 10mbit rtt 20ms memlimit 32mb"

ROOTS = ("Linux improves a reciprocal root by one Newton step a drop. An own computation of the law gives 1.111 s with exact "
         "roots, as here, and 1.099 s with such steps, so that a quarter of the difference is explained")
STARVED = ("the tin gets a packet in 44 ms, when those above it are empty at once: microseconds of lateness decide it, and the "
           "sender of this run is late by up to 281 us")

ROWS = [
    # Other kinds: whole boots of four rows, before those of CAKE, whose boots stay as they are.
    row("fq_codel_sparse_poisson", link("fq_codel quantum 300"), {"sparse": udp(0.2, 200), **flows(8, 8)}),
    row("codel_limit", link("codel limit 20 target 1ms interval 20ms"), flows(12)),
    row("htb_within_rates", ["htb default 99", "class add $ parent 1: classid 1:1 htb rate 10mbit ceil 10mbit burst 1600 cburst 1600",
        "class add $ parent 1:1 classid 1:11 htb rate 4mbit ceil 10mbit burst 1600 cburst 1600 quantum 1514",
        "class add $ parent 1:1 classid 1:12 htb rate 6mbit ceil 10mbit burst 1600 cburst 1600 quantum 1514",
        *[f"qdisc add $ parent 1:{n} handle {n}: pfifo limit 50" for n in (11, 12)], *to_classes("1:", "1:11", "1:12")],
        flows(3.6, 8)),
    row("drr_one_within", link("drr", *[f"class add $ parent 10: classid 10:{n} drr quantum {quantum}" for n, quantum in ((1, 500), (2, 1500), (3, 3000))],
        *[f"qdisc add $ parent 10:{n} handle 2{n}: pfifo limit 50" for n in (1, 2, 3)], *to_classes("10:", "10:1", "10:2", "10:3")),
        flows(6, 2, 12)),
    row("pie_poisson_1.1x", link("pie"), flows(11), 20),
    row("red_poisson_gentle", link("red limit 100000 min 10000 max 60000 avpkt 1000 burst 27 probability 0.1 bandwidth 10mbit"),
        flows(11), 20),
    row("sfq_poisson", link("sfq limit 60 quantum 1514"), flows(2, 5, 8)),
    row("sfq_depth", link("sfq depth 10 headdrop"), {"s200": udp(4, 200), "s1000": udp(8)}),
    row("prio_by_tos", link("prio", *[f"qdisc add $ parent 10:{n} handle 2{n}: pfifo limit 50" for n in (1, 2, 3)]),
        {"low_delay": udp(2, tos=0x10), "normal": udp(5), "bulk": udp(6, tos=0x08)}, 20),
    row("bfifo_sizes", link("bfifo limit 20000"), {"s200": udp(4, 200), "s1400": udp(7, 1400)}, 20),
    row("pfifo_head_drop", link("pfifo_head_drop limit 20"), flows(11)),
    row("choke_equal", link("choke limit 1000 min 10 max 60 probability 0.1 avpkt 1000 burst 27 bandwidth 10mbit"), flows(6, 6), 20),
    # Tins: all above their parts, or the upper ones within them.
    row("cake_diffserv3_overload", f"{CAKE} diffserv3", {"bulk": udp(8, tos=CS1), "best": udp(8), "voice": udp(8, tos=EF)}),
    row("cake_diffserv3_voice_within", f"{CAKE} diffserv3", {"bulk": udp(8, tos=CS1), "best": udp(12), "voice": udp(1, 300, tos=EF)}),
    row("cake_diffserv3_bulk_alone", f"{CAKE} diffserv3", {"bulk": udp(12, tos=CS1), "voice": udp(1, 300, tos=EF)}),
    row("cake_diffserv4_overload", f"{CAKE} diffserv4", FOUR, known=delay_off("bulk", 0.045, ROOTS)),
    row("cake_diffserv4_within", f"{CAKE} diffserv4",
        {"bulk": udp(6, tos=CS1), "best": udp(9), "video": udp(3, tos=AF41), "voice": udp(1, 300, tos=EF)},
        known=delay_off("bulk", 0.045, ROOTS)),
    row("cake_diffserv8_overload", f"{CAKE} diffserv8",
        {"cs1": udp(5, tos=CS1), "best": udp(5), "cs3": udp(5, tos=CS3), "cs2": udp(5, tos=CS2), "ef": udp(5, tos=EF)}),
    row("cake_diffserv8_upper_within", f"{CAKE} diffserv8",
        {"cs1": udp(5, tos=CS1), "best": udp(9), "cs2": udp(2, tos=CS2), "cs6": udp(0.5, 300, tos=CS6)}),
    row("cake_precedence_overload", f"{CAKE} precedence", {"best": udp(6), "cs1": udp(6, tos=CS1), "cs3": udp(6, tos=CS3)},
        known=delay_off("best", 0.25, STARVED)),
    # Flows and hosts.
    row("cake_flows_unequal", f"{CAKE} besteffort flows", flows(2, 5, 12)),
    row("cake_sizes_unequal", f"{CAKE} besteffort flows", {"s200": udp(6, 200), "s1400": udp(12, 1400)}),
    row("cake_sparse_beside_bulk", f"{CAKE} besteffort flows", {"sparse": udp(0.2, 200), **flows(8, 8)}),
    row("cake_dual_srchost_1_3", f"{CAKE} besteffort dual-srchost", hosts(p=(1, 1, 1, 8), q=(2, 1, 3, 4))),
    row("cake_dual_dsthost_1_4", f"{CAKE} besteffort dual-dsthost", hosts(p=(1, 1, 1, 8), q=(1, 2, 4, 3))),
    row("cake_dual_srchost_one_light", f"{CAKE} besteffort dual-srchost", hosts(p=(1, 1, 1, 2), q=(2, 1, 2, 6), r=(3, 1, 1, 6))),
    row("cake_srchost_1_3", f"{CAKE} besteffort srchost", hosts(p=(1, 1, 1, 8), q=(2, 1, 3, 4))),
    row("cake_triple_one_source", f"{CAKE} besteffort triple-isolate", hosts(p=(1, 1, 1, 8), q=(1, 2, 3, 4))),
    row("cake_triple_two_sources", f"{CAKE} besteffort triple-isolate", hosts(p=(1, 1, 1, 8), q=(2, 2, 3, 4))),
    row("cake_triple_mixed", f"{CAKE} besteffort triple-isolate", hosts(p=(1, 1, 2, 6), q=(2, 1, 1, 6), r=(2, 2, 1, 6))),
    # Bytes on the wire.
    row("cake_atm", f"{CAKE} besteffort overhead 32 atm", {"f300": udp(6, 300), "f1000": udp(8)}),
    row("cake_ptm", f"{CAKE} besteffort overhead 22 ptm", {"f300": udp(6, 300), "f1400": udp(8, 1400)}),
    row("cake_raw", f"{CAKE} besteffort raw", flows(12, size=500)),
    # COBALT under a load that does not yield.
    row("cake_rtt_internet", "cake bandwidth 10mbit besteffort memlimit 32mb", flows(11), 20),
    row("cake_marks", f"{CAKE} besteffort", flows(11, tos=ECT), 20),
]
