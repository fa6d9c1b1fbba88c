#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the report of a run of chaos (report.h) to docs/reliability.md.

  page.py REPORT PAGE    replaces what is between the comments <!-- chaos --> and <!-- /chaos --> in
                         PAGE by a table, and writes the plot to reliability/chaos.svg beside PAGE
"""

import collections
import json
import os
import re
import sys
from xml.sax.saxutils import escape

BEGIN, END = "<!-- chaos -->", "<!-- /chaos -->"
PLOT = "reliability/chaos.svg"

# Of the plot, in pixels.
ROW, LABEL, BARS, NUMBER, TOP, BOTTOM = 18, 210, 420, 90, 40, 30


def duration(seconds):
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"


def table(head, rows):
    """A Markdown table with aligned columns."""
    widths = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
             for row in [head] + rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def kinds_table(report):
    rows = []
    for kind in report["kinds"]:
        waits = kind["waits"]
        times = str(kind["times"])
        not_possible = sum(kind["not_possible"].values())
        if not_possible:
            times += f" ({not_possible} not possible)"
        longest = duration(waits["longest_seconds"]) if waits["pods"] else ""
        rows.append([kind["kind"], kind["what"], kind["holds"], times, duration(kind["seconds"]),
                     str(waits["pods"]), longest])
    without = report["waits_without_fault"]
    rows.append(["none", "no fault, and none within five seconds before", "", "", "",
                 str(without["pods"]), duration(without["longest_seconds"])])
    return table(["fault", "what is done", "what must hold", "times", "in all", "gated pods",
                  "longest wait"], rows)


def counts_table(report):
    rows = [[name, f"{count:,}"] for name, count in sorted(report["counts"].items())]
    rows.append(["longest wait of a pod", f"{duration(report['waits']['longest_seconds'])}"])
    rows.append(["after the last fault, until all programs work and no pod is gated",
                 duration(report["quiet_after_seconds"])])
    reasons = collections.Counter()
    for reason, count in report["not_judged"].items():
        reasons[re.sub(r": \d+ \(\d+\)$", "", reason)] += count  # the versions of a gap
    rows += [[f"a part not judged: {reason}", f"{count:,}"]
             for reason, count in sorted(reasons.items())]
    rows.append(["**violations**", f"**{len(report['violations'])}**"])
    return table(["of the run", ""], rows)


def plot(report):
    """An SVG: a bar for each kind with gated pods, the longest wait first."""
    waits = [("no fault", report["waits_without_fault"])]
    waits += [(kind["kind"], kind["waits"]) for kind in report["kinds"] if kind["waits"]["pods"]]
    bars = sorted(((wait["longest_seconds"], label) for label, wait in waits), reverse=True)
    longest = max([seconds for seconds, _ in bars] + [0.001])
    width, height = LABEL + BARS + NUMBER, TOP + ROW * len(bars) + BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{width / 2:.0f}" y="22" text-anchor="middle" font-size="14">'
        "The longest that a pod was gated under each fault, in seconds</text>",
    ]
    for number, (seconds, label) in enumerate(bars):
        y = TOP + ROW * number
        length = max(1.0, BARS * seconds / longest)
        colour = "#888888" if label == "no fault" else "#1f77b4"
        lines += [
            f'<text x="{LABEL - 8}" y="{y + 13}" text-anchor="end">{escape(label)}</text>',
            f'<rect x="{LABEL}" y="{y + 3}" width="{length:.1f}" height="{ROW - 6}" '
            f'fill="{colour}"/>',
            f'<text x="{LABEL + length + 6:.1f}" y="{y + 13}">{seconds:.1f}</text>',
        ]
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def text_of(report):
    revision = f", revision {report['revision']}" if report["revision"] else ""
    about = (f"{duration(report['seconds'])} with seed {report['seed']}{revision}: "
             f"{sum(kind['times'] for kind in report['kinds'])} faults of "
             f"{sum(1 for kind in report['kinds'] if kind['times'])} kinds.")
    return "\n\n".join([about, f"![The longest waits]({PLOT})", counts_table(report),
                        kinds_table(report)])


def fill(page, text):
    """`page` with the text between its comments replaced."""
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise ValueError(f"the page needs {BEGIN} and then {END}, once each")
    head, rest = page.split(BEGIN)
    tail = rest.split(END)[1]
    return f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}"


def main(report_path, page_path):
    with open(report_path, encoding="utf-8") as file:
        report = json.load(file)
    with open(page_path, encoding="utf-8") as file:
        page = fill(file.read(), text_of(report))
    plot_path = os.path.join(os.path.dirname(page_path), PLOT)
    os.makedirs(os.path.dirname(plot_path), exist_ok=True)
    with open(plot_path, "w", encoding="utf-8") as file:
        file.write(plot(report))
    with open(page_path, "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
