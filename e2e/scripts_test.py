#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of those functions of test.sh and attacks.sh that decide, and run no test."""

import os
import re
import subprocess
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
PASSED = '<testsuite><testcase name="a"/></testsuite>'


def holds(script, function, *args, **variables):
    """Whether this function succeeds. `variables`: in bash's syntax."""
    with open(f"{HERE}/{script}", encoding="utf-8") as file:
        text = re.search(rf"^{function}\(\) \{{\n.*?^\}}\n", file.read(), re.M | re.S)
    lines = ["set -euo pipefail", *(f"{name}={value}" for name, value in variables.items()),
             text.group(), f'if {function} "$@"; then exit 0; else exit 9; fi']
    done = subprocess.run(["bash", "-c", "\n".join(lines), "bash", *map(str, args)],
                          cwd=os.path.dirname(HERE), stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 9):
        raise AssertionError(f"{function}: exit code {done.returncode}")
    return done.returncode == 0


class ScriptsTest(unittest.TestCase):
    def file(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "file")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_which_exit_code_says_that_bazel_was_stopped(self):
        def stopped(status, deadline):
            return holds("test.sh", "stopped_at_deadline", status, deadline=deadline)
        past, future = int(time.time()) - 5, int(time.time()) + 500
        self.assertTrue(stopped(124, past))
        self.assertTrue(stopped(137, past), "timeout had to kill it")
        self.assertFalse(stopped(137, future), "something else has killed it")
        self.assertFalse(stopped(3, past))
        self.assertFalse(stopped(124, ""))

    def test_only_its_own_failures_make_a_part_due_again(self):
        def due(results, stopped="", others="()"):
            return holds("test.sh", "rotated_failed", rotated_sum=f"({results})", stopped=stopped,
                         sum=others)
        passed = f"--xml {self.file(PASSED)}"
        self.assertFalse(due(passed, others="(--failed basic)"))
        self.assertTrue(due(f"{passed} --failed it"))
        self.assertTrue(due(passed, stopped="1"))
        self.assertFalse(due(""))

    def test_an_attack_is_held_off_if_a_test_passed_for_each_pattern(self):
        log = self.file("[       OK ] A.HoldsNothing (3 ms)\n[       OK ] B.TimesOut (0 ms)\n"
                        "[  FAILED  ] C.Fails (1 ms)\n")
        for pattern, want in (("*", True), ("A.*", True), ("*Nothing*:*TimesOut*", True),
                              ("*Nothing*:*Renamed*", False), ("C.*", False)):
            self.assertEqual(holds("attacks.sh", "all_ran", pattern, log), want, pattern)
        self.assertFalse(holds("attacks.sh", "all_ran", "*", self.file("")))


if __name__ == "__main__":
    unittest.main()
