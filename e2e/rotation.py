#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chooses the part of the tests that CI runs besides `make test`, and remembers when it ran.

  rotation.py --state FILE --minutes-left N PART=MINUTES...
  rotation.py --state FILE --failed PART

The first form chooses, of the parts that take no longer than what is left, the one whose last run
is the longest ago; of those that never ran, the hour decides. It prints the reason, then the part,
if there is one. A part that failed comes first, unless the last run was that of such a part: at
least every second run is one of the others.
"""

import argparse
import os
import time

SECONDS_OF_HOUR = 60 * 60


def choose(minutes, last_runs, failed, now, left):
    """The reason and the part, or None if no part fits. `minutes`: by part. `last_runs`: the time,
    in seconds since 1970, by part. `failed`: the parts whose last run failed. `left`: minutes."""
    names = list(minutes)
    first = int(now // SECONDS_OF_HOUR) % len(names)
    repeat = failed if not last_runs or max(last_runs, key=last_runs.get) not in failed else ()
    by_age = sorted(names[first:] + names[:first],
                    key=lambda name: (name not in repeat, last_runs.get(name, 0)))
    fitting = [name for name in by_age if minutes[name] <= left]
    late = ""
    if by_age[0] not in fitting:
        due = by_age[0]
        late = f": {due} is due, but takes up to {minutes[due]} minutes, and CI has {left} left"
    if not fitting:
        return f"none{late}", None
    part = fitting[0]
    if part in repeat:
        return f"{part}, whose last run failed or was stopped{late}", part
    if part in last_runs:
        hours = (now - last_runs[part]) / SECONDS_OF_HOUR
        return f"{part}, whose last run is the longest ago ({hours:.0f} hours){late}", part
    return f"{part}, which has not run on this machine (chosen by the hour){late}", part


def read(path):
    """The times of the last runs by part, and the parts whose last run failed."""
    last_runs, failed = {}, set()
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for name, second, *mark in (line.split() for line in file):
                last_runs[name] = int(second)
                if mark:
                    failed.add(name)
    return last_runs, failed


def write(path, last_runs, failed):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        for name, second in last_runs.items():
            file.write(f"{name} {second}{' failed' if name in failed else ''}\n")
    os.replace(path + ".new", path)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", metavar="FILE", required=True)
    parser.add_argument("--minutes-left", type=int)
    parser.add_argument("--failed", metavar="PART")
    parser.add_argument("parts", metavar="PART=MINUTES", nargs="*")
    args = parser.parse_args()

    last_runs, failed = read(args.state)
    if args.failed:
        write(args.state, last_runs, failed | {args.failed})
        return
    if args.minutes_left is None or not args.parts:
        parser.error("--minutes-left and parts are required")
    minutes = {name: int(number) for name, number in (part.split("=") for part in args.parts)}
    reason, part = choose(minutes, last_runs, failed, time.time(), args.minutes_left)
    print(reason)
    if part:
        print(part)
        # Already at its start: a part that CI interrupts must not keep the others waiting.
        last_runs[part] = int(time.time())
        write(args.state, last_runs, failed - {part})


if __name__ == "__main__":
    main()
