# SPDX-License-Identifier: Apache-2.0
"""The tables of //fleet/benchmark:fleet."""

from tables import number, table

# What is reached: milliseconds (p99) until a change is decided, seconds and MB of a pass.
DECIDED_MS = 1000
PASS_CPU_SECONDS = 5
MEMORY_MB = 60

PASSES = {"first-pass": "first pass: nothing was decided",
          "restart": "restart: nothing has changed"}
CHANGES = {"label": "a cluster moves to another region", "score": "a score rises or falls",
           "taint": "a cluster gets a taint or loses it"}
MEMORY = {"first-pass": "after the first pass", "rest": "after the changes",
          "restart": "after the restart"}


def about(results):
    options = results.about["options"]
    return (f"{options['clusters']} clusters, {options['placements']} Placements; "
            f"{options['changes']} changes of each kind, one after the other.")


def writes_of(measurement):
    """ "patch placements/status 500, ..." """
    writes = measurement["writes"]
    return ", ".join(f"{kind} {count}" for kind, count in sorted(writes.items())) or "none"


def reached(value, goal):
    return f"{number(value)}; ≤ {goal} {'reached' if value <= goal else 'NOT reached'}"


def passes_table(results):
    rows = []
    for scenario, title in PASSES.items():
        for m in results.select(scenario=scenario):
            cpu = number(m["cpu_seconds"])
            if scenario == "restart":
                cpu = reached(m["cpu_seconds"], PASS_CPU_SECONDS)
            rows.append([title, number(m["seconds"]), cpu, str(m["decisions"]), writes_of(m)])
    return table(["a pass over all Placements", "seconds", "CPU seconds of the hub",
                  "PlacementDecisions", "writes"], rows)


def changes_table(results):
    rows = []
    for kind, title in CHANGES.items():
        for m in results.select(scenario="change", kind=kind):
            decided, last = m["decided_ms"], m["last_write_ms"]
            rows.append([title, f"{number(decided['p50'])}; "
                                f"{reached(decided['p99'], DECIDED_MS)}",
                         f"{number(last['p50'])}; {number(last['p99'])}",
                         number(m["writes_per_change"])])
    return table(["one change", "ms until all decisions have it, p50; p99",
                  "ms until the last write, p50; p99", "writes, mean"], rows)


def memory_table(results):
    rows = []
    for scenario, title in MEMORY.items():
        for m in results.select(scenario=scenario):
            memory = m["memory"]
            rows.append([title, number(memory["rss_mb"]), number(memory["private_mb"]),
                         reached(memory["peak_rss_mb"], MEMORY_MB)])
    return table(["memory of the hub, MB", "RSS", "private", "largest RSS so far"], rows)


def sentences(results):
    lines = []
    for m in results.select(scenario="rest"):
        lines.append(f"At rest, the hub needs {number(m['cpu_ms_per_minute'])} ms CPU a minute. "
                     f"Writes in {m['seconds']} seconds, without its Lease: {writes_of(m)}.")
    for m in results.select(scenario="missing"):
        lines.append(f"In {m['events']} events of PlacementDecisions, a cluster that stayed "
                     f"selected was missing {m['missing']} times.")
    return " ".join(lines)


def tables(results):
    parts = [passes_table(results), changes_table(results), memory_table(results),
             sentences(results)]
    return "\n\n".join(part for part in parts if part)
