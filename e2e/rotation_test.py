#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of rotation.py."""

import os
import tempfile
import unittest

import rotation

DAY = rotation.SECONDS_OF_DAY
MINUTES = {"install": 20, "fuzz": 10, "asan": 45}


class RotationTest(unittest.TestCase):
    def test_by_date_without_earlier_runs(self):
        days = [rotation.choose(MINUTES, {}, day * DAY, 60)[1] for day in range(3)]
        self.assertEqual(days, ["install", "fuzz", "asan"])

    def test_every_part_runs_once_in_as_many_runs(self):
        for hours in (0, 1, 24, 72):  # between two runs
            last_runs, now, chosen = {}, 100 * DAY, []
            for _ in MINUTES:
                chosen.append(rotation.choose(MINUTES, last_runs, now, 60)[1])
                now += hours * 3600 + 1
                last_runs[chosen[-1]] = now
            self.assertEqual(sorted(chosen), sorted(MINUTES), f"{hours} hours")

    def test_the_part_whose_last_run_is_the_longest_ago(self):
        last_runs = {"install": 5000, "fuzz": 9000, "asan": 7000}
        reason, part = rotation.choose(MINUTES, last_runs, 5000 + 3 * 3600, 60)
        self.assertEqual(part, "install")
        self.assertIn("3 hours", reason)

    def test_the_shortest_if_the_time_does_not_suffice(self):
        reason, part = rotation.choose(MINUTES, {"install": 9, "fuzz": 9}, 2 * DAY, 44)
        self.assertEqual(part, "fuzz")
        self.assertIn("asan is due", reason)
        self.assertIn("44 left", reason)

    def test_none_if_no_part_fits(self):
        reason, part = rotation.choose(MINUTES, {}, 0, 9)
        self.assertIsNone(part)
        self.assertIn("none", reason)

    def test_state_is_written_and_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "new", "state")
            self.assertEqual(rotation.read(path), {})
            rotation.write(path, {"fuzz": 17})
            self.assertEqual(rotation.read(path), {"fuzz": 17})


if __name__ == "__main__":
    unittest.main()
