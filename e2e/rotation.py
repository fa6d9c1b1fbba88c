#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chooses the part of the tests that CI runs besides `make test`, and remembers when it ran.

  rotation.py --minutes-left N --state FILE PART=MINUTES...

The part whose last run is the longest ago; of those that never ran, the date decides. If that part
takes longer than what is left, the shortest one. Prints the reason, then the part, if there is one.
"""

import argparse
import os
import time

SECONDS_OF_DAY = 24 * 60 * 60


def choose(minutes, last_runs, now, left):
    """The reason and the part, or None if no part fits. `minutes`: by part. `last_runs`: the time,
    in seconds since 1970, by part. `left`: minutes."""
    names = list(minutes)
    first = int(now // SECONDS_OF_DAY) % len(names)
    by_date = names[first:] + names[:first]
    due = min(by_date, key=lambda name: last_runs.get(name, 0))
    if due in last_runs:
        hours = (now - last_runs[due]) / 3600
        reason = f"{due}, whose last run is the longest ago ({hours:.0f} hours)"
    else:
        reason = f"{due}, which has no run on this machine (chosen by the date)"
    if minutes[due] <= left:
        return reason, due
    late = f"{due} is due, but takes up to {minutes[due]} minutes, and CI has {left} left"
    shortest = min(by_date, key=lambda name: minutes[name])
    if minutes[shortest] <= left:
        return f"{shortest}, which is the shortest: {late}", shortest
    return f"none: {late}", None


def read(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {name: int(second) for name, second in (line.split() for line in file)}


def write(path, last_runs):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.writelines(f"{name} {second}\n" for name, second in last_runs.items())
    os.replace(path + ".new", path)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes-left", type=int, required=True)
    parser.add_argument("--state", metavar="FILE", required=True)
    parser.add_argument("parts", metavar="PART=MINUTES", nargs="+")
    args = parser.parse_args()

    minutes = {name: int(number) for name, number in (part.split("=") for part in args.parts)}
    last_runs = read(args.state)
    reason, part = choose(minutes, last_runs, time.time(), args.minutes_left)
    print(reason)
    if part:
        print(part)
        # Its start and not its end: a part that CI interrupts must not keep the others waiting.
        last_runs[part] = int(time.time())
        write(args.state, last_runs)


if __name__ == "__main__":
    main()
