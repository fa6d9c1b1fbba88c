#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chooses the part of the tests that CI runs besides `make test`, and remembers when it ran.

  rotation.py --state FILE --minutes-left N PART=MINUTES...
  rotation.py --state FILE --failed PART

The first form chooses, of the parts that take no longer than what is left, the one whose last run
is the longest ago; of those that never ran, the hour decides. It prints the reason, then the part,
if there is one. A part that failed is due again.
"""

import argparse
import os
import time

SECONDS_OF_HOUR = 60 * 60


def choose(minutes, last_runs, now, left):
    """The reason and the part, or None if no part fits. `minutes`: by part. `last_runs`: the time,
    in seconds since 1970, by part. `left`: minutes."""
    names = list(minutes)
    first = int(now // SECONDS_OF_HOUR) % len(names)
    by_age = sorted(names[first:] + names[:first], key=lambda name: last_runs.get(name, 0))
    fitting = [name for name in by_age if minutes[name] <= left]
    late = ""
    if by_age[0] not in fitting:
        due = by_age[0]
        late = f": {due} is due, but takes up to {minutes[due]} minutes, and CI has {left} left"
    if not fitting:
        return f"none{late}", None
    part = fitting[0]
    if part in last_runs:
        hours = (now - last_runs[part]) / SECONDS_OF_HOUR
        return f"{part}, whose last run is the longest ago ({hours:.0f} hours){late}", part
    return f"{part}, which has not passed on this machine (chosen by the hour){late}", part


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
    parser.add_argument("--state", metavar="FILE", required=True)
    parser.add_argument("--minutes-left", type=int)
    parser.add_argument("--failed", metavar="PART")
    parser.add_argument("parts", metavar="PART=MINUTES", nargs="*")
    args = parser.parse_args()

    if args.failed:
        last_runs = read(args.state)
        last_runs.pop(args.failed, None)
        write(args.state, last_runs)
        return
    if args.minutes_left is None or not args.parts:
        parser.error("--minutes-left and parts are required")
    minutes = {name: int(number) for name, number in (part.split("=") for part in args.parts)}
    last_runs = read(args.state)
    reason, part = choose(minutes, last_runs, time.time(), args.minutes_left)
    print(reason)
    if part:
        print(part)
        # Already at its start: a part that CI interrupts must not keep the others waiting.
        last_runs[part] = int(time.time())
        write(args.state, last_runs)


if __name__ == "__main__":
    main()
