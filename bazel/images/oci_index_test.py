#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins a real image with one of another architecture."""

import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
import oci_layout  # pylint: disable=wrong-import-position

IMAGE, REFERENCE = "webhook/image.tar", "webhook/image.ref"


class OciIndex(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.join(os.environ["TEST_TMPDIR"], self.id())
        os.makedirs(self.folder)
        self.native = oci_layout.read_reference(REFERENCE)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write_other(self, native_digest):
        """The native image, as if it were for s390x, and what `make images` leaves beside it."""
        entry, blobs = oci_layout.read_archive(IMAGE)
        manifest = json.loads(blobs.pop(entry["digest"]))
        config = json.loads(blobs.pop(manifest["config"]["digest"]))
        config = oci_layout.as_json({**config, "architecture": "s390x"})
        manifest["config"] = oci_layout.descriptor(oci_layout.CONFIG, config)
        manifest = oci_layout.as_json(manifest)
        oci_layout.write_archive(self.path("s390x.tar"), "pod-placement/webhook",
                                 oci_layout.MANIFEST, manifest, [config, *blobs.values()])
        with open(self.path("native.digest"), "w", encoding="utf-8") as out:
            out.write(native_digest + "\n")
        return [self.path("s390x.tar"), self.path("native.digest"), "images/README.md"]

    def join(self, others):
        """(reference, index, blobs, messages) of the index of the native image and `others`."""
        ran = subprocess.run(
            [sys.executable, os.path.join(HERE, "oci_index.py"), f"--image={IMAGE}",
             f"--image-reference={REFERENCE}", f"--archive={self.path('index.tar')}",
             f"--reference={self.path('index.ref')}", *others],
            check=True, capture_output=True, text=True)
        entry, blobs = oci_layout.read_archive(self.path("index.tar"))
        self.assertEqual(entry["mediaType"], oci_layout.INDEX)
        return (oci_layout.read_reference(self.path("index.ref")),
                json.loads(blobs[entry["digest"]]), blobs, ran.stderr)

    def test_has_every_architecture_that_was_built(self):
        reference, index, blobs, said = self.join(self.write_other(self.native["DIGEST"]))
        self.assertEqual(said, "")
        self.assertEqual(reference["ARCHITECTURES"], "amd64,s390x")
        self.assertEqual([m["platform"] for m in index["manifests"]],
                         [{"architecture": "amd64", "os": "linux"},
                          {"architecture": "s390x", "os": "linux"}])
        self.assertEqual(index["manifests"][0]["digest"], self.native["DIGEST"])
        for entry in index["manifests"]:
            manifest = json.loads(blobs[entry["digest"]])
            for part in [manifest["config"], *manifest["layers"]]:
                self.assertEqual(len(blobs[part["digest"]]), part["size"])

    def test_leaves_out_images_of_other_sources(self):
        reference, index, _, said = self.join(self.write_other("sha256:" + 64 * "0"))
        self.assertEqual(reference["ARCHITECTURES"], "amd64")
        self.assertEqual(len(index["manifests"]), 1)
        self.assertIn("make images", said)

    def test_has_the_native_image_alone_if_no_other_was_built(self):
        reference, _, _, said = self.join(["images/README.md"])
        self.assertEqual(reference["ARCHITECTURES"], "amd64")
        self.assertEqual(said, "")

    def test_equal_input_gives_equal_bytes(self):
        others = self.write_other(self.native["DIGEST"])
        archives = []
        for _ in range(2):
            self.join(others)
            with open(self.path("index.tar"), "rb") as archive:
                archives.append(archive.read())
        self.assertEqual(archives[0], archives[1])


if __name__ == "__main__":
    unittest.main()
