#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the catalog of a release, and the images of bundle and catalog."""

import io
import json
import os
import sys
import tarfile
import unittest

import yaml

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../bazel/images"))

import oci_layout  # pylint: disable=wrong-import-position

ARCHITECTURES = ["amd64", "arm64", "ppc64le", "s390x"]
BUNDLE, CATALOG = "operator/olm/release_bundle", "operator/olm/release_catalog"


def read_tgz(path):
    with tarfile.open(path) as tar:
        return {entry.name: tar.extractfile(entry).read() for entry in tar if entry.isfile()}


class ImageTest(unittest.TestCase):
    def read_image(self, name):
        """(files, labels) of an image, which must be the same for all architectures."""
        entry, blobs = oci_layout.read_archive(f"{name}_image.tar")
        fields = oci_layout.read_reference(f"{name}_image.ref")
        self.assertEqual(fields["DIGEST"], entry["digest"])
        self.assertEqual(fields["ARCHITECTURES"], ",".join(ARCHITECTURES))
        self.assertEqual(entry["mediaType"], oci_layout.INDEX)
        index = json.loads(blobs[entry["digest"]])
        self.assertEqual([item["platform"] for item in index["manifests"]],
                         [{"architecture": name, "os": "linux"} for name in ARCHITECTURES])
        layers, labels = set(), []
        for item in index["manifests"]:
            manifest = json.loads(blobs[item["digest"]])
            config = json.loads(blobs[manifest["config"]["digest"]])
            self.assertEqual(config["architecture"], item["platform"]["architecture"])
            self.assertNotIn("Entrypoint", config["config"])
            [layer] = manifest["layers"]
            layers.add(layer["digest"])
            labels.append(config["config"]["Labels"])
        self.assertTrue(all(one == labels[0] for one in labels))
        [layer] = layers
        return read_tgz_bytes(blobs[layer]), labels[0]

    def test_the_image_of_the_bundle(self):
        files, labels = self.read_image(BUNDLE)
        bundle = read_tgz(f"{BUNDLE}.tgz")
        del bundle["bundle.Dockerfile"]
        self.assertEqual(files, bundle)
        annotations = yaml.safe_load(files["metadata/annotations.yaml"])["annotations"]
        self.assertLessEqual(annotations.items(), labels.items())
        for kind in ("manifests", "metadata"):
            folder = labels[f"operators.operatorframework.io.bundle.{kind}.v1"]
            self.assertTrue(any(name.startswith(folder) for name in files))

    def test_the_image_of_the_catalog(self):
        files, labels = self.read_image(CATALOG)
        folder = labels["operators.operatorframework.io.index.configs.v1"]
        self.assertEqual(folder, "/configs")
        with open(f"{CATALOG}.yaml", "rb") as file:
            self.assertEqual(
                files, {"configs/multiarch-tuning-operator/catalog.yaml": file.read()})


def read_tgz_bytes(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {entry.name: tar.extractfile(entry).read() for entry in tar if entry.isfile()}


class CatalogTest(unittest.TestCase):
    def setUp(self):
        with open(f"{CATALOG}.yaml", encoding="utf-8") as file:
            self.package, self.channel, self.bundle = yaml.safe_load_all(file)
        self.files = read_tgz(f"{BUNDLE}.tgz")
        self.csv = yaml.safe_load(
            self.files["manifests/multiarch-tuning-operator.clusterserviceversion.yaml"])

    def properties(self, kind):
        return [item["value"] for item in self.bundle["properties"] if item["type"] == kind]

    def test_package_and_channel(self):
        name, version = self.csv["metadata"]["name"], self.csv["spec"]["version"]
        self.assertEqual([item["schema"] for item in (self.package, self.channel, self.bundle)],
                         ["olm.package", "olm.channel", "olm.bundle"])
        self.assertEqual(self.package["defaultChannel"], self.channel["name"])
        self.assertEqual(self.channel["package"], self.package["name"])
        self.assertEqual(self.channel["entries"], [
            {"name": name, "skipRange": f">=0.1.0 <{version}"}])
        self.assertEqual((self.bundle["name"], self.bundle["package"]),
                         (name, self.package["name"]))
        self.assertEqual(self.properties("olm.package"), [
            {"packageName": self.package["name"], "version": version}])
        self.assertEqual(self.csv["metadata"]["annotations"]["olm.skipRange"],
                         self.channel["entries"][0]["skipRange"])

    def test_the_image_of_the_bundle_is_named_by_its_digest(self):
        fields = oci_layout.read_reference(f"{BUNDLE}_image.ref")
        self.assertEqual(self.bundle["image"],
                         f'registry.example.com/placement/{fields["NAME"]}@{fields["DIGEST"]}')
        self.assertEqual(self.bundle["relatedImages"], [
            *self.csv["spec"]["relatedImages"], {"name": "", "image": self.bundle["image"]}])

    def test_the_kinds_that_the_bundle_provides(self):
        owned = [(crd["kind"], crd["version"])
                 for crd in self.csv["spec"]["customresourcedefinitions"]["owned"]]
        self.assertEqual(sorted((gvk["kind"], gvk["version"])
                                for gvk in self.properties("olm.gvk")), sorted(owned))

    def test_the_metadata_is_that_of_the_csv(self):
        [metadata] = self.properties("olm.csv.metadata")
        self.assertEqual(metadata["annotations"], self.csv["metadata"]["annotations"])
        self.assertEqual(metadata["labels"], self.csv["metadata"]["labels"])
        self.assertEqual(metadata["crdDescriptions"],
                         self.csv["spec"]["customresourcedefinitions"])
        for name in ("displayName", "installModes", "minKubeVersion", "provider"):
            self.assertEqual(metadata[name], self.csv["spec"][name])


if __name__ == "__main__":
    unittest.main()
