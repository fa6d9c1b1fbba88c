#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of results.py."""

import os
import tempfile
import unittest
import xml.etree.ElementTree

import results


class ResultsTest(unittest.TestCase):
    def run_flows(self, flows, clean_up):
        """Whether all passed, and the test cases that failed and that did not."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.xml")
            passed = results.run_flows("suite", flows, clean_up, lambda: None, path)
            cases = list(xml.etree.ElementTree.parse(path).iter("testcase"))
        failed = [case.get("name") for case in cases if case.find("failure") is not None]
        others = [case.get("name") for case in cases if case.find("failure") is None]
        return passed, failed, others

    def test_all_pass(self):
        calls = []
        flows = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
        self.assertEqual(self.run_flows(flows, lambda: calls.append("clean")),
                         (True, [], ["a", "b", "clean up"]))
        self.assertEqual(calls, ["clean", "a", "clean", "b", "clean"])

    def test_a_flow_that_fails_keeps_no_other_from_running(self):
        for error in (AssertionError("no"), OSError("no"), KeyError("no")):
            def fail(error=error):
                raise error
            self.assertEqual(self.run_flows({"a": fail, "b": lambda: None}, lambda: None),
                             (False, ["a"], ["b", "clean up"]))

    def test_a_last_cleanup_that_fails_is_a_failure(self):
        calls = []

        def clean_up():
            calls.append(1)
            if len(calls) == 2:
                raise OSError("the namespace stays")

        self.assertEqual(self.run_flows({"a": lambda: None}, clean_up),
                         (False, ["clean up"], ["a"]))


if __name__ == "__main__":
    unittest.main()
