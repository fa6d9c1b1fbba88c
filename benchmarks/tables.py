# SPDX-License-Identifier: Apache-2.0
"""Numbers and Markdown tables of the reports."""

import statistics


def number(value):
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f}"


def spread(values):
    """The median, and the range if there are several values."""
    if not values:
        return ""
    text = number(statistics.median(values))
    low, high = number(min(values)), number(max(values))
    return text if low == high else f"{text} ({low}-{high})"


def table(head, rows):
    """A Markdown table with aligned columns; rows without any value are left out."""
    rows = [row for row in rows if any(row[1:])]
    if not rows:
        return ""
    widths = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths)) + " |"
             for row in [head] + rows]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)
