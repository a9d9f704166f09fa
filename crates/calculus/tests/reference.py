"""Bounds of networks by a second implementation, in fractions, for `reference.rs`.

Written apart from the crate: curves are sampled at all candidate instants instead of being kept as lines,
inverses are found by search over the pieces of the curve as drawn. Reads networks on standard input, one a
block, and prints the bound of each flow.

    server RATE PROPAGATION KIND [PARAMETER ...]      kinds: fifo prio drr wrr wfq stfq scfq edf any
    flow LONGEST BURST:RATE,... SERVER/CHILD ...      LONGEST is the length of all its packets
    end
"""

import sys
from fractions import Fraction as F
from itertools import product


def lower(lines):
    """Lines of a minimum that touch it, by checking every crossing."""
    crossings = {F(0)}
    for (b, r), (c, s) in product(lines, lines):
        if r != s and (c - b) / (r - s) > 0:
            crossings.add((c - b) / (r - s))
    kept, at = set(), sorted(crossings)
    for one, two in zip(at, at[1:] + [at[-1] + 2]):
        middle = (one + two) / 2
        kept.add(min(lines, key=lambda line: (line[0] + line[1] * middle, line[1])))
    return sorted(kept)


def value(lines, t):
    return min(b + r * t for b, r in lines)


def add(one, two):
    """Sum of two minima: every pair of lines, of which the minimum is the sum."""
    return lower([(b + c, r + s) for (b, r), (c, s) in product(one, two)])


def corners(lines):
    lines = lower(lines)
    found = {F(0)}
    for (b, r), (c, s) in zip(lines, lines[1:]):
        found.add((c - b) / (r - s))
    return found


def served(pieces, t):
    return max([F(0)] + [r * t - o for r, o in pieces])


def bends(pieces):
    """Instants at which a maximum of pieces and zero changes its slope."""
    all_pieces = [(F(0), F(0))] + list(pieces)
    found = set()
    for (r, o), (s, p) in product(all_pieces, all_pieces):
        if r != s:
            t = (p - o) / (s - r)
            if t >= 0 and served(pieces, t) == r * t - o:
                found.add(t)
    return found


def inverse(pieces, work):
    """First instant at which the work is done for certain: by the bends, then by the last slope."""
    at = sorted(bends(pieces) | {F(0)})
    for one, two in zip(at, at[1:]):
        if served(pieces, two) > work:
            low, high = served(pieces, one), served(pieces, two)
            return one + (two - one) * (work - low) / (high - low)
    slope = max(r for r, _ in pieces)
    return at[-1] + (work - served(pieces, at[-1])) / slope


def delay(arrival, pieces):
    if not pieces or arrival[-1][1] > max(r for r, _ in pieces):
        return None
    instants = set(corners(arrival))
    for bend in bends(pieces):
        work = served(pieces, bend)
        for b, r in arrival:
            if r > 0 and (work - b) / r >= 0:
                instants.add((work - b) / r)
    return max([F(0)] + [inverse(pieces, value(arrival, t)) - t for t in instants])


def left_over(pieces, arrival, blocked):
    return [(r - s, o + b + blocked) for (r, o), (b, s) in product(pieces, arrival) if r > s]


def deconvolve(arrival, pieces):
    if not pieces or arrival[-1][1] > max(r for r, _ in pieces):
        return None
    ins, outs = corners(arrival), bends(pieces)
    at = sorted({F(0)} | {i - o for i in ins for o in outs if i >= o})

    def most(t):
        from_ = {F(0)} | set(outs) | {i - t for i in ins if i >= t}
        return max(value(arrival, t + u) - served(pieces, u) for u in from_)

    points = [(t, most(t)) for t in at] + [(at[-1] + 1, most(at[-1]) + arrival[-1][1])]
    lines = []
    for (t, v), (u, w) in zip(points, points[1:]):
        slope = (w - v) / (u - t)
        lines.append((v - slope * t, slope))
    return lower(lines)


def convolve(one, two):
    """Convolution by its definition, at the sums of bends, joined by lines."""
    def both(t):
        splits = {F(0), t} | {b for b in bends(one) if b <= t} | {t - b for b in bends(two) if b <= t}
        return min(served(one, s) + served(two, t - s) for s in splits)

    slowest = min(max(r for r, _ in one), max(r for r, _ in two))
    at = sorted({a + b for a in bends(one) | {F(0)} for b in bends(two) | {F(0)}})
    points = [(t, both(t)) for t in at]
    last = points[-1]
    points.append((last[0] + 1, last[1] + slowest))
    pieces = []
    for (t, v), (u, w) in zip(points, points[1:]):
        slope = (w - v) / (u - t)
        if slope > 0:
            pieces.append((slope, slope * t - v))
    return pieces


def gcd(one, two):
    while two:
        one, two = two, one % two
    return one


class Net:
    def __init__(self):
        self.servers, self.flows = [], []

    def bounds(self):
        now = [flow["arrival"] for flow in self.flows]
        sums = [F(0)] * len(now)
        left = [[] for _ in now]
        for index, server in enumerate(self.servers):
            here = [f for f, flow in enumerate(self.flows) if index in flow["path"]]
            after = {}
            for f in here:
                wait, curve, fast = self.wait(index, f, here, now)
                if wait is None:
                    sums[f] = None
                elif sums[f] is not None:
                    sums[f] += wait + server["propagation"]
                left[f].append(self.left(index, f, here, now, wait, curve, fast))
                after[f] = self.output(index, f, here, now, wait, curve)
            now = [after.get(f, arrival) for f, arrival in enumerate(now)]
        return [self.least(f, sums[f], left[f]) for f in range(len(now))]

    def child(self, f, server):
        return self.flows[f]["path"][server]

    def source(self, f, server):
        path = list(self.flows[f]["path"])
        place = path.index(server)
        return path[place - 1] if place else None

    def arrivals(self, server, flows, now):
        """Flows by the line they come from; None if one has no bound."""
        total = [(F(0), F(0))]
        for line in {self.source(f, server) for f in flows}:
            group = [f for f in flows if self.source(f, server) == line]
            own = [(F(0), F(0))]
            for f in group:
                own = None if own is None or now[f] is None else add(own, now[f])
            if line is not None:
                carried = [(max(self.flows[f]["longest"] for f in group), self.servers[line]["rate"])]
                own = carried if own is None else lower(own + carried)
            if own is None:
                return None
            total = add(total, own)
        return total

    def wait(self, server, f, here, now):
        s = self.servers[server]
        rate, kind = s["rate"], s["kind"]
        mine = [g for g in here if self.child(g, server) == self.child(f, server)]
        length = self.flows[f]["longest"]
        received = self.arrivals(server, mine, now)
        everything = self.arrivals(server, here, now)
        if kind == "any":
            if everything is None:
                return None, None, False
            ends = [b / (rate - r) for b, r in everything if r < rate]
            return (min(ends) if ends else None), None, False
        if kind == "edf":
            return self.deadline(server, f, here, now), None, False
        curve, fast = self.curve(server, f, here, now)
        if curve is None or received is None:
            return None, curve, fast
        if kind in ("drr", "wrr"):
            return self.stairs(received, curve, length, rate), curve, fast
        if fast:
            short = lower([(b - length, r) for b, r in received])
            wait = delay(short, curve)
            return (None if wait is None else wait + length / rate), curve, fast
        return delay(received, curve), curve, fast

    def curve(self, server, f, here, now):
        s = self.servers[server]
        rate, kind, given = s["rate"], s["kind"], s["given"]
        own = self.child(f, server)
        longest = {}
        for g in here:
            child = self.child(g, server)
            longest[child] = max(longest.get(child, F(0)), self.flows[g]["longest"])
        lengths = {c: {self.flows[g]["longest"] for g in here if self.child(g, server) == c} for c in longest}
        others = [c for c in longest if c != own]
        if kind == "fifo":
            return [(rate, F(0))], True
        if kind == "prio":
            higher = self.arrivals(server, [g for g in here if self.child(g, server) < own], now)
            if higher is None:
                return None, True
            lower_packet = max([F(0)] + [longest[c] for c in others if c > own])
            return left_over([(rate, F(0))], higher, lower_packet), True
        if kind in ("wfq", "scfq", "stfq"):
            share = rate * given[own] / sum(given)
            work = max(longest.values()) if kind == "wfq" else sum(longest[c] for c in others)
            return [(share, share * F(work) / rate)], kind == "stfq"
        # Rounds: others' first turn and further turns for a turn of its own.
        def saved(c):
            step = gcd(given[c], longest[c]) if len(lengths[c]) == 1 else F(8)
            return longest[c] - step
        if kind == "drr":
            turn, carry = given[own], saved(own)
            first = sum(given[c] + saved(c) for c in others)
            further = sum(given[c] for c in others)
            again = max([longest[own]] + [longest[c] - saved(c) for c in others])
        else:
            turn, carry = given[own] * min(lengths[own]), F(0)
            first = further = sum(given[c] * longest[c] for c in others)
            again = max(longest.values())
        # Work until `x` of its own is done, at the ends of its turns: a line above all of them, and one from zero.
        before = first + again
        pieces = []
        for x, y in ((turn - carry, 2 * turn - carry),):
            w = [x + before + further, y + before + 2 * further]
            slope = (y - x) / (w[1] - w[0])
            pieces.append((slope * rate, slope * w[0] - x))
            slope = x / (w[0] - before)
            pieces.append((slope * rate, slope * before))
        self.turns = (turn, carry, before, further)
        return pieces, True

    def stairs(self, received, curve, length, rate):
        """Longest wait over the arrivals' corners and every end of a turn up to well behind the last corner."""
        turn, carry, before, further = self.turns
        if received[-1][1] > max(r for r, _ in curve):
            return None
        instants = set(corners(received))
        beyond = 0
        for number in range(1, 5000):
            bits = number * turn - carry + length
            if any(r == 0 and b < bits for b, r in received):
                break
            at = max([F(0)] + [(bits - b) / r for b, r in received if r > 0])
            instants.add(at)
            beyond += at > max(corners(received))
            if beyond > 3:
                break
        worst = F(0)
        for t in instants:
            ahead = max(F(0), value(received, t) - length)
            work = ahead + before + (ahead + carry) // turn * further
            worst = max(worst, work / rate - t)
        return worst + length / rate

    def deadline(self, server, f, here, now):
        s = self.servers[server]
        classes = []
        for child, due in enumerate(s["given"]):
            members = [g for g in here if self.child(g, server) == child]
            if members:
                arrival = self.arrivals(server, members, now)
                if arrival is None:
                    return None
                classes.append((due, arrival, max(self.flows[g]["longest"] for g in members)))
        if sum(a[-1][1] for _, a, _ in classes) > s["rate"]:
            return None
        worst = None
        tiny = F(1, 10**30)
        for at in {due + t for due, a, _ in classes for t in corners(a)}:
            for t, bare in ((at, F(0)), (at - tiny, tiny)):
                work = sum((value(a, t - due) for due, a, _ in classes if due <= t), F(0))
                if bare:
                    # The limit from the left: slopes are added back.
                    slope = sum((value(a, t - due + tiny) - value(a, t - due) for due, a, _ in classes if due <= t), F(0))
                    work += slope
                if not any(due <= t for due, _, _ in classes):
                    continue
                blocked = max([F(0)] + [l for due, _, l in classes if due > t])
                late = (work + blocked) / s["rate"] - at
                worst = late if worst is None else max(worst, late)
        worst = max(worst, -min(due for due, _, _ in classes))
        return max(F(0), s["given"][self.child(f, server)] + worst)

    def left(self, server, f, here, now, wait, curve, fast):
        others = [g for g in here if g != f and self.child(g, server) == self.child(f, server)]
        if curve:
            if others:
                cross = self.arrivals(server, others, now)
                rest = None
                if cross is not None:
                    burst, slope = lower(cross)[-1]
                    theta = inverse(curve, burst)
                    rest = [(r - slope, o + burst - slope * theta) for r, o in curve if r > slope]
            else:
                rest = curve
            if rest:
                return ("curve", rest, fast)
        return ("delay", wait) if wait is not None else None

    def output(self, server, f, here, now, wait, curve):
        s = self.servers[server]
        alone = not any(g != f and self.child(g, server) == self.child(f, server) for g in here)
        length = self.flows[f]["longest"]
        found = []
        if now[f] is not None and wait is not None:
            jitter = max(F(0), wait - length / s["rate"])
            found += [(b + r * jitter, r) for b, r in now[f]]
        if now[f] is not None and curve and alone:
            out = deconvolve(now[f], curve)
            found += [] if out is None else [(b + length, r) for b, r in out]
        return lower(found) if found else None

    def least(self, f, total, left):
        flow = self.flows[f]
        together = sum((self.servers[s]["propagation"] for s in flow["path"]), F(0))
        separate = None
        if all(left):
            curve, speed, whole = None, False, together
            curves = [i for i, one in enumerate(left) if one[0] == "curve"]
            for i, one in enumerate(left):
                if one[0] == "delay":
                    whole += one[1]
                    continue
                pieces = one[1]
                if i != curves[-1]:
                    pieces = [(r, o + flow["longest"]) for r, o in pieces]
                speed = one[2] and i == curves[-1] and i + 1 == len(left)
                curve = pieces if curve is None else convolve(curve, pieces)
            if curve is None:
                separate = whole
            elif speed:
                last = list(flow["path"])[-1]
                short = lower([(b - flow["longest"], r) for b, r in flow["arrival"]])
                wait = delay(short, curve)
                separate = None if wait is None else whole + wait + flow["longest"] / self.servers[last]["rate"]
            else:
                wait = delay(flow["arrival"], curve)
                separate = None if wait is None else whole + wait
        found = [one for one in (total, separate) if one is not None]
        return min(found) if found else None


def main():
    net = Net()
    for line in sys.stdin:
        words = line.split()
        if words[0] == "server":
            given = [F(word) for word in words[4:]]
            net.servers.append(dict(rate=F(words[1]), propagation=F(words[2]), kind=words[3], given=given))
        elif words[0] == "flow":
            buckets = [tuple(F(part) for part in one.split(":")) for one in words[2].split(",")]
            path = dict((int(part) for part in one.split("/")) for one in words[3:])
            net.flows.append(dict(longest=F(words[1]), arrival=lower(buckets), path=path))
        else:
            print(" ".join("none" if bound is None else str(bound) for bound in net.bounds()), flush=True)
            net = Net()


main()
