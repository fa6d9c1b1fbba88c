# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG, drawn by gnuplot (Debian's gnuplot-nox)."""

import subprocess

# Colours that differ in brightness too.
COLOURS = ["#888888", "#1f77b4", "#2ca02c", "#d62728", "#9467bd", "#8c564b",
           "#e377c2", "#17becf"]
WIDTH, HEIGHT = 720, 360


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def blocks(series):
    """Gnuplot's data blocks $d0, $d1, ... of rows of numbers or quoted words."""
    lines = []
    for number, rows in enumerate(series):
        lines.append(f"$d{number} << END")
        lines += [" ".join(str(word) for word in row) for row in rows]
        lines.append("END")
    return lines


def header(path, title, ylabel):
    return [
        f"set terminal svg size {WIDTH},{HEIGHT} font 'sans-serif,13' background 'white'",
        f"set output {quoted(path)}",
        f"set title {quoted(title)}",
        f"set ylabel {quoted(ylabel)}",
        "set yrange [0:*]",
        "set grid ytics linecolor '#dddddd'",
        "set border 3",
        "set tics nomirror",
        "set key outside right top reverse Left",
    ]


def plot(series, using):
    """The command that draws the blocks of `series`, one colour for each label."""
    return "plot " + ", ".join(
        f"$d{i} using {using} linecolor {quoted(COLOURS[i % len(COLOURS)])} title {quoted(label)}"
        for i, label in enumerate(series)
    )


def line_plot(path, title, xlabel, ylabel, series, log_x=False):
    """The gnuplot script of a plot; `series`: label -> [(x, y)]."""
    lines = header(path, title, ylabel) + [f"set xlabel {quoted(xlabel)}"]
    if log_x:
        lines.append("set logscale x")
    lines += blocks(series.values())
    lines.append(plot(series, "1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.5"))
    return "\n".join(lines) + "\n"


def bar_plot(path, title, ylabel, groups, series):
    """A bar for each of `groups` and each of `series`: label -> [(value, lowest, highest)]."""
    lines = header(path, title, ylabel) + [
        "set style data histograms",
        "set style histogram errorbars gap 1 linewidth 1",
        "set style fill solid noborder",
        "set boxwidth 0.9",
        "set errorbars linecolor '#444444'",
    ]
    lines += blocks(
        [(*values, quoted(group)) for values, group in zip(rows, groups)]
        for rows in series.values()
    )
    lines.append(plot(series, "1:2:3:xtic(4)"))
    return "\n".join(lines) + "\n"


def draw(script):
    subprocess.run(["gnuplot"], input=script, text=True, check=True)
