#!/usr/bin/env python3
"""Scripts of `tc` for the corpus of verdicts: generate.py DIRECTORY [SEED]. One seed, the same bytes.

Families: words of every kind with values of every sort, orders of commands, handles, filters, actions, units, and
forms of the shell. Each file is NAME.sh; make.sh puts them to a real `tc` and a real kernel.
"""

import random
import sys
from pathlib import Path

OUT = Path(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
R = random.Random(SEED)

VALUES = {
    "rate": (
        "1mbit 100kbit 1gbit 10mbps 512Kbit 1.5mbit 8000 2mibit 100kibit 1kbps 20gbit 5Mbit 3000000bit".split(),
        "0 0bit 1bit 1e6bit 1E3kbit 2tbit 1tbps .5mbit 1.mbit +1mbit 0x10kbit 7bit 40gbit 1kibps".split(),
        "1Mb -1mbit 1mb mbit 5g 1m inf nan 99999999999gbit 10mbits 1,5mbit 1mbit/s".split(),
    ),
    "size": (
        "1500 10k 64kb 1600 3000 15k 1540b 32kb 2kb 1514 100k".split(),
        "0 1 1.5k 1e3 0x100 10kbit 1mbit 1mb 2g 5gbit 4294967295 .5k 200".split(),
        "-1 abc 10kib 4294967296 99999999999 5gb 1500/8 k 10% 1mB".split(),
    ),
    "time": (
        "20ms 5000 1s 100us 10usec 0.5ms 100ms 5msec 15ms 300ms".split(),
        "0 1 1e3us 5ns 0.1us 10000s 20msecs 2secs 1sec 4000s 0x10ms".split(),
        "1min -5ms abc 1h 20m ms 5%".split(),
    ),
    "u32": (
        "1 10 100 1000 64 127 300".split(),
        "0 0x10 010 4294967295 65536 65535 1024".split(),
        "-1 4294967296 1.5 abc 1k 08 10p 1_0".split(),
    ),
    "u16": ("1 10 100 1024".split(), "0 0x10 010 65535".split(), "-1 65536 70000 1.5 abc".split()),
    "u8": ("1 3 5 7".split(), "0 0x7 255".split(), "-1 256 1.5 abc".split()),
    "int": ("0 1 4 22 38 44".split(), "-4 -1 0x10 64 256 -64".split(), "-65 257 1.5 abc 1k".split()),
    "prob": ("0.02 0.1 0.5 0.01".split(), "0 1 1.0 1e-3".split(), "2 -0.1 abc 10%".split()),
    "percent": ("1% 5% 0.1% 10%".split(), "0% 100% 0.5 5 1 100".split(), "101% -1% abc".split()),
    "hex": ("10 1 20 30 ff".split(), "0x10 0 ffff 1:10".split(), "10000 xyz -1".split()),
    "mask": ("0xff 0xf 15 0xff00".split(), "0 0xffffffff".split(), "abc 0x1ffffffff -1".split()),
    "name": ("atm ethernet adsl".split(), [], "foo eth ATM ptm".split()),
    "flag": None,
}

# Words of each discipline: those that it must have, and those that it may.
QDISCS = {
    "pfifo": ("", "limit:u32"),
    "bfifo": ("", "limit:size"),
    "pfifo_head_drop": ("", "limit:u32"),
    "pfifo_fast": ("", ""),
    "tbf": (
        "rate:rate burst:size limit:size",
        "rate:rate burst:size buffer:size maxburst:size limit:size latency:time peakrate:rate minburst:size "
        "mtu:size mpu:size overhead:size linklayer:name",
    ),
    "htb": ("", "default:hex r2q:u32 debug:u32 direct_qlen:u32"),
    "hfsc": ("", "default:hex"),
    "prio": ("", "bands:u32"),
    "multiq": ("", ""),
    "drr": ("", "quantum:size"),
    "qfq": ("", ""),
    "sfq": (
        "",
        "limit:u32 perturb:u32 quantum:size divisor:u32 flows:u32 depth:u32 headdrop:flag redflowlimit:size "
        "min:size max:size avpkt:size burst:u32 probability:prob ecn:flag harddrop:flag",
    ),
    "red": (
        "limit:size avpkt:size",
        "limit:size min:size max:size avpkt:size burst:u32 bandwidth:rate probability:prob ecn:flag harddrop:flag "
        "adaptive:flag nodrop:flag",
    ),
    "choke": (
        "limit:u32 bandwidth:rate",
        "limit:u32 min:u32 max:u32 avpkt:size burst:u32 bandwidth:rate probability:prob ecn:flag",
    ),
    "codel": ("", "limit:u32 target:time interval:time ecn:flag noecn:flag ce_threshold:time"),
    "fq_codel": (
        "",
        "limit:u32 flows:u32 target:time interval:time quantum:size ecn:flag noecn:flag ce_threshold:time "
        "memory_limit:size drop_batch:u32 ce_threshold_selector:mask",
    ),
    "pie": (
        "",
        "limit:u32 target:time tupdate:time alpha:u32 beta:u32 ecn:flag noecn:flag bytemode:flag nobytemode:flag "
        "dq_rate_estimator:flag no_dq_rate_estimator:flag",
    ),
    "fq": (
        "",
        "limit:u32 flow_limit:u32 quantum:size initial_quantum:size maxrate:rate low_rate_threshold:rate buckets:u32 "
        "pacing:flag nopacing:flag refill_delay:time orphan_mask:mask defrate:rate timer_slack:time "
        "ce_threshold:time horizon:time horizon_cap:flag horizon_drop:flag",
    ),
    "cake": (
        "",
        "bandwidth:rate unlimited:flag autorate-ingress:flag rtt:time datacentre:flag lan:flag metro:flag "
        "regional:flag internet:flag oceanic:flag satellite:flag interplanetary:flag besteffort:flag "
        "precedence:flag diffserv3:flag diffserv4:flag diffserv8:flag flowblind:flag srchost:flag dsthost:flag "
        "hosts:flag flows:flag dual-srchost:flag dual-dsthost:flag triple-isolate:flag nat:flag nonat:flag "
        "wash:flag nowash:flag ingress:flag egress:flag ack-filter:flag ack-filter-aggressive:flag "
        "no-ack-filter:flag split-gso:flag no-split-gso:flag raw:flag conservative:flag atm:flag noatm:flag "
        "ptm:flag overhead:int mpu:int memlimit:size ethernet:flag ether-vlan:flag docsis:flag pppoe-ptm:flag "
        "bridged-ptm:flag pppoa-vcmux:flag pppoa-llc:flag pppoe-vcmux:flag pppoe-llcsnap:flag via-ethernet:flag "
        "ipoa-vcmux:flag no_overhead:flag fwmark:mask bridged-llcsnap:flag",
    ),
    "netem": (
        "",
        "limit:u32 delay:time latency:time loss:percent duplicate:percent corrupt:percent rate:rate gap:u32 ecn:flag "
        "reorder:percent drop:percent",
    ),
    "hhf": (
        "",
        "limit:u32 quantum:size hh_limit:u32 reset_timeout:time admit_bytes:size evict_timeout:time "
        "non_hh_weight:u32",
    ),
    "sfb": (
        "",
        "rehash:u32 db:u32 limit:u32 max:u32 target:u32 increment:prob decrement:prob penalty_rate:u32 "
        "penalty_burst:u32",
    ),
    "skbprio": ("", "limit:u32"),
    "cbs": ("", "hicredit:u32 locredit:int sendslope:int idleslope:u32"),
    "etf": ("clockid:clock delta:u32", "clockid:clock delta:u32 deadline_mode:flag skip_sock_check:flag"),
    "plug": ("", "limit:u32 buffer:flag release_one:flag"),
    "noqueue": ("", ""),
}
VALUES["clock"] = ("CLOCK_TAI TAI tai".split(), ["11", "CLOCK_REALTIME"], "foo CLOCK_FOO".split())
HTB_CLASS = (
    "rate:rate",
    "rate:rate ceil:rate burst:size buffer:size maxburst:size cburst:size cbuffer:size cmaxburst:size quantum:size "
    "prio:u32 mtu:size mpu:size overhead:size linklayer:name",
)


def value(sort):
    legal, edge, wrong = VALUES[sort]
    draw = R.random()
    pool = legal if draw < 0.62 or not edge else edge if draw < 0.85 else wrong
    return R.choice(pool)


def legal(sort):
    return R.choice(VALUES[sort][0])


def word(spec, read=value):
    name, sort = spec.split(":")
    return [name] if VALUES[sort] is None else [name, read(sort)]


def misspelt(name):
    index = R.randrange(len(name))
    return R.choice([name[:index] + name[index + 1:], name[:index] + "x" + name[index:], name[:-1], name.upper()])


def options(must, may):
    """Words of a discipline or a class, mostly right."""
    must, may = must.split(), may.split()
    words = []
    for spec in must:
        if R.random() < 0.95:
            words.append(word(spec, legal if R.random() < 0.85 else value))
    used = {spec.split(":")[0] for spec in must}
    for spec in R.sample(may, min(len(may), R.choice([0, 1, 1, 2, 2, 3]))):
        if spec.split(":")[0] not in used or R.random() < 0.1:
            words.append(word(spec))
    if words and R.random() < 0.07:
        words.append(R.choice(words)[:])
    if words and R.random() < 0.06:
        chosen = R.choice(words)
        chosen[0] = misspelt(chosen[0])
    if words and R.random() < 0.03:
        words[-1] = words[-1][:1]
    if R.random() < 0.02:
        words.append([R.choice("foo 10 help limit rate".split())])
    return " ".join(sum(words, []))


def write(name, lines):
    OUT.joinpath(name + ".sh").write_text("\n".join(line.rstrip() for line in lines) + "\n")


BANDS = ["tc qdisc add dev eth0 root handle 1: prio bands 16"] + [
    f"tc qdisc add dev eth0 parent 1:{band:x} handle 1{band:x}: prio bands 16" for band in range(10, 16)]
PLACES = [f"1{band:x}:{place:x}" for band in range(10, 16) for place in range(1, 17)]
MISSPELT = "fq_codell fqcodel codle hbt cakee pfifo_fas sqf prioo tfb FQ_CODEL".split()


def each_word():
    """Every word of every discipline alone, with each of its values."""
    for kind, (must, may) in QDISCS.items():
        lines, places = BANDS[:], PLACES[:]
        for spec in may.split():
            name, sort = spec.split(":")
            rest = " ".join(sum((word(one, lambda s: VALUES[s][0][0]) for one in must.split() if not one.startswith(name + ":")), []))
            values = [""] if VALUES[sort] is None else sum(
                (R.sample(pool, min(len(pool), count)) for pool, count in zip(VALUES[sort], (1, 3, 2))), [])
            for one in values:
                if not places:
                    break
                lines.append(f"tc qdisc add dev eth0 parent {places.pop(0)} {kind} {rest} {name} {one}".replace("  ", " "))
        write(f"word-{kind}", lines)


def random_words():
    for kind, (must, may) in QDISCS.items():
        lines = BANDS[:]
        for place in PLACES[:min(50, 12 + 3 * len(may.split()))]:
            lines.append(f"tc qdisc add dev eth0 parent {place} {kind} {options(must, may)}")
        write(f"some-{kind}", lines)


def htb_classes():
    for part in range(3):
        lines = ["tc qdisc add dev eth0 root handle 1: htb default 10"]
        for minor in range(1, 50):
            lines.append(f"tc class add dev eth0 parent 1: classid 1:{minor:x} htb {options(*HTB_CLASS)}")
        write(f"htb-class-{part}", lines)


def curve():
    def part(name, sort):
        return [name, value(sort) if R.random() < 0.5 else legal(sort)]
    forms = [
        ["rate", legal("rate")], part("rate", "rate"), part("m2", "rate"),
        part("m1", "rate") + part("d", "time") + part("m2", "rate"),
        part("umax", "size") + part("dmax", "time") + part("rate", "rate"),
        part("dmax", "time") + part("rate", "rate"), part("umax", "size") + part("rate", "rate"),
        part("d", "time") + part("m2", "rate"), part("m1", "rate") + part("m2", "rate"),
        part("m2", "rate") + part("m1", "rate") + part("d", "time"), [],
    ]
    return R.choice(forms)


def hfsc_classes():
    for part in range(2):
        lines = ["tc qdisc add dev eth0 root handle 1: hfsc default 10"]
        for minor in range(1, 50):
            words = []
            for name in R.sample("sc rt ls ul".split(), R.choice([1, 1, 2, 2, 3])):
                words += [name if R.random() < 0.95 else misspelt(name)] + curve()
            if R.random() < 0.1:
                words += ["ls", "m2", "1mbit"]
            lines.append(f"tc class add dev eth0 parent 1: classid 1:{minor:x} hfsc {' '.join(words)}")
        write(f"hfsc-class-{part}", lines)


def round_robin_classes():
    lines = ["tc qdisc add dev eth0 root handle 1: drr", "tc qdisc add dev eth1 root handle 2: qfq"]
    for minor in range(1, 30):
        lines.append(f"tc class add dev eth0 parent 1: classid 1:{minor:x} drr {options('', 'quantum:size')}")
        lines.append(f"tc class add dev eth1 parent 2: classid 2:{minor:x} qfq {options('', 'weight:u32 maxpkt:size')}")
    for one in "weight 1023;weight 1024;weight 1025;maxpkt 512;maxpkt 511;maxpkt 65536;maxpkt 65537;weight 0;maxpkt 0".split(";"):
        lines.append(f"tc class add dev eth1 parent 2: classid 2:{len(lines):x} qfq {one}")
    write("round-robin-class", lines)


KINDS = ["htb", "hfsc", "prio", "drr", "qfq", "fq_codel", "pfifo", "sfq", "tbf", "cake", "multiq", "red", "codel"]
FULL = {"tbf": "rate 1mbit burst 5k limit 10k", "red": "limit 100k avpkt 1000 min 10k max 30k"}


def handle():
    return R.choice(["1:", "2:", "3:", "10:", "1:", "2:"] if R.random() < 0.85 else
                    ["1", "11", "0x2:", "1:0", ":1", "0:", "ffff:", "1:1", "ffffff:", "x:", "-1:", "none", "A:", "", "ffff:fff1"])


def place():
    return R.choice(["1:1", "1:2", "1:3", "2:1", "2:2", "1:", "2:", "10:1"] if R.random() < 0.9 else
                    ["1", "11", "ffff:fff1", ":1", "0:1", "1:0x1", "1:ffff", "1:1:1", "9:9", "root", "x", "1:10000"])


def class_words(kind):
    return {"htb": "htb rate 1mbit", "hfsc": "hfsc ls m2 1mbit", "drr": "drr", "qfq": "qfq weight 2",
            "prio": "prio", "fq_codel": "fq_codel", "multiq": "multiq"}.get(kind, kind)


def random_order(count, length):
    """Commands in any order: a state is built, changed and taken away."""
    for number in range(count):
        root = R.choice(["htb", "htb", "htb", "hfsc", "prio", "drr", "qfq", "multiq"])
        lines = []
        if R.random() < 0.9:
            lines.append(f"tc qdisc add dev eth0 root handle 1: {root}")
        for _ in range(length):
            draw = R.random()
            if draw < 0.34:
                verb = R.choice("add add add add replace replace change delete link".split())
                at = "root" if R.random() < 0.15 else "parent " + place()
                named = f"handle {handle()} " if R.random() < 0.6 else ""
                kind = R.choice(KINDS)
                rest = "" if verb == "delete" and R.random() < 0.6 else f"{kind} {FULL.get(kind, '')}"
                lines.append(f"tc qdisc {verb} dev eth0 {at} {named}{rest}")
            elif draw < 0.72:
                verb = R.choice("add add add add add replace change delete".split())
                kind = root if R.random() < 0.9 else R.choice(KINDS)
                up = f"parent {R.choice(['1:', '1:', '1:', '1:1', '1:2', place()])} " if R.random() < 0.95 else ""
                name = f"classid {R.choice(['1:1', '1:2', '1:3', '1:10', place()])} " if R.random() < 0.96 else ""
                rest = "" if verb == "delete" and R.random() < 0.7 else class_words(kind)
                lines.append(f"tc class {verb} dev eth0 {up}{name}{rest}")
            elif draw < 0.95:
                verb = R.choice("add add add add replace change delete".split())
                prio = f"prio {R.choice([1, 1, 2, 3])} " if R.random() < 0.8 else ""
                proto = f"protocol {R.choice(['ip', 'ip', 'ip', 'ipv6', 'all', 'arp'])} " if R.random() < 0.85 else ""
                up = R.choice(["parent 1: ", "parent 1: ", "parent 1: ", "", "root ", f"parent {place()} "])
                body = "" if verb == "delete" and R.random() < 0.6 else R.choice([
                    "u32 match ip dst 10.0.0.0/8 flowid 1:1", "fw flowid 1:2", "handle 5 fw flowid 1:1", "handle 5 fw classid 1:2",
                    "u32 match ip dport 80 0xffff flowid 1:9", "matchall flowid 1:2", "flower ip_proto tcp flowid 1:1",
                    "basic flowid 1:1", "handle 800::801 u32 match ip src 1.2.3.4 flowid 1:1", "handle 1 matchall classid 1:3"])
                lines.append(f"tc filter {verb} dev eth0 {up}{proto}{prio}{body}")
            else:
                lines.append(R.choice([
                    "tc qdisc del dev eth0 root", "tc qdisc add dev eth0 ingress", "tc qdisc add dev eth0 clsact", "tc qdisc del dev eth0 clsact",
                    "tc qdisc del dev eth0 ingress", "tc qdisc add dev eth0 handle ffff: ingress", "tc qdisc show dev eth0",
                    "tc filter del dev eth0 parent 1:", "tc filter del dev eth0", "tc qdisc add root htb",
                    "tc qdisc add dev eth0", "tc qdisc add dev eth0 root", f"tc qdisc add dev eth0 root {R.choice(MISSPELT)}",
                    f"tc qdisc add dev eth0 parent 1:1 {R.choice(MISSPELT)} limit 10", "tc class add dev eth0 parent 1: classid 1:7 foo rate 1mbit",
                    "tc filter add dev eth0 parent 1: protocol ip prio 1 foo match 1", "tc qdics add dev eth0 root htb", "tc qdisc ad dev eth0 root htb"]))
        write(f"order-{number:03}", lines)


def u32_match():
    masks = ["0xff", "0xffff", "0xf0", "0xffffffff", "ff", "0x1ff", "0", "0xfffff"]
    return R.choice([
        lambda: f"ip {R.choice(['src', 'dst'])} {R.choice(['10.0.0.0/8', '192.168.1.5', '1.2.3.4/32', '10.0.0.0/33', '10.0/16', 'any', '0/0', 'foo', '10.1.1.0/255.255.255.0', '0.0.0.0/0', '300.1.1.1', '::1'])}",
        lambda: f"ip {R.choice(['sport', 'dport'])} {R.choice(['80', '0x50', '65535', '65536', 'http', '1024'])} {R.choice(['0xffff', 'ffff', '0xff00', '0x1ffff', '', '0'])}",
        lambda: f"ip protocol {R.choice(['6', '17', 'tcp', '0x11', '256', 'udp'])} {R.choice(masks)}",
        lambda: f"ip {R.choice(['tos', 'dsfield', 'precedence', 'ihl', 'nofrag', 'df', 'mf', 'firstfrag', 'icmp_type', 'icmp_code', 'foo'])} {R.choice(['0x10', '0xb8', '16', '5'])} {R.choice(masks)}",
        lambda: f"{R.choice(['u8', 'u16', 'u32'])} {R.choice(['0x10', '0', '0xb8', '0x0800', 'ff', '0xfffff', '16', '10.0.0.1'])} {R.choice(masks)} {R.choice(['at 0', 'at 1', 'at 9', 'at 16', 'at 20', 'at nexthdr+0', 'at nexthdr+2', 'at -14', '', 'at foo', 'at 0x10', 'at', 'at nexthdr+13', 'at 33'])}",
        lambda: f"ip6 {R.choice(['src', 'dst'])} {R.choice(['::1', '2001:db8::/32', 'any', 'fe80::1/129', '10.0.0.1', '2001:db8::1/64'])}",
        lambda: f"ip6 {R.choice(['sport', 'dport', 'priority', 'protocol', 'flowlabel'])} {R.choice(['80', '6', '0x12345'])} {R.choice(masks)}",
        lambda: f"{R.choice(['tcp', 'udp', 'icmp'])} {R.choice(['src', 'dst', 'type', 'code'])} {R.choice(['80', '8'])} {R.choice(['0xffff', '0xff'])}",
        lambda: f"mark {R.choice(['1', '0x10', '5'])} {R.choice(['0xff', '0xffffffff', ''])}",
        lambda: f"ether {R.choice(['src', 'dst'])} {R.choice(['00:11:22:33:44:55', 'foo'])}",
    ])()


def police():
    words = ["police"]
    if R.random() < 0.95:
        words += ["rate", legal("rate") if R.random() < 0.8 else value("rate")]
    if R.random() < 0.93:
        words += [R.choice(["burst", "burst", "burst", "buffer", "maxburst"]), legal("size") if R.random() < 0.8 else value("size")]
    for name, sort, chance in [("mtu", "size", .1), ("peakrate", "rate", .06), ("avrate", "rate", .03), ("overhead", "u32", .06),
                               ("linklayer", "name", .05), ("index", "u32", .06), ("mpu", "size", .04), ("pkts_rate", "u32", .04)]:
        if R.random() < chance:
            words += [name, value(sort)]
    draw = R.random()
    if draw < 0.55:
        words.append(R.choice("drop drop drop continue pass ok shot reclassify pipe foo".split()))
    elif draw < 0.85:
        words += ["conform-exceed", R.choice("drop drop/continue pass drop/pass reclassify continue foo drop/foo 1 pipe/drop".split())]
    elif draw < 0.9:
        words += ["exceed-act", R.choice(["drop", "drop/pass"])]
    return " ".join(words)


def action(depth=0):
    one = R.choice([
        police, police,
        lambda: f"mirred {R.choice(['egress', 'egress', 'egress', 'ingress', ''])} {R.choice(['redirect', 'mirror', 'redir', ''])} dev {R.choice(['ifb0', 'ifb0', 'eth1', ''])}",
        lambda: f"skbedit {R.choice(['priority 1:1', 'priority 1', 'mark 5', 'mark 5/0xff', 'queue_mapping 1', 'queue_mapping 70000', 'priority x:y', 'ptype host', 'ptype foo', '', 'mark x', 'inheritdsfield'])}",
        lambda: R.choice(["drop", "pass", "ok", "continue", "shot", "reclassify", "pipe", "gact drop", "gact foo", "drop random netrand ok 5", "goto chain 5", "goto chain", "drop index 7", "foo", ""]),
        lambda: R.choice(["connmark", "connmark zone 5", "connmark zone x", "ctinfo dscp 0xfc 0x01", "ctinfo dscp 63", "ctinfo cpmark", "ctinfo",
                          "vlan push id 5", "vlan pop", "vlan push", "vlan push id 5000", "vlan modify id 7 priority 3", "csum ip tcp", "csum ip foo", "csum",
                          "simple sdata hi", "nat ingress 10.0.0.1 1.2.3.4", "nat foo 1.1.1.1 2.2.2.2", "ct", "ct zone 5 nat", "sample rate 12 group 4",
                          "pedit munge ip ttl set 64", "pedit ex munge ip ttl set 64", "pedit munge ip foo set 1", "skbmod set smac 0:1:2:3:4:5", "tunnel_key unset"]),
    ])()
    if depth < 2 and R.random() < 0.2:
        second = action(depth + 1)
        return f"{one} {second}" if R.random() < 0.3 else f"{one} {R.choice(['', 'pipe '])}action {second}"
    return one


def flower_key():
    return R.choice([
        lambda: f"ip_proto {R.choice(['tcp', 'udp', 'icmp', 'sctp', '6', '0x11', 'foo', '58', '256', 'icmpv6'])}",
        lambda: f"{R.choice(['src_ip', 'dst_ip'])} {R.choice(['10.0.0.1', '10.0.0.0/8', '::1', '2001:db8::/32', 'foo', '10.0.0.0/33', '10.1.0.0/255.255.0.0'])}",
        lambda: f"{R.choice(['src_port', 'dst_port'])} {R.choice(['80', '5000-6000', '6000-5000', '80/0xff', '65536', 'http', '0', '80-80', '0x50', '0x50/0xff00'])}",
        lambda: f"ip_tos {R.choice(['0xb8', '0xb8/0xfc', '184', 'b8', '256', 'ef', '0x10/ff'])}",
        lambda: f"tcp_flags {R.choice(['0x10', '0x10/0x3f', '16', 'ack', '0x1000'])}",
        lambda: f"ip_ttl {R.choice(['64', '0x40/0xff', '256'])}",
        lambda: f"ip_flags {R.choice(['frag', 'nofrag', 'frag/firstfrag', 'foo'])}",
        lambda: f"vlan_id {R.choice(['5', '4095', '4096'])}",
        lambda: f"vlan_prio {R.choice(['3', '7', '8'])}",
        lambda: f"vlan_ethtype {R.choice(['ip', 'ipv4', '0x800', 'foo'])}",
        lambda: f"{R.choice(['src_mac', 'dst_mac'])} {R.choice(['00:11:22:33:44:55', '00:11:22:33:44:55/ff:ff:ff:00:00:00', '00:11:22:33:44:55/24', 'foo'])}",
        lambda: R.choice(['indev eth0', 'eth_type ip']),
        lambda: R.choice(["skip_hw", "skip_sw", "skip_hw skip_sw", "verbose", "foo 1", "type 8", "code 0", "hw_tc 3", "hw_tc 16", "ct_state +trk+est", "ct_state foo",
                          "num_of_vlans 2", "enc_key_id 5", "enc_dst_port 4789", "arp_tip 1.2.3.4", "arp_op reply", "icmp_type 8", "mpls_label 5", "cvlan_id 3"]),
    ])()


def filter_body():
    classid = lambda: "" if R.random() < 0.06 else f" {R.choice(['flowid', 'classid', 'flowid'])} {R.choice(['1:1', '1:2', '1:3', '1:99', '2:1', '1', ':1', '1:ffff', 'x', '1:'] if R.random() < .4 else ['1:1', '1:2'])}"
    act = lambda: f" action {action()}" if R.random() < 0.25 else f" {R.choice([police, lambda: action()])()}" if R.random() < 0.08 else ""
    return R.choice([
        lambda: "u32 " + " ".join("match " + u32_match() for _ in range(R.choice([1, 1, 1, 2, 3]))) + classid() + act(),
        lambda: "u32 " + "match " + u32_match() + classid() + act(),
        lambda: f"{R.choice(['', '', 'handle 1: ', 'handle 2: ', 'handle 5: ', 'handle 900: '])}u32 divisor {R.choice(['1', '16', '256', '255', '512', '0', '3', 'x'])}",
        lambda: f"{R.choice(['', 'handle 1:2:3 ', 'handle 1:2 ', 'handle 800::5 ', 'handle 2:5: ', 'handle ::1 '])}u32 ht {R.choice(['1:', '2:', '1:5:', '1:1f:', '800:', '7:', '1:200:', '2:8:', 'x:', '800::'])} match ip src 1.2.3.4{classid()}",
        lambda: f"u32 link {R.choice(['1:', '2:', '9:', '800:'])} hashkey mask {R.choice(['0x000000ff', '0xff', '0xff00', 'ff', 'x'])} at {R.choice(['12', '16', '13', 'x', 'nexthdr+0'])} match ip src 0.0.0.0/0",
        lambda: f"{R.choice(['handle 5 ', 'handle 6 ', 'handle 0x7 ', 'handle 5/0xff ', '', 'handle x ', 'handle 1: '])}fw{classid()}{act()}",
        lambda: f"{R.choice(['', '', 'handle 1 ', 'handle 0x2 ', 'handle x '])}matchall{R.choice(['', '', ' skip_sw', ' skip_hw', ' foo'])}{classid()}{act()}",
        lambda: "flower " + " ".join(flower_key() for _ in range(R.choice([0, 1, 1, 2, 3]))) + classid() + act(),
        lambda: f"{R.choice(['', 'handle 3 '])}basic {R.choice(['', chr(39) + 'match ' + 'x' + chr(39)])}".replace("'match x'", R.choice([
            "match 'u32(u32 0x0 0x0 at 0)'", "match 'meta(priority eq 5)'", "match 'cmp(u8 at 9 layer 1 eq 6)'", "match 'meta(foo eq 1)'", "match 'u32(u16 0x1600 0xffff at nexthdr+2)'", "match 'foo(1)'",
            "match 'cmp(u16 at 0 layer 2 mask 0xff00 gt 20) and meta(vlan mask 0x1 eq 1)'", "match 'not u8(0x11 0xff at 9)'", "match 'meta(nf_mark eq 6)'", "match 'u32(u32 0x0 0x0'"])) + classid() + act(),
        lambda: f"{R.choice(['handle 1 ', '', 'handle 7 '])}{R.choice(['flow hash keys src divisor 4', 'flow map key dst rshift 8', 'flow hash keys foo', 'flow', 'flow hash keys src,dst,proto divisor 1024 baseclass 1:1', 'cgroup', 'route to 5', 'route from 3 to 2'])}{R.choice(['', classid()])}",
    ])()


def filters(count, length):
    for number in range(count):
        lines = ["tc qdisc add dev eth0 root handle 1: htb", "for i in 1 2 3; do tc class add dev eth0 parent 1: classid 1:$i htb rate 1mbit; done"]
        hook = R.random() < 0.3
        if hook:
            lines.append(f"tc qdisc add dev eth0 {R.choice(['ingress', 'clsact', 'handle ffff: ingress'])}")
        rank = 1
        for _ in range(length):
            rank += R.random() < 0.7
            at = R.choice(["parent ffff:", "ingress", "parent ffff:fff2", "egress", "parent ffff:fff3"]) if hook and R.random() < .6 else "parent 1:"
            proto = R.choice(["ip", "ip", "ip", "all", "ipv6", "arp", "0x800", "802.1q", "foo", "0x3"] if R.random() < .5 else ["ip"])
            named = f"{R.choice(['prio', 'pref', 'preference', 'priority'])} {rank} " if R.random() < 0.9 else f"prio {R.choice(['0', '65535', '65536', 'x', '-1'])} " if R.random() < 0.3 else ""
            verb = R.choice(["add"] * 12 + ["replace", "change", "delete"])
            chain = f"chain {R.choice(['0', '1', '5', 'x'])} " if R.random() < 0.05 else ""
            lines.append(f"tc filter {verb} dev eth0 {at} protocol {proto} {named}{chain}{filter_body()}")
        write(f"filter-{number:03}", lines)


def by_hand():
    """Scripts in the shapes that people have: blocks of written.txt, each below a line `= NAME`."""
    for block in Path(__file__).with_name("written.txt").read_text().split("\n= ")[1:]:
        name, text = block.split("\n", 1)
        OUT.joinpath(f"hand-{name.strip()}.sh").write_text(text.strip("\n") + "\n")


OUT.mkdir(parents=True, exist_ok=True)
each_word()
random_words()
htb_classes()
hfsc_classes()
round_robin_classes()
random_order(36, 22)
filters(40, 22)
by_hand()
