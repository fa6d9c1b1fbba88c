#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of sum_results.py: what it prints and its exit code."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
PASSED = '<testsuites><testsuite><testcase classname="A" name="b"/></testsuite></testsuites>'
FAILED = ('<testsuites><testsuite><testcase classname="A" name="b"><failure/></testcase>'
          '<testcase classname="A" name="c"><skipped/></testcase></testsuite></testsuites>')


class SumResultsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def events(self, events):
        return self.file("bep.json", "\n".join(json.dumps(event) for event in events))

    def sum(self, *args):
        done = subprocess.run([sys.executable, f"{HERE}/sum_results.py", *args],
                              stdout=subprocess.PIPE, text=True, check=False)
        return done.stdout.splitlines(), done.returncode

    def test_counts_over_all_files(self):
        lines, status = self.sum("--xml", self.file("a.xml", PASSED),
                                 "--xml", self.file("b.xml", FAILED))
        self.assertEqual(lines, ["FAILED b.xml A.b", "SKIPPED b.xml A.c", "1 passed, 1 failed"])
        self.assertEqual(status, 1)

    def test_says_why_a_test_was_skipped(self):
        text = "a.cc:69&#x0A;the API server is too old&#x0A;for it&#x0A;"
        path = self.file("a.xml", '<testsuite><testcase classname="A" name="b"/><testcase '
                         f'classname="A" name="c"><skipped message="{text}"/></testcase>'
                         '</testsuite>')
        lines, _ = self.sum("--xml", path)
        self.assertEqual(lines[0], "SKIPPED a.xml A.c: the API server is too old for it")

    def test_a_file_that_is_missing_has_failed(self):
        lines, status = self.sum("--xml", self.file("a.xml", PASSED), "--xml", "/no.xml",
                                 "--bep", "/no.json")
        self.assertEqual(lines[-1], "1 passed, 2 failed")
        self.assertEqual(status, 1)

    def test_a_failure_that_no_test_reports(self):
        lines, status = self.sum("--xml", self.file("a.xml", PASSED), "--failed", "kind tier: none")
        self.assertEqual(lines, ["FAILED kind tier: none", "1 passed, 1 failed"])
        self.assertEqual(status, 1)

    def test_a_program_that_crashes_after_its_results_has_failed(self):
        path = self.file("a.xml", PASSED)
        lines, status = self.sum("--crashed", path)
        self.assertEqual(lines, [f"FAILED {path}: its program ended with an error that no test "
                                 "reports", "1 passed, 1 failed"])
        self.assertEqual(status, 1)
        self.assertEqual(self.sum("--xml", path, "--crashed", path)[0], lines)
        # The reason of the error is counted once.
        self.assertEqual(self.sum("--crashed", self.file("b.xml", FAILED))[0][-1],
                         "0 passed, 1 failed")
        self.assertEqual(self.sum("--crashed", "/no.xml")[0][-1], "0 passed, 1 failed")

    def test_counts_the_shards_of_a_target(self):
        events = []
        for shard in (1, 2):
            uri = "file://" + self.file(f"{shard}.xml", PASSED)
            events.append({
                "id": {"testResult": {"label": "//e2e:integration_test", "shard": shard}},
                "testResult": {"status": "PASSED",
                               "testActionOutput": [{"name": "test.xml", "uri": uri}]}})
        events.append({"finished": {"exitCode": {"name": "SUCCESS"}}})
        self.assertEqual(self.sum("--bep", self.events(events)), (["2 passed, 0 failed"], 0))

    def test_a_bazel_that_did_not_end_has_failed(self):
        uri = "file://" + self.file("1.xml", PASSED)
        result = {"id": {"testResult": {"label": "//a:t1"}},
                  "testResult": {"status": "PASSED",
                                 "testActionOutput": [{"name": "test.xml", "uri": uri}]}}
        # A test whose result is missing looks like a target that is not a test.
        completed = {"id": {"targetCompleted": {"label": "//a:t2"}}, "completed": {"success": True}}
        for end, lines in (
                ([], ["FAILED bep.json: bazel ended with no end", "1 passed, 1 failed"]),
                ([{"finished": {"exitCode": {"name": "OOM_ERROR", "code": 33}}}],
                 ["FAILED bep.json: bazel ended with OOM_ERROR", "1 passed, 1 failed"]),
                ([{"finished": {"exitCode": {"name": "TESTS_FAILED", "code": 3}}}],
                 ["FAILED bep.json: bazel ended with TESTS_FAILED", "1 passed, 1 failed"]),
                ([{"finished": {"exitCode": {"name": "SUCCESS"}}}], ["1 passed, 0 failed"])):
            path = self.events([result, completed, *end])
            self.assertEqual(self.sum("--bep", path)[0], lines)
        with open(path, "a", encoding="utf-8") as file:
            file.write('\n{"id": {"tes')
        self.assertEqual(self.sum("--bep", path), (["1 passed, 0 failed"], 0))

    def test_of_a_bazel_that_was_stopped_the_results_count(self):
        uri = "file://" + self.file("1.xml", PASSED)
        results = [{"id": {"testResult": {"label": "//a:t1"}},
                    "testResult": {"status": "PASSED",
                                   "testActionOutput": [{"name": "test.xml", "uri": uri}]}},
                   {"id": {"testResult": {"label": "//a:t2"}},
                    "testResult": {"status": "INCOMPLETE"}},
                   {"id": {"targetCompleted": {"label": "//a:t3"}}, "aborted": {}}]
        interrupted = {"finished": {"exitCode": {"name": "INTERRUPTED", "code": 8}}}
        path = self.events([*results, interrupted])
        self.assertEqual(self.sum("--stopped", path), (["1 passed, 0 failed"], 0))
        self.assertEqual(self.sum("--bep", path)[1], 1)
        failed = {"id": {"testResult": {"label": "//a:t3"}}, "testResult": {"status": "FAILED"}}
        self.assertEqual(self.sum("--stopped", self.events([*results, failed]))[1], 1)

    def test_a_build_that_failed_counts_also_if_bazel_was_stopped(self):
        uri = "file://" + self.file("1.xml", PASSED)
        passed = {"id": {"testResult": {"label": "//a:t1"}},
                  "testResult": {"status": "PASSED",
                                 "testActionOutput": [{"name": "test.xml", "uri": uri}]}}

        def ended(label, **event):
            return {"id": {"targetCompleted": {"label": label}}, **event}

        events = [passed, ended("//a:t1", completed={"success": True}),
                  ended("//a:broken", completed={"failureDetail": {"message": "no such header"}}),
                  ended("//a:later", aborted={"reason": "USER_INTERRUPTED"}),
                  ended("//a:now", completed={"failureDetail": {"interrupted": {}}}),
                  {"finished": {"exitCode": {"name": "INTERRUPTED", "code": 8}}}]
        self.assertEqual(self.sum("--stopped", self.events(events)),
                         (["FAILED //a:broken was not built", "1 passed, 1 failed"], 1))

    def test_a_failure_of_a_test_is_reported_once(self):
        events = [{"id": {"testResult": {"label": "//a:t1"}}, "testResult": {"status": "TIMEOUT"}},
                  {"finished": {"exitCode": {"name": "TESTS_FAILED", "code": 3}}}]
        self.assertEqual(self.sum("--bep", self.events(events))[0],
                         ["FAILED //a:t1 TIMEOUT", "0 passed, 1 failed"])

    def test_nothing_is_a_failure(self):
        self.assertEqual(self.sum(), (["0 passed, 0 failed"], 1))


if __name__ == "__main__":
    unittest.main()
