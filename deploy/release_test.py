#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a release publishes installs the same objects as kustomize in a clone, without options: the
chart, install.yaml, the folder for kustomize, and the bundle's Deployment. The release of this test
has images for all architectures. render_test.py says which tools it needs, and compares options.

  release_test.py PRODUCT...        operator, hub, agent
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import unittest

import yaml

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)

from render_test import (  # pylint: disable=wrong-import-position
    OPERATOR, PRODUCTS, REGISTRY, RenderBase, objects_of, reference_of, run)


def unpack(path, folder):
    with tarfile.open(path) as tar:
        tar.extractall(folder)


class ReleaseTest(RenderBase):
    """One product; a subclass for each sets `product`."""

    def setUp(self):
        chart = ("operator/helm/release.tgz" if self.product is OPERATOR
                 else f"fleet/helm/release-{self.product.name}.tgz")
        self.chart = f"{self.folder}/{self.product.deployment}"
        unpack(chart, self.folder)
        self.images = []
        for program in self.product.programs:
            fields = reference_of(program)
            self.images.append({
                "name": f'localhost/{fields["NAME"]}', "newName": f'{REGISTRY}/{fields["NAME"]}',
                "newTag": fields["VERSION"], "digest": fields["DIGEST"]})

    def read(self, name):
        with open(f"{self.chart}/{name}", encoding="utf-8") as file:
            return file.read()

    def want(self, components=("all-architectures",)):
        return self.kustomize(components, images=self.images)

    def template(self, *flags):
        return objects_of(run(
            self.helm_program, "template", "release", self.chart, "--kube-version=1.36.0",
            f"--namespace={self.product.namespace}", *flags,
            env={"HOME": self.folder, "PATH": os.environ["PATH"]}))

    def test_the_chart_without_values(self):
        # Components that are on by default.
        values = yaml.safe_load(self.read("values.yaml"))
        components = sorted(name for name, is_on in values["components"].items() if is_on)
        self.assertIn("all-architectures", components)
        self.assert_chart(self.template("--no-hooks"), self.want(components), None)

    def test_the_registry_of_a_mirror(self):
        text = json.dumps(list(self.template(
            "--no-hooks", "--set=registry=mirror.example.com/a").values()))
        name = self.images[0]["newName"].removeprefix(f"{REGISTRY}/")
        fields = self.images[0]
        self.assertIn(f'"mirror.example.com/a/{name}:{fields["newTag"]}@{fields["digest"]}"', text)
        self.assertNotIn(REGISTRY, text)

    def test_helm_lint(self):
        run(self.helm_program, "lint", "--strict", "--kube-version=1.36.0", self.chart,
            env={"HOME": self.folder, "PATH": os.environ["PATH"]})

    def test_the_schema_describes_every_value(self):
        schema = json.loads(self.read("values.schema.json"))

        def check(path, item):
            if "$ref" in item:
                item = {**schema["$defs"][item["$ref"].rpartition("/")[2]], **item}
            self.assertIn("type", item, path)
            self.assertTrue(item.get("description"), path)
            for name, child in item.get("properties", {}).items():
                check(f"{path}.{name}", child)

        for name, item in schema["properties"].items():
            check(name, item)
        values = yaml.safe_load(self.read("values.yaml"))
        for name, value in values.items():
            properties = schema["properties"][name].get("properties", {})
            self.assertLessEqual(value.keys() if isinstance(value, dict) else set(),
                                 properties.keys())

    def test_the_readme_has_every_value_and_the_address_of_the_chart(self):
        readme, chart = self.read("README.md"), yaml.safe_load(self.read("Chart.yaml"))
        values = yaml.safe_load(self.read("values.yaml"))
        self.assertIn(f"| `registry` | `\"{REGISTRY}\"` |", readme)
        for name in values["components"]:
            self.assertIn(f"| `components.{name}` | ", readme)
        self.assertIn(f'oci://{REGISTRY}/charts/{chart["name"]} --version {chart["version"]} ',
                      readme)
        for word in ("oci://REGISTRY", "VERSION", "](../"):
            self.assertNotIn(word, readme)

    def test_the_annotations_for_artifact_hub(self):
        annotations = yaml.safe_load(self.read("Chart.yaml"))["annotations"]
        prefix = "artifacthub.io/"
        images = yaml.safe_load(annotations[prefix + "images"])
        self.assertEqual(
            sorted(image["image"] for image in images),
            sorted(f'{i["newName"]}:{i["newTag"]}@{i["digest"]}' for i in self.images))
        self.assertEqual(images[0]["platforms"], [
            "linux/amd64", "linux/arm64", "linux/ppc64le", "linux/s390x"])
        crds = {(crd["kind"], crd["version"])
                for crd in yaml.safe_load(annotations.get(prefix + "crds", "[]"))}
        served = {(item["spec"]["names"]["kind"], version["name"])
                  for item in self.kustomize(self.product.components()).values()
                  if item["kind"] == "CustomResourceDefinition"
                  for version in item["spec"]["versions"] if version["served"]}
        self.assertEqual(crds, served)
        for example in yaml.safe_load(annotations.get(prefix + "crdsExamples", "[]")):
            self.assertIn((example["kind"], example["apiVersion"].split("/")[1]), crds)
        changes = yaml.safe_load(annotations[prefix + "changes"])
        self.assertTrue(changes)
        self.assertNotIn(prefix + "signKey", annotations)

    def test_the_notes_need_no_clone(self):
        self.assertNotIn("bazel", self.read("templates/NOTES.txt"))


class OperatorReleaseTest(ReleaseTest):
    """What there is of the operator alone."""

    product = OPERATOR

    def test_install_yaml(self):
        with open("operator/manifests/release_install.yaml", encoding="utf-8") as file:
            self.assert_same(objects_of(file.read()), self.want())

    def kustomize_folder(self, archive):
        folder = f"{self.folder}/{archive}"
        unpack(f"operator/manifests/{self.product.deployment}-{archive}.tar.gz", folder)
        [name] = os.listdir(folder)
        return f"{folder}/{name}"

    def test_the_folder_for_kustomize(self):
        folder = self.kustomize_folder("release_kustomize")
        self.assert_same(self.rendered(folder), self.want())

    def test_each_component_in_the_folder_for_kustomize(self):
        folder = self.kustomize_folder("release_kustomize")
        with open(f"{folder}/kustomization.yaml", encoding="utf-8") as file:
            text = file.read()
        for name in self.product.components():
            line = f"- operator/manifests/components/{name}\n"
            self.assertRegex(text, f"(?m)^# [^\n]+\n(# )?{line}")
            with open(f"{folder}/kustomization.yaml", "w", encoding="utf-8") as file:
                file.write(text.replace("# " + line, line))
            components = sorted({name, "all-architectures"})
            self.assert_same(self.rendered(folder), self.want(components))

    def test_files_of_no_release_have_the_images_on_the_nodes(self):
        images = []
        for program in self.product.programs:
            fields = reference_of(program, "image")
            images.append({"name": f'localhost/{fields["NAME"]}', "newTag": fields["TAG"]})
        want = self.kustomize(images=images)
        with open("operator/manifests/install.yaml", encoding="utf-8") as file:
            self.assert_same(objects_of(file.read()), want)
        self.assert_same(self.rendered(self.kustomize_folder("kustomize")), want)

    def test_the_bundle(self):
        unpack("operator/olm/release_bundle.tgz", f"{self.folder}/bundle")
        path = f"{self.folder}/bundle/manifests/{self.product.deployment}"
        with open(f"{path}.clusterserviceversion.yaml", encoding="utf-8") as file:
            csv = yaml.safe_load(file)
        want = self.want(["openshift", "all-architectures"])
        spec = want["Deployment", self.product.namespace, self.product.deployment]["spec"]
        self.assertEqual(csv["spec"]["install"]["spec"]["deployments"][0]["spec"], spec)
        related = {entry["image"] for entry in csv["spec"]["relatedImages"]}
        self.assertLessEqual(related, {f'{i["newName"]}:{i["newTag"]}@{i["digest"]}'
                                       for i in self.images})
        self.assertEqual(len(related), 5)

    def test_the_pods_of_hooks_are_the_operators(self):
        """Also with a component that has a Deployment of its own."""
        objects = self.template("--set=components.console=true,args={--log-verbosity=Debug}")
        image = objects["Deployment", self.product.namespace, self.product.deployment][
            "spec"]["template"]["spec"]["containers"][0]["image"]
        console = objects["Deployment", self.product.namespace, "pod-placement-console"]["spec"]
        self.assertNotIn("--log-verbosity=Debug",
                         console["template"]["spec"]["containers"][0]["args"])
        job = objects["Job", self.product.namespace, f"{self.product.deployment}-delete-configs"]
        pod = objects["Pod", self.product.namespace, f"{self.product.deployment}-self-test"]
        for spec, flag in ((job["spec"]["template"]["spec"], "--delete-configs"),
                           (pod["spec"], "--self-test=")):
            [container] = spec["containers"]
            self.assertEqual(container["image"], image)
            self.assertTrue(container["args"][0].startswith(flag))
            self.assertNotIn("env", container)
            account = objects["ServiceAccount", self.product.namespace, spec["serviceAccountName"]]
            self.assertIn("helm.sh/hook", account["metadata"]["annotations"])

    def test_the_self_test_may_read_what_it_checks(self):
        objects = self.template()
        name = f"{self.product.deployment}-self-test"
        crds = {key[2] for key in objects if key[0] == "CustomResourceDefinition"}
        versions = objects["Pod", self.product.namespace, name]["spec"]["containers"][0]["args"][0]
        tested = re.sub(r"/\w+", "", versions.removeprefix("--self-test=")).split(",")
        self.assertEqual(set(tested), crds)
        self.assertEqual(set(objects["ClusterRole", "", name]["rules"][0]["resourceNames"]), crds)


def load_tests(loader, *_):
    suite = unittest.TestSuite()
    for name in sys.argv[1:]:
        base = OperatorReleaseTest if PRODUCTS[name] is OPERATOR else ReleaseTest
        case = type(f"ReleaseTest_{name}", (base,), {"product": PRODUCTS[name]})
        suite.addTests(loader.loadTestsFromTestCase(case))
    return suite


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
