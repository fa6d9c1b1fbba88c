#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of rotation.py."""

import os
import subprocess
import sys
import tempfile
import unittest

import rotation

HOUR = rotation.SECONDS_OF_HOUR
MINUTES = {"install": 20, "fuzz": 10, "asan": 45}


class RotationTest(unittest.TestCase):
    def test_by_hour_without_earlier_runs(self):
        chosen = [rotation.choose(MINUTES, {}, (), hour * HOUR, 60)[1] for hour in range(3)]
        self.assertEqual(chosen, ["install", "fuzz", "asan"])

    def test_every_part_runs_once_in_as_many_runs(self):
        for hours in (0, 1, 24, 72):  # between two runs
            last_runs, now, chosen = {}, 2400 * HOUR, []
            for _ in MINUTES:
                chosen.append(rotation.choose(MINUTES, last_runs, (), now, 60)[1])
                now += hours * 3600 + 1
                last_runs[chosen[-1]] = now
            self.assertEqual(sorted(chosen), sorted(MINUTES), f"{hours} hours")

    def test_the_part_whose_last_run_is_the_longest_ago(self):
        last_runs = {"install": 5000, "fuzz": 9000, "asan": 7000}
        reason, part = rotation.choose(MINUTES, last_runs, (), 5000 + 3 * 3600, 60)
        self.assertEqual(part, "install")
        self.assertIn("3 hours", reason)

    def test_what_fits_while_the_time_does_not_suffice_for_the_due_part(self):
        last_runs, chosen = {}, []
        for run in range(4):
            reason, part = rotation.choose(MINUTES, last_runs, (), (100 + run) * HOUR, 44)
            chosen.append(part)
            last_runs[part] = (100 + run) * HOUR
        self.assertEqual(sorted(chosen), ["fuzz", "fuzz", "install", "install"])
        self.assertIn("44 left", reason)
        self.assertEqual(rotation.choose(MINUTES, last_runs, (), 104 * HOUR, 45)[1], "asan")

    def test_none_if_no_part_fits(self):
        reason, part = rotation.choose(MINUTES, {}, (), 0, 9)
        self.assertIsNone(part)
        self.assertIn("none", reason)

    def test_state_is_written_and_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "new", "state")
            self.assertEqual(rotation.read(path), ({}, set()))
            rotation.write(path, {"fuzz": 17, "asan": 18}, {"asan"})
            self.assertEqual(rotation.read(path), ({"fuzz": 17, "asan": 18}, {"asan"}))

    def runs(self, fails, count):
        """The parts of `count` runs, of which those in `fails` always fail."""
        last_runs, failed, chosen = {}, set(), []
        for run in range(count):
            now = (2400 + run) * HOUR
            chosen.append(rotation.choose(MINUTES, last_runs, failed, now, 60)[1])
            last_runs[chosen[-1]] = now
            failed -= {chosen[-1]}
            failed |= {chosen[-1]} & fails
        return chosen

    def test_a_part_that_failed_comes_first_but_not_twice_in_a_row(self):
        chosen = self.runs({"install"}, 8)
        self.assertEqual(chosen[0::2], ["install"] * 4)
        self.assertEqual(sorted(chosen[1::2]), ["asan", "asan", "fuzz", "fuzz"])

    def test_two_parts_that_fail_leave_every_second_run_to_the_rotation(self):
        for fails in ({"install", "fuzz"}, {"install", "asan"}, set(MINUTES)):
            chosen = self.runs(fails, 12)
            for part in MINUTES:
                self.assertGreaterEqual(chosen.count(part), 2, f"{fails}: {chosen}")

    def test_a_part_that_failed_is_marked_until_its_next_run(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state")
            rotation.write(path, {"fuzz": 17, "asan": 18}, set())
            command = [sys.executable, rotation.__file__, f"--state={path}"]
            subprocess.run([*command, "--failed=fuzz"], check=True)
            self.assertEqual(rotation.read(path), ({"fuzz": 17, "asan": 18}, {"fuzz"}))
            done = subprocess.run([*command, "--minutes-left=60", "asan=45", "fuzz=10"],
                                  stdout=subprocess.PIPE, text=True, check=True)
            self.assertEqual(done.stdout.splitlines()[-1], "fuzz")
            self.assertEqual(rotation.read(path)[1], set())


if __name__ == "__main__":
    unittest.main()
