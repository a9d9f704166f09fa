#!/usr/bin/env python3
"""Measures runs of Linux's queueing disciplines in QEMU, and writes them as reference runs; see README.md beside it."""

import argparse
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from rows import ROWS, window

HERE = pathlib.Path(__file__).resolve().parent
QEMU = ["-M", "pc", "-cpu", "max,-erms,-fsrm,-rdrand,-rdseed", "-icount", "shift=0,sleep=off", "-m", "768",
        "-rtc", "base=2026-01-01,clock=vm", "-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot"]
APPEND = "console=ttyS0 quiet panic=-1 nokaslr mitigations=off tsc=reliable ipv6.disable=1 cryptomgr.notests"
# Three namespaces in a row: a (sender), the router, b (receiver). Without ARP, a packet has the address of its own
# device as its destination, so that all devices have the same one.
MAC = "02:00:00:00:00:01"
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
ip() { /tools/ip "$@"; }
tc() { /tools/tc "$@"; }
mount -t proc none /proc; mount -t sysfs none /sys; mkdir -p /run /var/run; mount -t tmpfs none /run
while read module; do insmod "$module"; done < /modules
ip netns add a; ip netns add b
ip link add a0 netns a address MAC type veth peer name r0 address MAC
ip link add b0 netns b address MAC type veth peer name r1 address MAC
ip addr add 10.1.255.1/16 dev r0; ip addr add 10.2.255.1/16 dev r1
for host in 1 2 3 4; do ip -n a addr add 10.1.0.$host/16 dev a0; ip -n b addr add 10.2.0.$host/16 dev b0; done
ip -n a link set lo up; ip -n b link set lo up
ip -n a link set a0 arp off up; ip link set r0 arp off up; ip -n b link set b0 arp off up; ip link set r1 arp off up
ip -n a route add default via 10.1.255.1; ip -n b route add default via 10.2.255.1
echo 1 > /proc/sys/net/ipv4/ip_forward
echo 100000 150000 180000 > /proc/sys/net/ipv4/udp_mem
for run in /runs/*; do
  tc qdisc del dev r1 root 2> /dev/null
  (set -e; . $run/commands; /traffic.run $run/traffic; tc -s qdisc show dev r1; echo DONE)
  echo END
done
poweroff -f
"""


def fetch(package, cache):
    """Returns the folder of an unpacked package of this machine's apt; `package` is a regular expression."""
    folder = cache / re.sub(r"\W+", "-", package).strip("-")
    if not folder.exists():
        listed = subprocess.run(["apt-cache", "pkgnames"], check=True, capture_output=True, text=True).stdout.split()
        names = sorted((name for name in listed if re.fullmatch(package, name)),
                       key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])
        folder.mkdir()
        subprocess.run(["apt-get", "download", names[-1]], check=True, cwd=folder)
        subprocess.run(["dpkg-deb", "-x", next(folder.glob("*.deb")), folder], check=True)
    return folder


def needed(modules):
    """Returns the modules of traffic control, each behind those that it depends on."""
    files, found = {path.stem.replace("-", "_"): path for path in modules.rglob("*.ko")}, []

    def add(name):
        for other in re.search(rb"\0depends=([^\0]*)", files[name].read_bytes())[1].decode().split(","):
            if other:
                add(other.replace("-", "_"))
        if files[name] not in found:
            found.append(files[name])

    for name in sorted(files):
        if re.fullmatch(r"veth|cls_u32|sch_(?!teql|ingress|plug)\w+", name):
            add(name)
    return found


def archive(root):
    """Returns an initial file system with what `root` has."""
    names = "\n".join(["."] + [str(path.relative_to(root)) for path in sorted(root.rglob("*"))])
    return subprocess.run(["busybox", "cpio", "-o", "-H", "newc"], input=names.encode(), cwd=root, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def copy(source, root, name=None):
    target = root / (name or str(source).lstrip("/"))
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    target.chmod(0o755)


class Machine:
    """The emulated machine: its kernel and all files that do not depend on the run."""

    def __init__(self, cache, qemu):
        cache.mkdir(parents=True, exist_ok=True)
        linux = fetch(r"linux-image-6\.1\.0-\d+-amd64", cache)
        os.environ["PATH"] += f":{fetch('busybox-static', cache) / 'bin'}"
        self.qemu, self.kernel = qemu, next((linux / "boot").glob("vmlinuz-*"))
        modules = next((linux / "lib/modules").iterdir())
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for empty in ["proc", "sys", "dev", "run", "etc"]:
                (root / empty).mkdir()
            copy(shutil.which("busybox"), root, "bin/busybox")
            for tool in ["ip", "tc"]:
                path = shutil.which(tool)
                copy(path, root, f"tools/{tool}")
                for library in re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", path], capture_output=True, text=True).stdout):
                    copy(library, root)
            names = needed(modules)
            for name in names:
                copy(name, root, f"modules.d/{name.name}")
            (root / "modules").write_text("".join(f"/modules.d/{name.name}\n" for name in names))
            subprocess.run(["cc", "-static", "-O2", "-Wall", HERE / "traffic.c", "-o", root / "traffic.run"], check=True)
            (root / "init").write_text(INIT.replace("MAC", MAC))
            (root / "init").chmod(0o755)
            self.files = archive(root)
        version = subprocess.run([qemu, "--version"], capture_output=True, text=True).stdout.split()[3]
        iproute = subprocess.run(["tc", "-V"], capture_output=True, text=True).stdout.strip().split("-")[-1].split(",")[0]
        self.about = {
            "qemu": version, "icount": "shift=0,sleep=off", "kernel": next(linux.glob("*.deb")).name.replace("%3a", ":"),
            "HZ": 250, "iproute2": iproute, "addresses": ["10.1.0.1", "10.2.0.1"], "arrivals": "mmix", "path_us": PATH_US,
        }

    def run(self, rows, folder):
        """Boots the machine for some rows; returns each with its results, or none if it failed."""
        with tempfile.TemporaryDirectory() as made:
            root = pathlib.Path(made)
            for index, row in enumerate(rows):
                run = root / f"runs/{index}"
                run.mkdir(parents=True)
                (run / "traffic").write_text(traffic(row))
                (run / "commands").write_text("".join(f"{command}\n" for command in row["commands"]))
            start = root / "start.cpio"
            start.write_bytes(self.files + archive(root))
            command = [self.qemu, *QEMU, "-kernel", self.kernel, "-initrd", start, "-append", APPEND]
            said = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
        parts = said.stdout.replace("\r", "").split("\nEND\n")
        for row, part in zip(rows, parts):
            (folder / f"{row['id']}.log").write_text(part + said.stderr)
            done = "\nDONE" in part
            yield row, json.loads(json.dumps({**row, "results": {"udp": results(row, part)}})) if done else None


# Rows of one boot.
BOOT = 4
# Time of a packet through the machine without any queue, from `send` to its receipt in the kernel.
PATH_US = 9


def gaps(seed):
    """Yields gaps of a mean of 1: the generator `mmix` of `docs/concepts/conformance.md`."""
    x, made = seed, 0
    while True:
        x = (6364136223846793005 * x + 1442695040888963407) % 2**64
        made += 1
        if made > 5:
            yield -math.log(((x >> 11) + 1) / 2**53)


def arrivals(flow):
    """Yields the times of a flow's packets, in seconds."""
    gap = flow["l2_bytes"] * 8 * flow["burst_packets"] / flow["offered_bps"]
    at, drawn = flow["start_s"], gaps(flow["seed"])
    if flow["process"] == "poisson":
        at += next(drawn) * gap
    while at < flow["stop_s"]:
        yield from [at] * flow["burst_packets"]
        at += gap * (next(drawn) if flow["process"] == "poisson" else 1)


def traffic(row):
    """Returns the file that `traffic.c` reads."""
    lines = [f"{round(row['duration_s'] * 1e9)} {len(row['flows'])}"]
    packets = []
    for index, flow in enumerate(row["flows"].values()):
        source, destination = flow.get("src", "10.1.0.1"), flow.get("dst", "10.2.0.1")
        edges = " ".join(str(round(edge * 1e9)) for edge in window(flow))
        lines.append(f"{source} {40000 + index} {destination} {flow['dport']} {flow['l2_bytes'] - 42} {flow['tos']} {edges}")
        packets += [(round(at * 1e9), index) for at in arrivals(flow)]
    return "\n".join(lines + [f"{at} {index}" for at, index in sorted(packets)]) + "\n"


def results(row, said):
    """Returns the results of each flow, from the lines of `traffic.c`."""
    found = {}
    for (name, flow), line in zip(row["flows"].items(), re.findall(r"^FLOW \d+ (.*)$", said, re.M), strict=True):
        sent, offered, counted, arrived, received, marked, mean, least, most, *seconds = line.split()
        first, last = window(flow)
        rate = flow["l2_bytes"] * 8 / (last - first)
        result = {
            "window_s": [first, last], "sent": int(sent), "recv_rate_bps": round(int(received) * rate),
            "offered_in_window_bps": round(int(offered) * rate),
            "loss_ratio_window": round(1 - int(arrived) / int(counted), 5),
        }
        if flow["tos"] & 3:
            result["marked_ratio_window"] = round(int(marked) / max(int(received), 1), 5)
        if int(received):
            result["delay_us"] = {"mean": round(float(mean) / 1e3, 1), "min": int(least) / 1e3, "max": int(most) / 1e3}
        if row.get("by_second"):
            result["delay_ms_mean_by_send_second"] = [None if int(s) < 0 else round(int(s) / 1e6, 3) for s in seconds]
        found[name] = result
    return found


def text_of(document):
    """Returns JSON with one line for each command, flow and result."""
    def write(value, depth):
        indent = "  " * depth
        inside = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        if not inside or depth > 3 and not all(isinstance(item, dict) for item in inside):
            return json.dumps(value)
        inner = [f"{json.dumps(key)}: {write(item, depth + 1)}" for key, item in value.items()] \
            if isinstance(value, dict) else [write(item, depth + 1) for item in value]
        ends = "{}" if isinstance(value, dict) else "[]"
        return ends[0] + "\n" + ",\n".join(f"{indent}  {item}" for item in inner) + f"\n{indent}" + ends[1]
    return write(document, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", help="ids or parts of ids, with the other rows of their boots; all by default")
    parser.add_argument("--out", default=HERE.parent / "qdiscs.json", type=pathlib.Path, help="the file of runs; other rows of it stay")
    parser.add_argument("--cache", default=pathlib.Path.home() / ".cache/lockgate-kernel", type=pathlib.Path, help="folder of packages and logs")
    parser.add_argument("--qemu", default="qemu-system-x86_64")
    parser.add_argument("--jobs", default=1, type=int)
    options = parser.parse_args()
    machine = Machine(options.cache, options.qemu)
    old = json.loads(options.out.read_text())["experiments"] if options.out.exists() else []
    done = {run["id"]: run for run in old}
    # Rows of one boot may depend on those before, by the kernel's random numbers: a boot has always the same rows.
    boots = [ROWS[first:first + BOOT] for first in range(0, len(ROWS), BOOT)]
    wanted = [rows for rows in boots if not options.rows or any(part in row["id"] for part in options.rows for row in rows)]
    with ThreadPoolExecutor(options.jobs) as pool:
        for boot in [pool.submit(lambda rows: list(machine.run(rows, options.cache)), rows) for rows in wanted]:
            for row, run in boot.result():
                name = row["id"]
                if run is None:
                    print(f"{name}: failed, see {options.cache / name}.log", flush=True)
                    continue
                print(name, "" if name not in done else "same" if done[name] == run else "CHANGED", flush=True)
                done[name] = run
            runs = [done[row["id"]] for row in ROWS if row["id"] in done]
            options.out.write_text(text_of({"machine": machine.about, "experiments": runs}) + "\n")


if __name__ == "__main__":
    main()
