#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `operator-sdk scorecard` checks in the suites basic and olm, by reading the bundle, as these
tests do: no cluster and no image of theirs is needed. They are stricter where a comment says so.
Source: operator-sdk, internal/scorecard/tests; operator-registry, pkg/lib/bundle.
"""

import json
import re
import tarfile
import unittest

import yaml

PACKAGE = "multiarch-tuning-operator"
# Without those of newer versions of OLM.
SUPPORTED_KINDS = {
    "ClusterRole", "ClusterRoleBinding", "ClusterServiceVersion", "ConfigMap", "ConsoleYAMLSample",
    "CustomResourceDefinition", "PodDisruptionBudget", "PriorityClass", "PrometheusRule", "Role",
    "RoleBinding", "Secret", "Service", "ServiceAccount", "ServiceMonitor",
    "VerticalPodAutoscaler"}
SEMVER = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?"
BY_DIGEST = r".+@sha256:[0-9a-f]{64}"


class Bundle(unittest.TestCase):
    """The bundle of `path`."""

    path = "operator/olm/bundle.tgz"

    @classmethod
    def setUpClass(cls):
        cls.files = {}
        with tarfile.open(cls.path) as tar:
            for entry in tar:
                if entry.name.endswith(".yaml"):
                    cls.files[entry.name] = yaml.safe_load(tar.extractfile(entry))
        cls.manifests = [item for name, item in cls.files.items() if name.startswith("manifests/")]
        [cls.csv] = [item for item in cls.manifests if item["kind"] == "ClusterServiceVersion"]
        cls.owned = cls.csv["spec"]["customresourcedefinitions"]["owned"]
        cls.crds = {item["metadata"]["name"]: item for item in cls.manifests
                    if item["kind"] == "CustomResourceDefinition"}
        cls.examples = json.loads(cls.csv["metadata"]["annotations"]["alm-examples"])

    def description_of(self, example):
        """What the ClusterServiceVersion says of the kind and, stricter, of the version."""
        version = example["apiVersion"].split("/")[1]
        [found] = [crd for crd in self.owned
                   if (crd["kind"], crd["version"]) == (example["kind"], version)]
        return found

    def schema_of(self, description):
        [version] = [version for version in self.crds[description["name"]]["spec"]["versions"]
                     if version["name"] == description["version"]]
        return version["schema"]["openAPIV3Schema"]

    def test_basic_check_spec(self):
        self.assertTrue(self.examples)
        for example in self.examples:
            self.assertTrue(example.get("spec"), example)

    def test_olm_crds_have_validation(self):
        for example in self.examples:
            schema = self.schema_of(self.description_of(example))
            self.assertLessEqual(example["spec"].keys(),
                                 schema["properties"]["spec"]["properties"].keys(), example)
        # Stricter: every version, and every field at the top.
        for crd in self.crds.values():
            for version in crd["spec"]["versions"]:
                properties = version["schema"]["openAPIV3Schema"]["properties"]
                for part in properties.keys() & {"spec", "status"}:
                    for name, field in properties[part].get("properties", {}).items():
                        self.assertIn("type", field, f'{crd["metadata"]["name"]} {part}.{name}')

    def test_olm_crds_have_resources(self):
        for crd in self.owned:
            self.assertTrue(crd.get("resources"), crd["kind"])

    def test_olm_spec_descriptors(self):
        for example in self.examples:
            described = {item["path"] for item in self.description_of(example)["specDescriptors"]}
            self.assertLessEqual(example["spec"].keys(), described, example["kind"])

    def test_olm_status_descriptors(self):
        # Stricter: not only kinds whose example has a status.
        for example in self.examples:
            description = self.description_of(example)
            fields = self.schema_of(description)["properties"]["status"]["properties"]
            self.assertTrue(description.get("statusDescriptors"), example["kind"])
            for item in description["statusDescriptors"]:
                self.assertIn(item["path"].split(".")[0], fields)

    def test_descriptors_name_fields_that_exist(self):
        for description in self.owned:
            for item in description.get("specDescriptors", ()):
                schema = self.schema_of(description)["properties"]["spec"]
                for part in item["path"].split("."):
                    self.assertIn(part, schema["properties"], f'{description["kind"]} {item}')
                    schema = schema["properties"][part]


class BundleValidation(Bundle):
    """olm-bundle-validation."""

    def test_annotations(self):
        annotations = self.files["metadata/annotations.yaml"]["annotations"]
        prefix = "operators.operatorframework.io.bundle."
        self.assertEqual(
            {name.removeprefix(prefix): value for name, value in annotations.items()
             if name.startswith(prefix)},
            {"mediatype.v1": "registry+v1", "manifests.v1": "manifests/",
             "metadata.v1": "metadata/", "package.v1": PACKAGE, "channels.v1": "stable",
             "channel.default.v1": "stable"})

    def test_kinds_are_supported(self):
        self.assertLessEqual({item["kind"] for item in self.manifests}, SUPPORTED_KINDS)

    def test_no_object_is_there_twice(self):
        keys = [(item["kind"], item["metadata"]["name"]) for item in self.manifests]
        self.assertEqual(sorted(keys), sorted(set(keys)))

    def test_names_match_the_version(self):
        version = self.csv["spec"]["version"]
        self.assertRegex(version, f"^{SEMVER}$")
        self.assertEqual(self.csv["metadata"]["name"], f"{PACKAGE}.v{version}")
        self.assertEqual(self.csv["metadata"]["annotations"]["olm.skipRange"],
                         f">=0.1.0 <{version}")
        self.assertRegex(self.csv["spec"]["minKubeVersion"], f"^{SEMVER}$")

    def test_the_csv_owns_all_crds(self):
        owned = [(crd["name"], crd["version"]) for crd in self.owned]
        self.assertEqual(len(owned), len(set(owned)))
        served = {(name, version["name"]) for name, crd in self.crds.items()
                  for version in crd["spec"]["versions"] if version["served"]}
        self.assertEqual(set(owned), served)
        for crd in self.owned:
            self.assertEqual(crd["kind"], self.crds[crd["name"]]["spec"]["names"]["kind"])
            self.assertEqual(crd["name"].split(".", 1)[1],
                             self.crds[crd["name"]]["spec"]["group"])

    def test_the_csv_has_what_its_validator_requires(self):
        spec = self.csv["spec"]
        for field in ("displayName", "description", "keywords", "maturity", "provider", "links"):
            self.assertTrue(spec.get(field), field)
        self.assertEqual({mode["type"] for mode in spec["installModes"] if mode["supported"]},
                         {"AllNamespaces"})
        self.assertEqual(len(spec["installModes"]), 4)
        self.assertIn(self.csv["metadata"]["annotations"]["capabilities"],
                      ("Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights",
                       "Auto Pilot"))
        for example in self.examples:
            self.description_of(example)

    def test_a_kind_has_an_example_or_is_internal(self):
        annotation = "operators.operatorframework.io/internal-objects"
        internal = json.loads(self.csv["metadata"]["annotations"][annotation])
        kinds = {example["kind"] for example in self.examples}
        self.assertEqual(sorted(internal), sorted({
            crd["name"] for crd in self.owned if crd["kind"] not in kinds}))

    def test_every_image_is_a_related_one(self):
        related = {entry["image"] for entry in self.csv["spec"]["relatedImages"]}
        for deployment in self.csv["spec"]["install"]["spec"]["deployments"]:
            for container in deployment["spec"]["template"]["spec"]["containers"]:
                self.assertIn(container["image"], related)
                for variable in container["env"]:
                    if variable["name"].startswith("RELATED_IMAGE_"):
                        self.assertIn(variable["value"], related)


class ReleaseBundleValidation(BundleValidation):
    path = "operator/olm/release_bundle.tgz"

    def test_related_images_have_digests(self):
        for entry in self.csv["spec"]["relatedImages"]:
            self.assertRegex(entry["image"], f"^{BY_DIGEST}$")

    def test_no_image_is_on_the_nodes_alone(self):
        text = yaml.safe_dump(self.files)
        self.assertIsNone(re.search("localhost/", text))

    def test_the_labels_name_all_architectures(self):
        prefix = "operatorframework.io/arch."
        self.assertEqual({name.removeprefix(prefix) for name in self.csv["metadata"]["labels"]
                          if name.startswith(prefix)}, {"amd64", "arm64", "ppc64le", "s390x"})


if __name__ == "__main__":
    unittest.main()
