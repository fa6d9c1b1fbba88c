#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables and plots of the benchmarks.

report.py FOLDER                prints the tables of the results in FOLDER: rounds.json, rest.json,
                                growth.json (of //benchmarks:pods), fleet.json (of
                                //fleet/benchmark:fleet) and micro/*.json (of Google Benchmark);
                                what is absent is left out
report.py FOLDER --page PAGE    writes the tables to PAGE, between the comments <!-- NAME --> and
                                <!-- /NAME -->, and the plots to the folder "performance" beside
                                it; text outside of the comments stays, and so does the content of
                                comments without results
"""

import argparse
import glob
import json
import os
import re
import statistics
import sys

import fleets
import plots
from tables import number, spread, table

FLOOR = "Floor"
BARE = "Bare"
KNOWN = "Known"
KNOWN_BY_POLICY = "KnownByPolicy"
GATINGS = {FLOOR: "floor", "Webhook": "by webhook", "Policy": "by policy",
           BARE: "bare create", KNOWN: "known images by webhook",
           KNOWN_BY_POLICY: "known images by policy"}
GATES = {1: "one gate", 2: "both gates"}
PROGRAMS = ["cluster webhook", "local webhook", "shard", "cluster-controller", "operator"]
API_SERVER = "kube-apiserver"
# The folder of the plots, beside the page.
PLOTS = "performance"


class Results:
    """The measurements of one file."""

    def __init__(self, data):
        self.about = data["about"]
        self.measurements = data["measurements"]

    def select(self, **where):
        return [m for m in self.measurements if all(m.get(k) == v for k, v in where.items())]

    def gatings(self):
        found = {m.get("gating") for m in self.measurements}
        return [g for g in GATINGS if g in found]


def value_at(measurement, path):
    """The value at "a/b" of the measurement, or None."""
    for key in path.split("/"):
        if not isinstance(measurement, dict) or key not in measurement:
            return None
        measurement = measurement[key]
    return measurement


def by_round(results, path, **where):
    values = {m.get("round"): value_at(m, path) for m in results.select(**where)}
    return {r: v for r, v in values.items() if v is not None}


# What the ratios to the floor must be: of rates at least, of CPU at most.
GOALS = {
    ("burst", 1, "Webhook"): 0.80, ("burst", 1, "Policy"): 0.90, ("burst", 2, "Policy"): 0.85,
    ("backlog", 1, "Webhook"): 0.90, ("backlog", 1, "Policy"): 0.90,
    ("api", 1, "Webhook"): 1.45, ("api", 1, "Policy"): 1.10,
    ("burst", 1, KNOWN): 0.80, ("api", 1, KNOWN): 1.35,
    ("burst", 1, KNOWN_BY_POLICY): 0.90, ("api", 1, KNOWN_BY_POLICY): 1.15,
}


def verdict(reached):
    return "reached" if reached else "NOT reached"


def ratio_cell(results, path, scenario, gates, gating, goal, at_least):
    """The value, its ratio to the floor of the same round, and whether the goal is reached."""
    values = by_round(results, path, scenario=scenario, gates=gates, gating=gating)
    cell = spread(list(values.values()))
    # What pods cost whose images are known is compared with their creation alone.
    known = gating in (KNOWN, KNOWN_BY_POLICY)
    base = {"gates": 1, "gating": BARE} if known else {"gates": gates, "gating": FLOOR}
    floor = by_round(results, path, scenario=scenario, **base)
    ratios = [values[r] / floor[r] for r in values if floor.get(r)]
    if gating in (FLOOR, BARE) or not ratios:
        return cell
    cell += f"; {spread(ratios)} of the {GATINGS[base['gating']]}"
    if goal is not None:
        median = statistics.median(ratios)
        sign = "≥" if at_least else "≤"
        reached = median >= goal if at_least else median <= goal
        cell += f"; {sign} {goal:.2f} {verdict(reached)}"
    return cell


def rounds_table(results):
    gatings = results.gatings()
    rows = []
    for scenario in ("burst", "backlog"):
        for gates, words in GATES.items():
            rows.append([f"{scenario}, {words}: pods/s"] + [
                ratio_cell(results, "pods_per_second", scenario, gates, gating,
                           GOALS.get((scenario, gates, gating)), at_least=True)
                for gating in gatings])
    for gates, words in GATES.items():
        for origin, of in (("from_call_ms", "create call"), ("from_response_ms", "its response")):
            cells = []
            for gating in gatings:
                quantiles = [by_round(results, f"{origin}/{q}", scenario="steady", gates=gates,
                                      gating=gating) for q in ("p50", "p99")]
                cells.append("; ".join(filter(None, (spread(list(q.values()))
                                                     for q in quantiles))))
            rows.append([f"steady, {words}: ms from {of} until ungated, p50; p99"] + cells)
    for scenario in ("burst", "steady"):
        for gates, words in GATES.items():
            rows.append([f"{scenario}, {words}: API server CPU ms a pod until ungated"] + [
                ratio_cell(results, f"plane_cpu_ms/{API_SERVER}", scenario, gates, gating,
                           GOALS.get(("api", gates, gating)) if scenario == "burst" else None,
                           at_least=False)
                for gating in gatings])
            rows.append([f"{scenario}, {words}: the same, events included"] + [
                spread(list(by_round(results, f"plane_cpu_ms_with_events/{API_SERVER}",
                                     scenario=scenario, gates=gates, gating=gating).values()))
                for gating in gatings])
    return table([""] + [GATINGS[g] for g in gatings], rows)


def own_cpu_table(results):
    """CPU of the operator's programs, all replicas together, events included."""
    gatings = [g for g in results.gatings() if g not in (FLOOR, BARE)]
    runs = [(s, g) for s in ("burst", "backlog", "steady") for g in GATES]
    rows = [[f"{program}, {GATINGS[gating]}"] + [
        spread(list(by_round(results, f"cpu_ms/{program}", scenario=s, gates=gates,
                             gating=gating).values())) for s, gates in runs]
        for program in PROGRAMS for gating in gatings]
    return table(["CPU ms a pod"] + [f"{s}, {GATES[g]}" for s, g in runs], rows)


def events_table(results):
    rows = []
    for m in results.measurements:
        events = m.get("events")
        if not events or "round" not in m:
            continue
        rows.append((m["scenario"], m["gates"], m["gating"], events))
    lines = []
    for key in sorted({row[:3] for row in rows}):
        found = [row[3] for row in rows if row[:3] == key]
        lines.append([f"{key[0]}, {GATES[key[1]]}, {GATINGS[key[2]]}",
                      str(sum(e["expected"] for e in found)),
                      str(sum(max(0, e["expected"] - e["seen"]) for e in found)),
                      spread([e["seconds"] for e in found])])
    return table(["events", "expected", "lost", "seconds after the last pod"], lines)


def memory_table(results):
    """RSS and private MB of the largest process of each program."""
    wanted = [("idle", "idle", "idle"), ("idle again, after all runs", "idle-again", "idle"),
              ("after a burst", "burst", "after"), ("backlog of all pods, then idle", "backlog",
                                                    "after"),
              ("all pods wait for a registry", "frozen-registry", "gated")]
    rows = []
    for title, scenario, when in wanted:
        found = results.select(scenario=scenario)
        cells = []
        for program in PROGRAMS:
            pairs = [value_at(m, f"memory/{when}/{program}") for m in found]
            pairs = [p for p in pairs if p]
            cells.append(f"{spread([p['rss_mb'] for p in pairs])}; "
                         f"{spread([p['private_mb'] for p in pairs])}" if pairs else "")
        pods = {m["pods"] for m in found if m.get("pods")}
        if scenario == "frozen-registry" and pods:
            title = f"{max(pods)} pods wait for a registry"
        rows.append([title] + cells)
    return table(["MB: RSS; private"] + PROGRAMS, rows)


ONCE = {
    "churn": "churn: every second pod deleted while gated",
    "restarts": "controllers killed each second",
    "wide": "pods in 200 namespaces",
    "slow-registry": "50 images, registry with 100 ms",
    "frozen-registry": "registry that does not respond: creates alone",
}


def once_table(results):
    rows = []
    for scenario, title in ONCE.items():
        for m in results.select(scenario=scenario):
            times = m.get("from_call_ms")
            rows.append([f"{title}, {GATES[m['gates']]}, {GATINGS[m['gating']]}", str(m["pods"]),
                         number(m["pods_per_second"]),
                         f"{number(times['p50'])}; {number(times['p99'])}" if times else "",
                         number(m["seconds"])])
    return table(["", "pods", "pods/s", "ms until ungated, p50; p99", "seconds"], rows)


def rest_table(results):
    rows = []
    for m in results.select(scenario="rest"):
        for program, rest in sorted(m["at_rest"].items()):
            memory = m["memory"]["idle"][program]
            rows.append([f"{program}, {GATINGS[m['gating']]}", number(rest["cpu_ms"] * 60),
                         number(rest["wakeups"]), number(memory["rss_mb"]),
                         number(memory["private_mb"])])
    programs = table(["all replicas, one namespace with a shard", "CPU ms a minute",
                      "wake-ups a second", "RSS MB", "private MB"], rows)
    rows = []
    for m in results.select(scenario="rest"):
        for account, requests in sorted(m.get("requests", {}).items()):
            kinds = ", ".join(f"{kind} {number(n)}" for kind, n in sorted(requests.items()))
            rows.append([f"{account}, {GATINGS[m['gating']]}", number(sum(requests.values())),
                         kinds])
    return programs + "\n\n" + table(["ServiceAccount", "requests a minute", "of which"], rows)


# Scenario: what is varied, whether its axis is logarithmic.
CURVES = {
    "gated-pods": ("gated pods when the controller starts", True),
    "shards": ("namespaces with a shard", False),
    "configs": ("PodPlacementConfigs in the namespace, one selects the pods", False),
    "selecting-configs": ("PodPlacementConfigs in the namespace, all select the pods", False),
    "pod-size": ("KB of a pod", False),
    "images": ("distinct images", True),
}


def curve(results, scenario, path):
    """label -> [(point, value)]"""
    series = {}
    for gating, words in GATINGS.items():
        points = [(m["point"], value_at(m, path))
                  for m in results.select(scenario=scenario, gating=gating)]
        points = [(x, y) for x, y in points if y is not None]
        if points:
            series[words] = points
    return series


def picture(name, title):
    return f"![{title}]({PLOTS}/{name}.svg)"


def growth_table(results):
    parts = []
    for scenario, (what, _) in CURVES.items():
        rows = []
        for m in results.select(scenario=scenario):
            if m["gating"] == FLOOR:
                continue
            floor = results.select(scenario=scenario, gating=FLOOR, point=m["point"])
            memory = [value_at(m, f"memory/after/{p}/rss_mb") for p in PROGRAMS]
            peak = [value_at(m, f"memory/after/{p}/peak_rss_mb") for p in PROGRAMS]
            rows.append([
                str(m["point"]), spread([f["pods_per_second"] for f in floor]),
                number(m["pods_per_second"]),
                number(sum(m["cpu_ms"].values())), number(m["plane_cpu_ms"][API_SERVER]),
                number(max(v for v in memory if v)), number(max(v for v in peak if v))])
        if rows:
            gates = results.select(scenario=scenario)[0]["gates"]
            parts.append(picture(scenario, f"Pods per second by {what}"))
            parts.append(f"{what[0].upper()}{what[1:]}, {GATES[gates]}:\n\n" + table(
                [scenario, "floor, pods/s", "pods/s", "own CPU ms a pod",
                 "API server CPU ms a pod", "largest RSS MB", "largest peak MB"], rows))
    return "\n\n".join(parts)


def micro_table(files):
    rows = []
    for name, data in sorted(files.items()):
        for run in data["benchmarks"]:
            per_second = run.get("bytes_per_second")
            rows.append([name, run["name"].removeprefix("BM_"),
                         f"{number(run['cpu_time'])} {run['time_unit']}",
                         f"{number(per_second / 1e6)} MB/s" if per_second else ""])
    return table(["program", "benchmark", "CPU", ""], rows)


def machine(results):
    data = results.about
    return (f"{data['date'][:10]}, revision {data.get('revision') or 'unknown'}, "
            f"{data['processors']} x {data['processor']}, {number(data['memory_mb'] / 1024)} GB, "
            f"Linux {data['kernel']}.")


def about(results):
    options = results.about["options"]
    return (f"{machine(results)} {options['pods']} pods a run, "
            f"{options['connections']} concurrent calls.")


def sections(suites, micro):
    """The text of each part of the page, by its name."""
    parts = {}
    if "rounds" in suites:
        results = suites["rounds"]
        parts["rounds-about"] = about(results) + (
            f" Medians of {results.about['options']['rounds']} rounds, with ranges.")
        parts["rounds"] = picture("rounds", "Pods per second") + "\n\n" + rounds_table(results)
        parts["own-cpu"] = own_cpu_table(results)
        parts["events"] = events_table(results)
        parts["memory"] = memory_table(results)
        parts["once"] = once_table(results)
    for name, make in (("rest", rest_table), ("growth", growth_table)):
        if name in suites:
            parts[name + "-about"] = about(suites[name])
            parts[name] = make(suites[name])
    if "fleet" in suites:
        results = suites["fleet"]
        parts["fleet-about"] = f"{machine(results)} {fleets.about(results)}"
        parts["fleet"] = fleets.tables(results)
    if micro:
        parts["micro"] = micro_table(micro)
    return {name: text for name, text in parts.items() if text.strip()}


def scripts(suites, folder):
    """The gnuplot scripts of all plots, by the name of the file."""
    made = {}

    def path(name):
        return os.path.join(folder, name + ".svg")

    if "rounds" in suites:
        results = suites["rounds"]
        runs = [(s, g) for s in ("burst", "backlog") for g in GATES]
        bars = {}
        for gating in results.gatings():
            rows = []
            for scenario, gates in runs:
                values = list(by_round(results, "pods_per_second", scenario=scenario, gates=gates,
                                       gating=gating).values()) or [0]
                rows.append((statistics.median(values), min(values), max(values)))
            bars[GATINGS[gating]] = rows
        made["rounds"] = plots.bar_plot(
            path("rounds"), "Pods per second", "pods/s",
            [f"{s}, {GATES[g]}" for s, g in runs], bars)
    if "growth" in suites:
        for scenario, (what, log_x) in CURVES.items():
            series = curve(suites["growth"], scenario, "pods_per_second")
            if series:
                made[scenario] = plots.line_plot(path(scenario), f"Pods per second by {what}",
                                                 what, "pods/s", series, log_x)
    return made


def fill(page, parts):
    """`page` with the content of its comments replaced."""
    for name, text in parts.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        if begin not in page or end not in page:
            raise ValueError(f"the page has no {begin} ... {end}")
        head, rest = page.split(begin, 1)
        tail = rest.split(end, 1)[1]
        page = f"{head}{begin}\n\n{wrap(text)}\n\n{end}{tail}"
    return page


def wrap(text):
    """Prose lines with at most 100 columns; tables stay."""
    lines = []
    for line in text.split("\n"):
        while len(line) > 100 and not line.startswith("|"):
            cut = line.rfind(" ", 0, 101)
            lines.append(line[:cut])
            line = line[cut + 1:]
        lines.append(line)
    return "\n".join(lines)


def read(folder):
    suites = {}
    for name in ("rounds", "rest", "growth", "fleet"):
        path = os.path.join(folder, name + ".json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                suites[name] = Results(json.load(file))
    micro = {}
    for path in glob.glob(os.path.join(folder, "micro", "*.json")):
        with open(path, encoding="utf-8") as file:
            micro[re.sub("_benchmark$", "", os.path.basename(path)[:-5])] = json.load(file)
    return suites, micro


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--page")
    arguments = parser.parse_args()
    suites, micro = read(arguments.folder)
    parts = sections(suites, micro)
    if not parts:
        sys.exit(f"no results in {arguments.folder}")
    if not arguments.page:
        print(re.sub(r"!\[.*\n\n?", "", "\n\n".join(parts.values())))
        return
    with open(arguments.page, encoding="utf-8") as file:
        page = fill(file.read(), parts)
    folder = os.path.join(os.path.dirname(arguments.page), PLOTS)
    os.makedirs(folder, exist_ok=True)
    for script in scripts(suites, folder).values():
        plots.draw(script)
    with open(arguments.page, "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    main()
