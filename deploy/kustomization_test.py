#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests kustomization.py. render_test.py compares it with kustomize."""

import os
import tempfile
import unittest

import kustomization


class KustomizationTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("a.yaml", "{kind: ConfigMap, metadata: {name: a}, data: {list: [x]}}")
        self.write("b.yaml", "{kind: ConfigMap, metadata: {name: b}}")

    def write(self, path, text):
        path = f"{self.folder}/{path}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def render(self, text):
        self.write("kustomization.yaml", text)
        return kustomization.render(self.folder)

    def refuses(self, text, reason):
        with self.assertRaisesRegex(SystemExit, reason):
            self.render(text)

    def test_adds_resources_of_files_and_folders_in_order(self):
        self.write("sub/kustomization.yaml", "resources: [../a.yaml]")
        objects = self.render("resources: [sub, b.yaml]\nconfigurations: [fields.yaml]")
        self.assertEqual([item["metadata"]["name"] for item in objects], ["a", "b"])

    def test_a_component_patches_what_is_there_already(self):
        self.write("more/kustomization.yaml", """
patches:
- target: {kind: ConfigMap, name: a}
  patch: |
    - {op: add, path: /data/list/-, value: "y"}
- target: {kind: ConfigMap, name: b}
  path: patch.yaml
""")
        self.write("more/patch.yaml", "[{op: add, path: /data, value: {z~1: '1'}}, "
                                      "{op: replace, path: /data/z~01, value: '2'}]")
        objects = self.render("resources: [a.yaml, b.yaml]\ncomponents: [more]")
        self.assertEqual([item["data"] for item in objects], [{"list": ["x", "y"]}, {"z~1": "2"}])

    def test_a_kustomization_patches_only_its_own_objects(self):
        self.write("sub/kustomization.yaml", """
resources: [../a.yaml]
patches:
- target: {kind: ConfigMap, name: a}
  patch: "[{op: replace, path: /metadata/name, value: c}, {op: copy, from: /data, path: /more}]"
""")
        objects = self.render("resources: [a.yaml, sub]")
        self.assertEqual([item["metadata"]["name"] for item in objects], ["a", "c"])
        self.assertEqual(objects[1]["more"], {"list": ["x"]})
        self.assertIsNot(objects[1]["more"], objects[1]["data"])

    def test_makes_config_maps_of_files(self):
        self.write("text.json", "{}\n")
        generator = "{name: g, namespace: n, files: [key=text.json], options: %s}"
        objects = self.render("configMapGenerator: [" + generator %
                              "{disableNameSuffixHash: true, labels: {l: v}}" + "]")
        self.assertEqual(objects, [{
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"key": "{}\n"},
            "metadata": {"name": "g", "namespace": "n", "labels": {"l": "v"}}}])
        self.refuses("configMapGenerator: [" + generator % "{}" + "]", "not supported")

    def test_names_a_missing_file(self):
        with self.assertRaisesRegex(FileNotFoundError, "c.yaml"):
            self.render("resources: [c.yaml]")

    def test_refuses_what_it_would_otherwise_ignore(self):
        self.refuses("namePrefix: x-", "namePrefix")
        target = "patches: [{target: {kind: ConfigMap, name: a}, "
        self.refuses(target + "options: {}, patch: '[]'}]", "nothing else")
        self.refuses(target + "patch: '{metadata: {name: a}}'}]", "list")
        self.refuses("patches: [{target: {kind: ConfigMap}, patch: '[]'}]", "nothing else")

    def test_refuses_a_patch_that_cannot_be_applied(self):
        patch = ("resources: [a.yaml]\npatches: [{target: {kind: ConfigMap, name: %s}, "
                 "patch: '[{op: %s, path: /data/%s, value: 1}]'}]")
        self.refuses(patch % ("c", "add", "list"), "'c'")
        self.refuses(patch % ("a", "replace", "none"), "none")
        self.refuses(patch % ("a", "remove", "list"), "remove")
        self.refuses(patch % ("a", "add", "list/0"), "list/0")

    def test_refuses_endless_folders(self):
        with self.assertRaises(RecursionError):
            self.render(f"resources: [../{os.path.basename(self.folder)}]")


if __name__ == "__main__":
    unittest.main()
