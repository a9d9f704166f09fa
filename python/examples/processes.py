"""A sweep on processes: any executor of PEP 3148 does, such as that of a Dask cluster."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import lockgate as lg

LINE = lg.parse("""
title = "a line"
duration = "1s"
node = { a = {}, b = {} }
link.line = { between = ["a", "b"], rate = "1mbit" }
flow.one = { from = "a", to = "b", size = "500B", gap = { distribution = "exponential", mean = "5ms" } }
""")

if __name__ == "__main__":
    plan = lg.sweep(
        LINE,
        vary={"link.line.rate": "1mbit..8mbit log 4"},
        seeds=range(1, 11),
        metrics=["flow.one.owd.p99"],
        into="results",
    )
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        plan.run(executor)
    print(plan, plan.collect())
    print(plan.compare())
