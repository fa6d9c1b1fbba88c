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

    def sum(self, *args):
        done = subprocess.run([sys.executable, f"{HERE}/sum_results.py", *args],
                              stdout=subprocess.PIPE, text=True, check=False)
        return done.stdout.splitlines(), done.returncode

    def test_counts_over_all_files(self):
        lines, status = self.sum("--xml", self.file("a.xml", PASSED),
                                 "--xml", self.file("b.xml", FAILED))
        self.assertEqual(lines, ["FAILED b.xml A.b", "1 skipped", "1 passed, 1 failed"])
        self.assertEqual(status, 1)

    def test_a_file_that_is_missing_has_failed(self):
        lines, status = self.sum("--xml", self.file("a.xml", PASSED), "--xml", "/no.xml",
                                 "--bep", "/no.json")
        self.assertEqual(lines[-1], "1 passed, 2 failed")
        self.assertEqual(status, 1)

    def test_a_failure_that_no_test_reports(self):
        lines, status = self.sum("--xml", self.file("a.xml", PASSED), "--failed", "kind tier: none")
        self.assertEqual(lines, ["FAILED kind tier: none", "1 passed, 1 failed"])
        self.assertEqual(status, 1)

    def test_counts_the_shards_of_a_target(self):
        events = []
        for shard in (1, 2):
            uri = "file://" + self.file(f"{shard}.xml", PASSED)
            events.append({
                "id": {"testResult": {"label": "//e2e:integration_test", "shard": shard}},
                "testResult": {"status": "PASSED",
                               "testActionOutput": [{"name": "test.xml", "uri": uri}]}})
        path = self.file("bep.json", "\n".join(json.dumps(event) for event in events))
        self.assertEqual(self.sum("--bep", path), (["2 passed, 0 failed"], 0))

    def test_nothing_is_a_failure(self):
        self.assertEqual(self.sum(), (["0 passed, 0 failed"], 1))


if __name__ == "__main__":
    unittest.main()
