"""Draws the picture of README.md from a run: `make picture`, or `python3 docs/images/picture.py LOCKGATE [FILE]`.

Every number and curve is read from the report of scenarios/bufferbloat.toml; the same run gives the same bytes. The
picture is SVG with CSS animations: five seconds show ten of the run. A reader who wants less motion sees the end. It is
720 units wide, so that a phone shows its letters at half their size: no text is smaller than 20.
"""

import base64
import gzip
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "docs/images/queue.svg"
PORT, FLOW = "router:client", "call"
BEGIN, END = 25.0, 35.0
"""Part of the run that is shown, in seconds."""
SECONDS, HOLD = 5.0, 3.0
"""Length of the motion and of the pause after it."""
FRAMES = 25
WIDTH, HEIGHT = 720, 500
BLUE, RED, GREY, INK = "#0f7dc2", "#d5451b", "#5a626c", "#16191d"
LEFT, RIGHT = 84, 696
MARGIN = 24
"""Left edge of the text."""
TOP, BOTTOM = 338, 448
"""Edges of the plot of the delay."""
PACKET = 0.6
"""Width of a waiting packet in pixels."""


def report(lockgate: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        scenario = ROOT / "scenarios/bufferbloat.toml"
        run = [lockgate, "run", str(scenario), "--out", f"{folder}/out"]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        page = Path(folder, "out/report.html").read_text()
    data = re.search(r'id="lockgate-data" data-encoding="gzip">([^<]*)<', page)
    assert data, "the report carries data"
    return json.loads(gzip.decompress(base64.b64decode(data[1])))


def shown(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.1 else f"{seconds * 1000:.1f} ms"


def keyframes(name: str, steps: list[tuple[float, str]]) -> str:
    """Returns keyframes: the state at fractions of the motion, and the last state during the pause."""
    total = SECONDS + HOLD
    parts = "".join(f"{100 * at * SECONDS / total:.2f}%{{{state}}}" for at, state in steps)
    return f"@keyframes {name}{{{parts}100%{{{steps[-1][1]}}}}}"


def picture(data: dict) -> str:
    run = data["runs"][0]
    call = next(flow for flow in run["flows"] if flow["name"] == FLOW)["series"]
    queues = {queue["name"]: queue["series"] for queue in next(p for p in run["ports"] if p["name"] == PORT)["queues"]}
    change = next(event for event in run["events"] if event["path"].endswith(".root"))
    before, after = (next(iter(queues)), change["value"])
    finding = next(line for line in data["verdict"] if line.startswith("At "))
    less = re.search(r"([\d.]+) times less\b.*; (\d+) waiting packets moved, (\w+)(?: of them)? lost", finding)
    assert less, finding

    points = [
        (at, delay)
        for at, delay in zip(call["time_s"], call["owd_p50_s"], strict=True)
        if delay is not None and BEGIN <= at <= END
    ]
    most = max(delay for _, delay in points) * 1.08
    x = lambda at: LEFT + (RIGHT - LEFT) * (at - BEGIN) / (END - BEGIN)
    y = lambda delay: BOTTOM - (BOTTOM - TOP) * delay / most
    fraction = lambda at: (at - BEGIN) / (END - BEGIN)
    switch = fraction(change["at_s"])

    styles, parts = [], []
    # The queue, frame by frame: one line before the change, lanes after it.
    times = [BEGIN + (END - BEGIN) * frame / FRAMES for frame in range(FRAMES + 1)]
    index = lambda at: min(range(len(call["time_s"])), key=lambda i: abs(call["time_s"][i] - at))
    widths = lambda name: [(fraction(at), queues[name]["backlog_packets"][index(at)] or 0) for at in times]
    line = [(at, 0 if at >= switch else count) for at, count in widths(before)]
    lanes = [(at, count if at >= switch else 0) for at, count in widths(after)]
    styles.append(keyframes("line", [(at, f"width:{count * PACKET:.0f}px") for at, count in line]))
    styles.append(keyframes("lane", [(at, f"width:{count / 4 * PACKET:.0f}px") for at, count in lanes]))
    styles.append(keyframes("old", [(0, "opacity:1"), (switch, "opacity:1"), (switch + 0.01, "opacity:0")]))
    styles.append(keyframes("new", [(0, "opacity:0"), (switch, "opacity:0"), (switch + 0.01, "opacity:1")]))
    typed = 12.2 * len(f"set port.{PORT}.root={after}")
    styles.append(
        keyframes("typed", [(0, "width:0"), (switch - 0.16, "width:0"), (switch - 0.01, f"width:{typed:.0f}px")])
    )
    styles.append(keyframes("drawn", [(0, "width:0"), (1, f"width:{RIGHT - LEFT}px")]))
    styles.append(keyframes("told", [(0, "opacity:0"), (0.8, "opacity:0"), (0.86, "opacity:1")]))

    # The delay in numbers, of each frame.
    labels = []
    for frame, at in enumerate(times):
        delay = call["owd_p50_s"][index(at)] or 0.0
        step, last = frame / (FRAMES + 1), frame == FRAMES
        states = [(0, f"opacity:{int(frame == 0)}"), (step, "opacity:1")]
        if not last:
            states.append(((frame + 1) / (FRAMES + 1), "opacity:0"))
        styles.append(keyframes(f"n{frame}", states))
        colour = RED if delay > 0.1 else "#006d4f"
        labels.append(
            f'<text class="step" style="animation-name:n{frame}{"" if last else ";opacity:0"}" x="{RIGHT}" y="92" '
            f'text-anchor="end" font-size="38" font-weight="700" fill="{colour}">{shown(delay)}</text>'
        )

    curve = "".join(f"{'L' if i else 'M'}{x(at):.1f} {y(delay):.1f}" for i, (at, delay) in enumerate(points))
    rule = x(change["at_s"])
    ticks = "".join(
        f'<text x="{LEFT - 10}" y="{y(value) + 7:.0f}" text-anchor="end" font-size="20" fill="{GREY}">{text}</text>'
        f'<path d="M{LEFT} {y(value):.1f}H{RIGHT}" stroke="#e3e6ea"/>'
        for value, text in ((0, "0"), (0.5, "0.5 s"), (1, "1 s"))
        if value <= most
    )
    lane = lambda top: (
        f'<rect class="run" style="animation-name:lane" x="{LEFT}" y="{top}" height="18" '
        f'width="{lanes[-1][1] / 4 * PACKET:.0f}" fill="url(#packets)"/>'
    )
    state = lambda name, shows, text: (
        f'<text class="run" style="animation-name:{name}{shows}" x="{MARGIN}" y="88" font-size="22" fill="{GREY}">'
        f"{text}</text>"
    )
    told = (f"{less[1]} times less", f"{less[2]} packets moved,", f"{less[3]} lost")
    parts += [
        f'<text x="{MARGIN}" y="46" font-size="30" font-weight="700" fill="{INK}">A call beside four downloads</text>',
        *labels,
        state("old", ";opacity:0", "one buffer for all: the call takes"),
        state("new", "", "fair queue, a lane of its own: the call takes"),
        f'<path d="M{LEFT - 24} 165l-12 -9v18z" fill="{GREY}"/>',
        f'<rect class="run" style="animation-name:line" x="{LEFT}" y="130" height="70" width="0" fill="url(#mixed)"/>',
        f'<g class="run" style="animation-name:new"><rect x="{LEFT}" y="112" height="18" width="3" fill="{RED}"/>',
        *(lane(136 + 24 * row) for row in range(4)),
        "</g>",
        f'<g clip-path="url(#typing)"><text x="{MARGIN}" y="272" font-size="20" '
        f"font-family=\"ui-monospace,'DejaVu Sans Mono',Menlo,monospace\" fill=\"{INK}\">"
        f"set port.{escape(PORT)}.root={escape(after)}</text></g>",
        ticks,
        f'<path d="M{rule:.1f} {TOP - 4}V{BOTTOM}" stroke="{GREY}" stroke-dasharray="4 4"/>',
        f'<text x="{MARGIN}" y="{TOP - 16}" font-size="20" fill="{GREY}">'
        "delay of the call: median of each tenth of a second</text>",
        f'<g clip-path="url(#seen)"><path d="{curve}" fill="none" stroke="{RED}" stroke-width="3.5" '
        'stroke-linejoin="round"/></g>',
        f'<text x="{LEFT}" y="{BOTTOM + 32}" font-size="20" fill="{GREY}">{BEGIN:.0f} s</text>',
        f'<text x="{RIGHT}" y="{BOTTOM + 32}" text-anchor="end" font-size="20" fill="{GREY}">{END:.0f} s</text>',
        *(
            f'<text class="run" style="animation-name:told" x="{RIGHT}" y="{TOP + 32 + 28 * row}" text-anchor="end" '
            f'font-size="22" font-weight="700" fill="{INK}">{line}</text>'
            for row, line in enumerate(told)
        ),
    ]
    total = SECONDS + HOLD
    style = (
        f".run,.step{{animation-duration:{total:.0f}s;animation-iteration-count:infinite;animation-timing-function:linear}}"
        ".step{animation-timing-function:step-end}"
        "@media(prefers-reduced-motion:reduce){.run,.step{animation:none}}" + "".join(styles)
    )
    first, last = points[0][1], points[-1][1]
    alt = (
        f"A call waits {shown(first)} in one buffer with four downloads. The buffer is replaced by a fair queue while "
        f"packets wait; {less[2]} packets move, {less[3]} is lost, and the call waits {shown(last)}."
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        "role=\"img\" font-family=\"system-ui,-apple-system,'Segoe UI',Arial,sans-serif\">"
        f"<title>{escape(alt)}</title><style>{style}</style><defs>"
        f'<pattern id="packets" width="11" height="18" patternUnits="userSpaceOnUse"><rect width="9.5" height="18" fill="{BLUE}"/></pattern>'
        f'<pattern id="mixed" width="33" height="70" patternUnits="userSpaceOnUse"><rect width="33" height="70" fill="#fff"/>'
        f'<rect width="9.5" height="70" fill="{BLUE}"/><rect x="11" width="9.5" height="70" fill="{BLUE}"/>'
        f'<rect x="22" width="5.5" height="70" fill="{BLUE}"/><rect x="28.5" width="3" height="70" fill="{RED}"/></pattern>'
        f'<clipPath id="typing"><rect class="run" style="animation-name:typed" x="{MARGIN}" y="250" height="32" width="{typed:.0f}"/></clipPath>'
        f'<clipPath id="seen"><rect class="run" style="animation-name:drawn" x="{LEFT}" y="{TOP - 20}" height="{BOTTOM - TOP + 30}" width="{RIGHT - LEFT}"/></clipPath>'
        f'</defs><rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    drawn = picture(report(sys.argv[1] if len(sys.argv) > 1 else "lockgate"))
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else OUT
    out.write_text(drawn)
    print(f"{out.resolve()}: {len(drawn)} bytes")
