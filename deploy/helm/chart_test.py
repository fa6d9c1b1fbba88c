#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the parts of build_chart.py. deploy/release_test.py tests charts."""

import json
import os
import sys
import types
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import artifact_hub  # pylint: disable=wrong-import-position
import changelog  # pylint: disable=wrong-import-position
import chart_readme  # pylint: disable=wrong-import-position
import values_file  # pylint: disable=wrong-import-position
import values_schema  # pylint: disable=wrong-import-position
from values_file import Value  # pylint: disable=wrong-import-position

VALUES = """\
# Values of the chart.

# Where the images
# are.
registry: localhost

# Another reference of this image.
images:
  operator: ""

# Options.
components:
  # Pages | for users.
  console: false

# Flags.
args: []
"""

CHANGELOG = """\
# Changelog

## Unreleased

### Added
- Something [new](docs/new.md) in
  two lines. More about it.

## 1.1.0 - 2026-01-01

### Removed
- An option.

### Fixed
- A bug: e.g. `x.y`.

## [1.0.0]
"""


class ValuesTest(unittest.TestCase):
    def test_each_value_has_its_default_and_comment(self):
        self.assertEqual(values_file.values_of(VALUES), [
            Value("registry", "localhost", "Where the images are."),
            Value("images.operator", "", "Another reference of this image."),
            Value("components.console", False, "Pages | for users."),
            Value("args", [], "Flags.")])

    def test_a_comment_is_required(self):
        with self.assertRaisesRegex(SystemExit, "more has no comment"):
            values_file.values_of(VALUES + "\nmore: 1\n")

    def test_sets_a_default(self):
        text = values_file.with_default(VALUES, "registry", "r.example.com/a")
        text = values_file.with_default(text, "console", "true")
        self.assertEqual(text, VALUES.replace("registry: localhost", "registry: r.example.com/a")
                         .replace("console: false", "console: true"))
        with self.assertRaises(SystemExit):
            values_file.with_default(VALUES, "nothing", "1")

    def test_the_schema_has_the_components(self):
        text = values_schema.with_components(
            '{"properties": {"components": {"type": "object"}}}', values_file.values_of(VALUES))
        self.assertEqual(json.loads(text)["properties"]["components"]["properties"], {
            "console": {"type": "boolean", "description": "Pages | for users.", "default": False}})


class ReadmeTest(unittest.TestCase):
    def test_fills_in_version_registry_values_and_links(self):
        text = f"""\
helm install x oci://REGISTRY/charts/x --version VERSION
[a](../../docs/a.md#b) [c](https://c.example.com) [d](#values)

{chart_readme.VALUES}
"""
        refs = types.SimpleNamespace(is_release=True, registry="r.example.com/a")
        chart = {"version": "1.2.3", "home": "https://git.example.com/x"}
        values = values_file.values_of(VALUES)
        self.assertEqual(chart_readme.readme(text, "helm/chart/", chart, refs, values), """\
helm install x oci://r.example.com/a/charts/x --version 1.2.3
[a](https://git.example.com/x/blob/v1.2.3/docs/a.md#b) [c](https://c.example.com) [d](#values)

| value | default | meaning |
|---|---|---|
| `registry` | `"localhost"` | Where the images are. |
| `images.operator` | `""` | Another reference of this image. |
| `components.console` | `false` | Pages \\| for users. |
| `args` | `[]` | Flags. |
""")
        refs.is_release = False
        self.assertIn("oci://REGISTRY/charts",
                      chart_readme.readme(text, "helm/chart/", chart, refs, values))


class ChangelogTest(unittest.TestCase):
    def test_the_entries_of_the_version(self):
        self.assertEqual(changelog.changes_of(CHANGELOG, "1.1.0"), [
            ("removed", "An option."), ("fixed", "A bug: e.g. `x.y`.")])

    def test_a_version_that_is_not_there_yet_has_the_unreleased_ones(self):
        self.assertEqual(changelog.changes_of(CHANGELOG, "1.2.0"),
                         [("added", "Something new in two lines.")])

    def test_a_version_without_entries(self):
        self.assertEqual(changelog.changes_of(CHANGELOG, "1.0.0"), [])

    def test_refuses_unknown_kinds(self):
        with self.assertRaisesRegex(SystemExit, "news"):
            changelog.changes_of("## 1\n### News\n- a\n", "1")


class ArtifactHubTest(unittest.TestCase):
    def test_absent_contents_have_no_annotation(self):
        self.assertEqual(artifact_hub.annotations("1.2.3", images=[], signKey={}),
                         {"artifacthub.io/prerelease": "false"})
        self.assertEqual(artifact_hub.annotations("1.2.3-rc.1", changes=[{"kind": "added"}]), {
            "artifacthub.io/prerelease": "true", "artifacthub.io/changes": "- kind: added\n"})

    def test_a_key_needs_both_parts(self):
        self.assertEqual(artifact_hub.sign_key("", ""), {})
        self.assertEqual(artifact_hub.sign_key("AB", "https://k"),
                         {"fingerprint": "AB", "url": "https://k"})
        with self.assertRaises(SystemExit):
            artifact_hub.sign_key("AB", "")

    def test_served_versions_of_crds(self):
        version = {"schema": {"openAPIV3Schema": {"description": "About a."}}}
        crd = {"kind": "CustomResourceDefinition", "metadata": {"name": "as.example.com"},
               "spec": {"names": {"kind": "A"}, "versions": [
                   {"name": "v1", "served": True, **version},
                   {"name": "v0", "served": False, **version}]}}
        self.assertEqual(artifact_hub.crds([crd, {"kind": "Service"}]), [{
            "kind": "A", "version": "v1", "name": "as.example.com", "displayName": "A",
            "description": "About a."}])


if __name__ == "__main__":
    unittest.main()
