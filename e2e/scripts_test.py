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


def text_of(script, function):
    """The function in bash."""
    with open(f"{HERE}/{script}", encoding="utf-8") as file:
        found = re.search(rf"^{function}\(\) \{{\n.*?^\}}\n", file.read(), re.M | re.S)
    return found.group()


def holds(script, function, *args, before=(), **variables):
    """Whether this function succeeds. `before`: lines of bash. `variables`: in bash's syntax."""
    lines = ["set -euo pipefail", *(f"{name}={value}" for name, value in variables.items()),
             *before, text_of(script, function),
             f'if {function} "$@"; then exit 0; else exit 9; fi']
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

    def test_a_part_that_failed_or_was_stopped_is_due_again(self):
        def due(*results, stopped=""):
            return holds("test.sh", "is_due_again", *results, stopped=stopped)
        passed = ("--xml", self.file(PASSED))
        self.assertFalse(due(*passed))
        self.assertTrue(due(*passed, "--failed", "it"))
        self.assertTrue(due(*passed, stopped="1"))
        self.assertFalse(due())

    def test_the_rotation_runs_parts_while_one_fits(self):
        def rotated(minutes, stops="none", gigabytes=100):
            ran, state = self.file(""), self.file("asan 1\ntsan 2\nchaos 3\n")
            stubs = ["say() { :; }", "is_due_again() { false; }",
                     f"free_gigabytes() {{ echo {gigabytes}; }}", text_of("test.sh", "leave_out")]
            for part, name, took in (("asan", "a", 10), ("tsan", "b", 20), ("chaos", "c", 5)):
                stubs.append(f"run_{part}() {{ echo -n {name} >>$ran; "
                             f"deadline=$((deadline - {took} * 60)); "
                             f"[[ {name} != $stops ]] || stopped=1; }}")
            holds("test.sh", "run_rotation", before=stubs, ran=ran, rotation_state=state,
                  stops=stops, stopped="", sum="()", part_minutes="(asan=20 tsan=30 chaos=10)",
                  ci_minutes=minutes, sanitizer_gigabytes=60, started=int(time.time()))
            with open(ran, encoding="utf-8") as file:
                return file.read()
        self.assertEqual(rotated(90), "abc")
        self.assertEqual(rotated(39), "ac", "b would take too long")
        self.assertEqual(rotated(5), "")
        self.assertEqual(rotated(90, stops="b"), "ab", "no time is left")
        self.assertEqual(rotated(90, gigabytes=50), "c", "the first two need disk")

    def test_an_attack_is_held_off_if_a_test_passed_for_each_pattern(self):
        log = self.file("[       OK ] A.HoldsNothing (3 ms)\n[       OK ] B.TimesOut (0 ms)\n"
                        "[  FAILED  ] C.Fails (1 ms)\n")
        for pattern, want in (("*", True), ("A.*", True), ("*Nothing*:*TimesOut*", True),
                              ("*Nothing*:*Renamed*", False), ("C.*", False)):
            self.assertEqual(holds("attacks.sh", "all_ran", pattern, log), want, pattern)
        self.assertFalse(holds("attacks.sh", "all_ran", "*", self.file("")))


if __name__ == "__main__":
    unittest.main()
