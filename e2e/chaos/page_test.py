#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of page.py."""

import json
import os
import tempfile
import unittest
from xml.dom import minidom

import page


def waits(pods, longest):
    return {"pods": pods, "longest_seconds": longest, "longest_of": "a/b"}


def kind(name, times, pods, longest, not_possible=None):
    return {"kind": name, "what": f"what {name} does", "holds": "all", "times": times,
            "seconds": 30.0, "not_possible": not_possible or {}, "waits": waits(pods, longest)}


REPORT = {
    "seed": 7, "revision": "abc", "seconds": 1800.0,
    "kinds": [kind("API <cut>", 3, 20, 6.3), kind("clock", 0, 0, 0, {"PermissionDenied": 2})],
    "faults": [], "counts": {"pods": 5250, "configs": 12},
    "waits": waits(5000, 6.3), "waits_without_fault": waits(400, 0.25),
    "quiet_after_seconds": 2.5, "violations": [],
    "not_judged": {"no writer": 3, "a gap: too old: 983 (984)": 2, "a gap: too old: 7 (9)": 4},
}


class PageTest(unittest.TestCase):
    def test_each_kind_has_a_row(self):
        text = page.kinds_table(REPORT)
        rows = {row.split("|")[1].strip(): row for row in text.splitlines()}
        self.assertIn("| 6.3 s", rows["API <cut>"])
        self.assertIn("| 20 ", rows["API <cut>"])
        self.assertIn("0 (2 not possible)", rows["clock"])
        self.assertIn("0.2 s", rows["none"])
        self.assertEqual(1, len({len(row) for row in text.splitlines()}), "columns are aligned")

    def test_the_counts_end_with_the_violations(self):
        text = page.counts_table(REPORT)
        self.assertIn("5,250", text)
        self.assertIn("a part not judged: no writer", text)
        self.assertRegex(text, r"a part not judged: a gap: too old +\| 6 ")
        self.assertIn("**0**", text.splitlines()[-1])
        broken = dict(REPORT, violations=["I1 pods a/b"])
        self.assertIn("**1**", page.counts_table(broken).splitlines()[-1])

    def test_the_plot_is_xml_with_the_longest_bar_first(self):
        document = minidom.parseString(page.plot(REPORT))
        bars = document.getElementsByTagName("rect")[1:]
        self.assertEqual([bar.getAttribute("fill") for bar in bars], ["#1f77b4", "#888888"])
        self.assertEqual(float(bars[0].getAttribute("width")), page.BARS)

    def test_the_page_is_replaced_between_its_comments(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("report.json", "page.md")]
            with open(paths[0], "w", encoding="utf-8") as file:
                json.dump(REPORT, file)
            with open(paths[1], "w", encoding="utf-8") as file:
                file.write(f"before\n{page.BEGIN}\nstale\n{page.END}\nafter\n")
            for _ in range(2):
                page.main(*paths)
            with open(paths[1], encoding="utf-8") as file:
                text = file.read()
            self.assertTrue(text.startswith("before\n"))
            self.assertTrue(text.endswith("\nafter\n"))
            self.assertNotIn("stale", text)
            self.assertIn("30 min with seed 7, revision abc: 3 faults of 1 kinds.", text)
            self.assertTrue(os.path.exists(os.path.join(folder, page.PLOT)))

    def test_a_page_without_its_comments_is_refused(self):
        for text in ("", page.BEGIN, page.END + page.BEGIN):
            with self.assertRaises(ValueError):
                page.fill(text, "")


if __name__ == "__main__":
    unittest.main()
