#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges a soak run: whether a program's memory, descriptors or tasks grow, how much it logs, and
how often it calls the API server.

soak_report.py FILE               prints the table and the verdict of the run in FILE, which
                                  //e2e/soak writes; exits with 1 if the run failed
soak_report.py FILE --page PAGE   also writes them to PAGE, between <!-- soak --> and
                                  <!-- /soak -->, and plots to the folder "reliability" beside it

A series is one process from its start to its end. The first quarter of the run does not count, and
of each series not its first minutes either: caches fill, and the heap grows to its usual size. All
series of a program have one slope, and each has its own level. A series that covers half of the
time that counts is also judged alone, so that a leak of one replica is not averaged away.

A slope fails if it is above its limit even when it is lowered by three standard errors. Samples
that follow each other are alike, which counts as fewer samples. A slope whose limit is within three
standard errors is not clear: it does not fail the run, and needs a longer one. A run of less than
half an hour has slopes without a verdict.
"""

import argparse
import collections
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "benchmarks"))

import plots  # noqa: E402
import report  # noqa: E402
from tables import number, table  # noqa: E402

HOUR = 3600.0
# The share of the run that does not count, and the seconds of each series.
WARM_UP = 0.25
SERIES_WARM_UP = 300
# In a shorter run, in seconds, nothing but rates is judged: all growth may be warm-up.
SHORTEST = 1800
# A series that covers this share of what counts is judged alone.
ALONE = 0.5
# Standard errors between a slope and its limit.
CONFIDENCE = 3
# Fewer samples have no slope.
MIN_SAMPLES = 5
# The points of a line in a plot.
POINTS = 40
PLOTS = "reliability"

Quantity = collections.namedtuple("Quantity", "title unit scale counter")
# The fields of a sample. A slope in the unit is that of the field a second times `scale`. A counter
# only grows: its slope is its mean rate.
QUANTITIES = {
    "rss_kb": Quantity("RSS without file pages", "MiB/h", HOUR / 1024, False),
    "fds": Quantity("descriptors", "1/h", HOUR, False),
    "tasks": Quantity("tasks", "1/h", HOUR, False),
    "log_bytes": Quantity("log", "KiB/h", HOUR / 1024, True),
    "requests": Quantity("API requests", "1/s", 1.0, True),
}

# The limits of a process, in the units above, for 30 pods a second: the leader of the cluster
# controller has four requests for each pod, events included, and a shard gets a third of the pods.
# 0.5 MiB an hour are 5 bytes for each pod. While the API server is away, controllers log each
# attempt for each pod. Rates were seen on a busy machine at 8 to 12 pods a second; a quiet one
# allows tighter limits.
LIMITS = {
    "operator":           {"rss_kb": 0.5, "fds": 4, "tasks": 4, "log_bytes": 1024, "requests": 10},
    "cluster-controller": {"rss_kb": 1.0, "fds": 4, "tasks": 4, "log_bytes": 1024, "requests": 160},
    "shard":              {"rss_kb": 0.5, "fds": 4, "tasks": 4, "log_bytes": 1024, "requests": 60},
    "cluster webhook":    {"rss_kb": 0.5, "fds": 4, "tasks": 4, "log_bytes": 256, "requests": 1},
    "local webhook":      {"rss_kb": 0.5, "fds": 4, "tasks": 4, "log_bytes": 256, "requests": 1},
    "policy webhook":     {"rss_kb": 0.5, "fds": 4, "tasks": 4, "log_bytes": 256, "requests": 2},
    "hub":                {"rss_kb": 1.0, "fds": 4, "tasks": 4, "log_bytes": 256, "requests": 15},
    "agent":              {"rss_kb": 0.5, "fds": 4, "tasks": 4, "log_bytes": 256, "requests": 5},
}

Slope = collections.namedtuple("Slope", "value error")


class Run:
    """The lines of a run's file, by their kind."""

    def __init__(self, lines):
        kinds = collections.defaultdict(list)
        for line in lines:
            kinds[line["kind"]].append(line)
        self.about = (kinds["start"] or [{}])[0]
        self.samples = kinds["process"]
        self.pods = kinds["pods"]
        self.faults = kinds["fault"]
        self.end = (kinds["end"] or [None])[0]
        self.seconds = max((line["t"] for line in lines), default=0)

    def programs(self):
        found = {sample["program"] for sample in self.samples}
        return [p for p in LIMITS if p in found] + sorted(found - set(LIMITS))

    def series(self, program, field, warm=True):
        """(process, number of the series) -> [(t, value)], without the warm-up if `warm`."""
        found = collections.defaultdict(list)
        begins = {}
        for sample in self.samples:
            if sample["program"] != program:
                continue
            key = (sample["process"], sample["series"])
            begin = begins.setdefault(key, sample["t"])
            cold = max(self.seconds * WARM_UP, begin + SERIES_WARM_UP if begin > SERIES_WARM_UP
                       else 0)
            if sample.get(field) is not None and (not warm or sample["t"] >= cold):
                found[key].append((sample["t"], sample[field]))
        return dict(found)


def widened(error, pairs, variance):
    """The standard error when neighbours are alike: `pairs` are the products of neighbours."""
    correlation = sum(pairs) / len(pairs) / variance if pairs and variance > 0 else 0
    correlation = min(max(correlation, 0), 0.98)
    return error * math.sqrt((1 + correlation) / (1 - correlation))


def trend(series):
    """The common slope a second of several lists of (t, value), each with its own level."""
    centred = []
    for points in series:
        t0 = sum(t for t, _ in points) / len(points)
        y0 = sum(y for _, y in points) / len(points)
        centred.append([(t - t0, y - y0) for t, y in points])
    samples = sum(map(len, centred))
    free = samples - len(centred) - 1
    spread = sum(t * t for points in centred for t, _ in points)
    if samples < MIN_SAMPLES or free < 1 or spread == 0:
        return None
    value = sum(t * y for points in centred for t, y in points) / spread
    residuals = [[y - value * t for t, y in points] for points in centred]
    variance = sum(r * r for rs in residuals for r in rs) / free
    pairs = [a * b for rs in residuals for a, b in zip(rs, rs[1:])]
    return Slope(value, widened(math.sqrt(variance / spread), pairs, variance))


def rate(series):
    """The mean increase a second of several lists of (t, value) of counters."""
    rates, time = [], 0.0
    for points in series:
        steps = [((y1 - y0) / (t1 - t0), t1 - t0) for (t0, y0), (t1, y1) in zip(points, points[1:])
                 if t1 > t0]
        rates.append(steps)
        time += sum(dt for _, dt in steps)
    steps = [step for of_series in rates for step in of_series]
    if len(steps) < MIN_SAMPLES or time == 0:
        return None
    value = sum(r * dt for r, dt in steps) / time
    variance = sum((r - value) ** 2 for r, _ in steps) / (len(steps) - 1)
    pairs = [(a - value) * (b - value)
             for of_series in rates for (a, _), (b, _) in zip(of_series, of_series[1:])]
    return Slope(value, widened(math.sqrt(variance / len(steps)), pairs, variance))


def slope(series, field):
    """In the quantity's unit; None without enough samples."""
    quantity = QUANTITIES[field]
    series = [points for points in series if len(points) > 1]
    found = (rate if quantity.counter else trend)(series)
    return found and Slope(found.value * quantity.scale, found.error * quantity.scale)


def verdict(found, limit):
    """ "ok", "not clear" or "FAIL"; "" for what has no slope or no limit."""
    if found is None or limit is None:
        return ""
    margin = CONFIDENCE * found.error
    if found.value - margin > limit:
        return "FAIL"
    return "ok" if found.value + margin <= limit else "not clear"


def cell(found, limit):
    if found is None:
        return ""
    text = f"{number(found.value)} ± {number(CONFIDENCE * found.error)}"
    return text if limit is None else f"{text}; ≤ {number(limit)} {verdict(found, limit)}"


def judge(run):
    """The rows of the table, and what fails the run."""
    rows, failures = [], list(run.end["failures"]) if run.end else ["the run did not end"]
    unclear = []
    for program in run.programs():
        limits = LIMITS.get(program, {})
        cells = []
        lengths = 0
        for field, quantity in QUANTITIES.items():
            series = run.series(program, field)
            lengths = max(lengths, len(series))
            judged = quantity.counter or run.seconds >= SHORTEST
            limit = limits.get(field) if judged else None
            found = slope(series.values(), field)
            cells.append(cell(found, limit))
            if verdict(found, limit) == "FAIL":
                failures.append(f"{program}: {quantity.title} {cells[-1]} ({quantity.unit})")
            elif verdict(found, limit) == "not clear":
                unclear.append(f"{program}: {quantity.title}")
            for (process, _), points in series.items():
                covered = points[-1][0] - points[0][0]
                if len(series) == 1 or covered < ALONE * (1 - WARM_UP) * run.seconds:
                    continue
                alone = slope([points], field)
                if verdict(alone, limit) == "FAIL":
                    failures.append(f"{program}, process {process} alone: {quantity.title} "
                                    f"{cell(alone, limit)} ({quantity.unit})")
        rows.append([program, str(lengths)] + cells)
    missing = [program for program in LIMITS if program not in run.programs()]
    failures += [f"{program}: no sample" for program in missing]
    return rows, failures, unclear


def summary(run):
    """What the run did, as text."""
    about, pods = run.about, run.pods[-1] if run.pods else {}
    faults = collections.Counter(fault["fault"] for fault in run.faults)
    text = ""
    if "processors" in about:
        text = report.machine(argparse.Namespace(about=about)) + " "
    text += f"{number(run.seconds / 60)} minutes"
    if "options" in about:
        text += f" at {about['options']['rate']} pods a second"
    if pods:
        waited = max(line.get("longest_gated", 0) for line in run.pods)
        text += (f", {pods['created']} pods created, {pods['both_gates']} of them with both gates, "
                 f"{pods['deleted']} deleted; outside of faults, none was seen gated for longer "
                 f"than {number(waited)} s")
    text += f". {sum(faults.values())} faults"
    if faults:
        text += ": " + ", ".join(f"{n} {fault}" for fault, n in sorted(faults.items()))
    edits = run.end or {}
    if "edits" in edits:
        text += (f". {edits['edits']} edits of configs and policies, {edits['rotations']} Secrets "
                 f"with certificates deleted, {edits['scores']} changes of scores")
    return text + "."


def tables_of(run):
    """The text of the part of the page."""
    rows, failures, unclear = judge(run)
    head = ["program", "series"] + [f"{q.title}, {q.unit}" for q in QUANTITIES.values()]
    parts = [summary(run),
             "**The run failed.**" if failures else "The run passed.",
             table(head, rows)]
    if failures:
        parts.append("\n".join(f"- {failure}" for failure in failures))
    if run.seconds < SHORTEST:
        parts.append("The run is too short to judge RSS, descriptors and tasks.")
    if unclear:
        parts.append("Not clear in a run of this length: " + "; ".join(unclear) + ".")
    return "\n\n".join(parts), failures


def thinned(points):
    """At most POINTS means of neighbours."""
    size = max(1, math.ceil(len(points) / POINTS))
    groups = [points[i:i + size] for i in range(0, len(points), size)]
    return [(sum(x for x, _ in g) / len(g), sum(y for _, y in g) / len(g)) for g in groups]


def line_of(run, program, field):
    """[(minutes, mean of the processes)]; of a counter, the mean rate in the quantity's unit."""
    quantity = QUANTITIES[field]
    by_time = collections.defaultdict(list)
    for points in run.series(program, field, warm=False).values():
        if quantity.counter:
            points = [(t1, (y1 - y0) / (t1 - t0) * quantity.scale)
                      for (t0, y0), (t1, y1) in zip(points, points[1:]) if t1 > t0]
        for t, y in points:
            by_time[t].append(y)
    return thinned([(t / 60, sum(ys) / len(ys)) for t, ys in sorted(by_time.items())])


PICTURES = {
    "rss_kb": ("soak-rss", "RSS without file pages, mean of the processes", "MiB", 1 / 1024),
    "fds": ("soak-descriptors", "Descriptors, mean of the processes", "descriptors", 1),
    "tasks": ("soak-tasks", "Tasks, mean of the processes", "tasks", 1),
    "log_bytes": ("soak-log", "Log, mean of the processes", "KiB/h", 1),
    "requests": ("soak-requests", "API requests, mean of the processes", "1/s", 1),
}


def scripts(run, folder):
    """The gnuplot scripts of all plots."""
    made = []
    for field, (name, title, unit, scale) in PICTURES.items():
        lines = {p: [(x, y * scale) for x, y in line_of(run, p, field)] for p in run.programs()}
        lines = {p: points for p, points in lines.items() if points}
        if lines:
            made.append(plots.line_plot(os.path.join(folder, name + ".svg"), title, "minutes",
                                        unit, lines))
    if run.pods:
        lines = {"gated pods": [(line["t"] / 60, line["gated"]) for line in run.pods],
                 "longest, s": [(line["t"] / 60, line["longest_gated"]) for line in run.pods]}
        made.append(plots.line_plot(
            os.path.join(folder, "soak-pods.svg"), "Gated pods, and how long, without faults",
            "minutes", "", {name: thinned(points) for name, points in lines.items()}))
    return made


def pictures(run):
    found = [f"![{title}]({PLOTS}/{name}.svg)" for name, title, *_ in PICTURES.values()]
    if run.pods:
        found.append(f"![Gated pods]({PLOTS}/soak-pods.svg)")
    return "\n".join(found)


def read(path):
    """The run of a file. Its last line may be incomplete: the run was stopped."""
    lines = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                lines.append(json.loads(line))
    return Run(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--page")
    arguments = parser.parse_args()
    run = read(arguments.file)
    text, failures = tables_of(run)
    print(text)
    if arguments.page:
        with open(arguments.page, encoding="utf-8") as file:
            page = report.fill(file.read(), {"soak": text + "\n\n" + pictures(run)})
        folder = os.path.join(os.path.dirname(arguments.page), PLOTS)
        os.makedirs(folder, exist_ok=True)
        for script in scripts(run, folder):
            plots.draw(script)
        with open(arguments.page, "w", encoding="utf-8") as file:
            file.write(page)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
