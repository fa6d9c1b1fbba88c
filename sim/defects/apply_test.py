#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the defects without building them: each applies to the tree and says what it breaks."""

import os
import tempfile
import unittest

import find

TESTS = ("_test.cc", "_test.py")


class ApplyTest(unittest.TestCase):
    def test_each_defect_applies_to_the_tree(self):
        defects = find.read_defects()
        self.assertGreaterEqual(len(defects), 25)
        for defect in defects:
            with self.subTest(defect.name):
                self.assertEqual(defect.apply(find.ROOT, check_only=True), "")

    def test_each_defect_is_one_of_the_product(self):
        for defect in find.read_defects():
            with self.subTest(defect.name):
                self.assertTrue(defect.files())
                for path in defect.files():
                    self.assertFalse(path.startswith("sim/") or path.endswith(TESTS), path)

    def test_the_table_names_no_other_defect(self):
        with open(find.PAGE, encoding="utf-8") as page:
            rows = find.read_rows(page.read())
        self.assertLessEqual(set(rows), {defect.name for defect in find.read_defects()})


class FindTest(unittest.TestCase):
    def test_a_patch_that_does_not_fit_is_an_error(self):
        with tempfile.TemporaryDirectory() as tree:
            with open(os.path.join(tree, "a.cc"), "w", encoding="utf-8") as file:
                file.write("one\ntwo\n")
            path = os.path.join(tree, "x.patch")
            for old, fits in (("one", True), ("other", False)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write("# Breaks: one.\n# Rule: I1\n--- a/a.cc\n+++ b/a.cc\n"
                               f"@@ -1,2 +1,1 @@\n-{old}\n two\n")
                defect = find.Defect(path)
                self.assertEqual(defect.apply(tree, check_only=True) == "", fits)
            self.assertEqual((defect.breaks, defect.rule, defect.files()), ("one", "I1", ["a.cc"]))

    def test_the_first_violation_counts(self):
        output = ("seed 1: 900 s, 10 commits, 2 releases judged, hash 00ff, no violation\n"
                  "seed 2: 900 s, 10 commits, 2 releases judged, hash 00fe, 2 violations\n"
                  "  I5 pods shop/pod-1 at 3.000 s, version 7: changed spec.x\n"
                  "  rest pods shop/pod-2 at 4.000 s: wrote\n")
        self.assertEqual(find.first_failure(output),
                         (2, "I5", "pods shop/pod-1 at 3.000 s, version 7: changed spec.x"))
        self.assertIsNone(find.first_failure(output.splitlines()[0] + "\n"))

    def test_new_rows_replace_those_of_the_same_defects(self):
        page = f"Text\n\n{find.HEAD}\n|---|---|---|---|---|\n| [b](b.patch) | x | I1 | 3 | 4 |\n"
        rows = find.read_rows(page)
        rows["a"] = "| [a](a.patch) | y | I2 | 5 | 6 |"
        self.assertEqual(find.with_rows(page, rows),
                         f"Text\n\n{find.HEAD}\n|---|---|---|---|---|\n"
                         "| [a](a.patch) | y | I2 | 5 | 6 |\n| [b](b.patch) | x | I1 | 3 | 4 |\n")

    def test_a_copy_has_the_files_of_the_checkout(self):
        with tempfile.TemporaryDirectory() as target:
            stale = os.path.join(target, "kube", "stale.cc")
            os.makedirs(os.path.dirname(stale))
            with open(stale, "w", encoding="utf-8") as file:
                file.write("old")
            find.copy_tree(find.ROOT, target)
            self.assertFalse(os.path.exists(stale))
            copied = os.path.join(target, "sim", "main.cc")
            with open(copied, "a", encoding="utf-8") as file:
                file.write("// changed\n")
            untouched = os.path.join(target, "WORKSPACE")
            before = os.stat(untouched).st_ino
            find.copy_tree(find.ROOT, target)
            source = os.path.join(find.ROOT, "sim", "main.cc")
            self.assertEqual(find.read_bytes(copied), find.read_bytes(source))
            self.assertEqual(os.stat(untouched).st_ino, before)


if __name__ == "__main__":
    unittest.main()
