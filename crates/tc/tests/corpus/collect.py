#!/usr/bin/env python3
"""Joins scripts and verdicts: collect.py IN OUT. Prints each script below a line `= NAME`, each line behind its
verdict: `.` taken, `p` refused by the parser of `tc`, `k` refused by the kernel, `-` not a call of `tc`."""

import sys
from pathlib import Path

scripts, results = Path(sys.argv[1]), Path(sys.argv[2])
kernel, tc = results.joinpath(".versions").read_text().splitlines()
print(f"Verdicts of {tc} and Linux {kernel}; see make.sh. `.` taken, `p` refused by the parser, `k` by the kernel.")
for script in sorted(scripts.glob("*.sh")):
    print(f"= {script.stem}")
    verdicts = {}
    for line in results.joinpath(script.stem + ".log").read_text(errors="replace").splitlines():
        number, code, said = line.split("\t", 2)
        is_kernel = "RTNETLINK answers" in said or "We have an error talking to the kernel" in said or code == "2"
        verdict = "." if code == "0" else "k" if is_kernel else "p"
        if verdicts.get(int(number), ".") == ".":
            verdicts[int(number)] = verdict
    for number, line in enumerate(script.read_text().splitlines(), 1):
        print(f"{verdicts.get(number, '-')}\t{line}")
