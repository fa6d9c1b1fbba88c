#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests references.py."""

import os
import tempfile
import unittest

import references


class ReferencesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(folder.cleanup)
        self.paths = []
        for program in ("operator", "webhook"):
            for kind in ("image", "index"):
                path = f"{folder.name}/{program}/{kind}.ref"
                os.makedirs(os.path.dirname(path), exist_ok=True)
                self.paths.append(path)
                self.write(path, "amd64,arm64,ppc64le,s390x" if kind == "index" else "amd64")

    @staticmethod
    def write(path, architectures):
        kind, program = os.path.basename(path)[:-4], os.path.basename(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"NAME=pod-placement/{program}\nTAG={kind}-tag\nDIGEST=sha256:{kind}\n"
                       f"VERSION=1.2.3\nARCHITECTURES={architectures}\n")

    def of(self, registry):
        return references.References(self.paths, registry)

    def test_without_a_registry_images_are_on_the_nodes_by_their_tags(self):
        refs = self.of("localhost")
        self.assertEqual(refs.images()["localhost/pod-placement/operator"],
                         "localhost/pod-placement/operator:image-tag")
        # What a user of such a chart sets as the registry has the indexes.
        self.assertEqual(refs.in_registry()["pod-placement/webhook"],
                         "pod-placement/webhook:index-tag")
        self.assertFalse(refs.for_all_architectures())

    def test_a_release_has_the_indexes_by_version_and_digest(self):
        refs = self.of("r.example.com:5000/a")
        self.assertEqual(refs.images(), {
            f"localhost/pod-placement/{name}":
                f"r.example.com:5000/a/pod-placement/{name}:1.2.3@sha256:index"
            for name in ("operator", "webhook")})
        self.assertEqual(refs.on_nodes()["pod-placement/webhook"],
                         "pod-placement/webhook:image-tag")

    def test_all_images_must_be_there_for_all_architectures(self):
        self.assertTrue(self.of("r.example.com/a").for_all_architectures())
        self.write(self.paths[-1], "amd64,arm64")
        self.assertFalse(self.of("r.example.com/a").for_all_architectures())

    def test_replaces_only_whole_texts(self):
        images = {"localhost/a": "r/a:1"}
        self.assertEqual(
            references.with_images({"x": ["localhost/a", "--image=localhost/a", 1]}, images),
            {"x": ["r/a:1", "--image=localhost/a", 1]})

    def test_refuses_what_is_no_registry(self):
        for registry in ("", "/a", "r.example.com/", "https://r.example.com/a"):
            with self.assertRaisesRegex(SystemExit, "must be like"):
                self.of(registry)


if __name__ == "__main__":
    unittest.main()
