#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of prune_cache.py."""

import os
import tempfile
import unittest

import prune_cache


class PruneTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def add(self, name, size, used):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"x" * size)
        os.utime(path, (used, used))

    def left(self):
        return {os.path.relpath(path, self.folder.name)
                for _, _, path in prune_cache.files_of(self.folder.name)}

    def test_what_was_used_last_stays(self):
        for name, used in {"cas/old": 1, "ac/new": 3, "cas/middle": 2}.items():
            self.add(name, 10, used)
        self.assertEqual(prune_cache.prune(self.folder.name, 20), 10)
        self.assertEqual(self.left(), {"ac/new", "cas/middle"})
        self.assertEqual(prune_cache.prune(self.folder.name, 15), 10)
        self.assertEqual(self.left(), {"ac/new"})

    def test_within_the_size_nothing_is_deleted(self):
        self.add("cas/a", 10, 1)
        self.assertEqual(prune_cache.prune(self.folder.name, 10), 0)
        self.assertEqual(self.left(), {"cas/a"})

    def test_without_a_cache(self):
        self.assertEqual(prune_cache.prune(self.folder.name + "/none", 0), 0)


if __name__ == "__main__":
    unittest.main()
