#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The parts of a release that need no build: layouts, notes, provenance, and what is refused."""

import hashlib
import json
import os
import sys
import tarfile
import tempfile
import unittest
from unittest import mock

sys.path[:0] = [os.path.dirname(os.path.realpath(__file__)), "bazel/images"]
# pylint: disable=wrong-import-position
import make_release
import notes
import oci_layout
import oci_store
import provenance
import push

CHANGELOG = """# Changelog

## Unreleased

## 1.2.0 - 2026-11-29

### Added
- It flies: see [here](docs/a.md#b), [there](https://example.com) and [below](#c).

## 1.1.0

### Fixed
- A wing.

## 1.0.0 - 2026-01-01
"""


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Layouts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def blob(self, layout, digest):
        with open(f"{layout}/blobs/{digest.replace(':', '/')}", "rb") as file:
            data = file.read()
        self.assertEqual(oci_layout.digest_of(data), digest)
        return data

    def image(self):
        """The layout of the webhook's index, with an SBOM for each platform."""
        path = f"{self.folder}/webhook"
        layout = oci_store.Layout(path)
        digest, platforms = oci_store.add_image(layout, "webhook/index.tar", "1.2.0")
        for _, descriptor in platforms:
            oci_store.add_referrer(layout, descriptor, oci_store.SPDX, "sbom", b"{}\n")
        return path, digest, platforms

    def test_an_image_has_its_tag_and_all_its_blobs(self):
        path, digest, platforms = self.image()
        entry = read_json(f"{path}/index.json")["manifests"][0]
        self.assertEqual(entry["digest"], digest)
        self.assertEqual(entry["annotations"], {"org.opencontainers.image.ref.name": "1.2.0"})
        index = json.loads(self.blob(path, digest))
        self.assertEqual(len(platforms), len(index["manifests"]))
        for manifest in index["manifests"]:
            parts = json.loads(self.blob(path, manifest["digest"]))
            for part in [parts["config"], *parts["layers"]]:
                self.assertEqual(len(self.blob(path, part["digest"])), part["size"])

    def test_an_sbom_refers_to_its_image(self):
        path, _, platforms = self.image()
        entries = read_json(f"{path}/index.json")["manifests"]
        self.assertEqual(len(entries), 1 + 2 * len(platforms))
        self.assertEqual(entries[1:1 + len(platforms)], [subject for _, subject in platforms])
        for entry, (_, subject) in zip(entries[1 + len(platforms):], platforms):
            self.assertNotIn("annotations", entry)
            manifest = json.loads(self.blob(path, entry["digest"]))
            self.assertEqual(manifest["subject"], subject)
            self.assertEqual(manifest["artifactType"], "application/spdx+json")
            self.assertEqual(self.blob(path, manifest["layers"][0]["digest"]), b"{}\n")
            self.assertEqual(self.blob(path, manifest["config"]["digest"]), b"{}")

    def test_a_chart_has_the_metadata_that_helm_reads(self):
        path = "operator/helm/multiarch-tuning-operator.tgz"
        with open(path, "rb") as file:
            archive = file.read()
        layout = f"{self.folder}/chart"
        digest = oci_store.add_chart(oci_store.Layout(layout), archive, b"signed", "1.2.0")
        manifest = json.loads(self.blob(layout, digest))
        config = json.loads(self.blob(layout, manifest["config"]["digest"]))
        self.assertEqual(config["name"], "multiarch-tuning-operator")
        self.assertEqual(manifest["config"]["mediaType"],
                         "application/vnd.cncf.helm.config.v1+json")
        self.assertEqual([self.blob(layout, layer["digest"]) for layer in manifest["layers"]],
                         [archive, b"signed"])


class Notes(unittest.TestCase):
    def test_the_section_of_the_version(self):
        section = notes.section_of(CHANGELOG, "1.2.0", snapshot=False)
        self.assertTrue(section.startswith("### Added\n- It flies"), section)
        self.assertNotIn("A wing", section)

    def refused(self, changelog, version, message):
        with self.assertRaisesRegex(notes.NoSuchSection, message):
            notes.section_of(changelog, version, snapshot=False)

    def test_what_is_no_section_of_a_release(self):
        self.refused(CHANGELOG, "2.0.0", "no section")
        self.refused(CHANGELOG, "1.1.0", "has no date")
        self.refused(CHANGELOG, "1.0.0", "is empty")
        self.refused(CHANGELOG.replace("## Unreleased\n", "## Unreleased\n- New.\n"), "1.2.0",
                     "entries in `## Unreleased`")

    def test_a_snapshot_has_what_is_unreleased(self):
        changelog = CHANGELOG.replace("## Unreleased\n", "## Unreleased\n- New.\n")
        self.assertIn("- New.", notes.section_of(changelog, "1.2.0", snapshot=True))
        self.assertEqual("- New.", notes.section_of(changelog, "9", snapshot=True))

    def test_the_own_changelog_can_be_read(self):
        with open("CHANGELOG.md", encoding="utf-8") as file:
            sections = notes.sections_of(file.read())
        with open("VERSION", encoding="utf-8") as file:
            self.assertIn(file.read().strip(), sorted(sections))

    def test_links_and_digests(self):
        release = {"version": "1.2.0", "registry": "r.example/p",
                   "artifacts": [{"repository": "a/b", "tag": "v1", "digest": "sha256:12"}]}
        with open("release/notes_template.md", encoding="utf-8") as file:
            text = notes.notes(file.read(), release,
                               notes.section_of(CHANGELOG, "1.2.0", False), "https://s.example")
        self.assertIn("| `r.example/p/a/b:v1` | `sha256:12` |", text)
        self.assertIn("[here](https://s.example/docs/a.md#b)", text)
        self.assertIn("[there](https://example.com)", text)
        self.assertIn("oci://r.example/p/charts/multiarch-tuning-operator --version=1.2.0", text)


class Provenance(unittest.TestCase):
    def test_a_statement_of_slsa(self):
        parameters = {"architectures": ["amd64", "arm64"], "version": "1.2.0"}
        content = provenance.predicate("https://s.example", "c0ffee", parameters,
                                       "https://b.example", ("2026-01-01T00:00:00Z",) * 2)
        statement = provenance.statement({"b": "02", "a": "01"}, content)
        self.assertEqual(statement["_type"], "https://in-toto.io/Statement/v1")
        self.assertEqual([subject["name"] for subject in statement["subject"]], ["a", "b"])
        definition = statement["predicate"]["buildDefinition"]
        self.assertEqual(definition["externalParameters"], parameters)
        dependencies = {item["uri"].partition("@")[0]: item
                        for item in definition["resolvedDependencies"]}
        self.assertEqual(dependencies["git+https://s.example"]["digest"], {"gitCommit": "c0ffee"})
        # Of this machine, and of the lock for arm64.
        self.assertIn("pkg:deb/debian/g++", dependencies)
        locked = dependencies["pkg:deb/debian/libbpf-dev"]
        self.assertRegex(locked["digest"]["sha256"], "^[0-9a-f]{64}$")
        for path in provenance.LOCKS:
            self.assertTrue(any(path in uri for uri in dependencies), path)


class Refused(unittest.TestCase):
    def changes_of(self, version, status=""):
        with mock.patch.object(make_release, "output_of", return_value=status):
            return make_release.changes_of(version, snapshot=False)

    def test_another_version(self):
        with self.assertRaisesRegex(SystemExit, "this tree is version .*, not 9.9.9"):
            self.changes_of("9.9.9")

    def test_a_changed_tree(self):
        with self.assertRaisesRegex(SystemExit, "not committed"):
            self.changes_of("9.9.9", status=" M README.md")

    def push(self, resolved, stderr=""):
        """Pushes an artifact to a registry whose tag has the digest `resolved`, or that fails."""
        registry = push.Registry("r.example/p", insecure=False)
        done = mock.Mock(returncode=0 if resolved else 1, stdout=resolved, stderr=stderr)
        artifact = {"repository": "a", "tag": "1", "digest": "sha256:1", "platforms": []}
        with mock.patch.object(push.subprocess, "run", return_value=done) as run:
            push.push_artifact("out", artifact, registry)
        return [" ".join(call.args[0]) for call in run.call_args_list]

    def test_a_tag_that_is_released_does_not_change(self):
        with self.assertRaisesRegex(SystemExit, "is released already, as sha256:2"):
            self.push("sha256:2\n")
        self.assertIn("oras copy --recursive --from-oci-layout out/oci/a:1 r.example/p/a:1",
                      self.push("sha256:1\n"))

    def test_a_registry_that_fails_is_not_an_empty_one(self):
        with self.assertRaisesRegex(SystemExit, "a:1: connection refused"):
            self.push("", "connection refused")


if __name__ == "__main__":
    unittest.main()
