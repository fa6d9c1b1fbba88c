#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kustomize, Helm and the tools of the fleet install the same objects.

Needs kubectl and helm, which `make setup` builds. They are found beside $KUBEBUILDER_ASSETS or in
~/.cache/pod-placement; without the former variable, missing tools skip the tests.
"""

import copy
import json
import os
import pwd
import shutil
import subprocess
import tempfile
import unittest

import yaml

REGISTRY = "registry.example.com/placement"
TREES = ("fleet/manifests", "fleet/api/crds")


class Product:
    """The hub or the agent: its manifests and the tool that installs them."""

    def __init__(self, name, namespace, tool, always):
        self.name, self.namespace, self.tool, self.always = name, namespace, tool, always
        self.components = sorted(os.listdir(f"fleet/manifests/{name}/components"))
        with open(f"fleet/{name}/index.ref", encoding="utf-8") as file:
            fields = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
        self.image, self.tag = fields["NAME"], fields["TAG"]
        # After `make images`, the tool adds this component itself.
        if "," in fields["ARCHITECTURES"]:
            self.always = [*always, "all-architectures"]


PRODUCTS = (
    Product("hub", "multiarch-fleet", "fleet/deploy/deploy_hub", ["crds"]),
    Product("agent", "multiarch-fleet-member", "fleet/standalone/deploy/join", []),
)


def path_of(tool):
    """Its path. Without `make setup` the test is skipped; it fails if only this tool is missing."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    home = pwd.getpwuid(os.getuid()).pw_dir
    folder = (os.path.join(os.path.dirname(os.path.realpath(assets)), "bin") if assets
              else os.path.join(home, ".cache/pod-placement/tools/bin"))
    path = os.path.join(folder, tool)
    if os.access(path, os.X_OK):
        return path
    if assets:
        raise AssertionError(f"no {path}: `make setup` builds it")
    print(f"SKIPPED: no {path}: `make setup` builds it")
    raise unittest.SkipTest(f"no {tool}")


def run(*command, **kwargs):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **kwargs)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def by_key(objects):
    result = {}
    for item in objects:
        metadata = item["metadata"]
        key = (item["kind"], metadata.get("namespace", ""), metadata["name"])
        assert key not in result, f"{key} is there twice"
        result[key] = item
    return result


class RenderTest(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.kubectl = path_of("kubectl")
        cls.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        # kustomize does not follow the links of the runfiles to other folders.
        for tree in TREES:
            shutil.copytree(tree, f"{cls.folder}/{tree}", symlinks=False)

    def kustomize(self, product, components, namespace=None):
        overlay = {
            "resources": [f"../fleet/manifests/{product.name}/base"],
            "components": [f"../fleet/manifests/{product.name}/components/{name}"
                           for name in components],
            "images": [{"name": f"localhost/pod-placement/fleet-{product.name}",
                        "newName": f"{REGISTRY}/{product.image}", "newTag": product.tag}],
        }
        if namespace:
            overlay["namespace"] = namespace
        os.makedirs(f"{self.folder}/overlay", exist_ok=True)
        with open(f"{self.folder}/overlay/kustomization.yaml", "w", encoding="utf-8") as file:
            json.dump(overlay, file)
        text = run(self.kubectl, "kustomize", f"{self.folder}/overlay")
        objects = [document for document in yaml.safe_load_all(text) if document]
        for item in objects:
            # kustomize believes that they are in a namespace; API servers ignore that.
            if item["kind"].startswith("ValidatingAdmissionPolicy"):
                item["metadata"].pop("namespace", None)
        return by_key(objects)

    def tool(self, product, components, *flags):
        return by_key(json.loads(run(
            product.tool, f"--registry={REGISTRY}", f"--with={','.join(components)}", "--print",
            *flags))["items"])

    def compare(self, product, components, namespace=None):
        components = sorted({*components, *product.always})
        want = self.kustomize(product, components, namespace)
        flags = [f"--namespace={namespace}"] if namespace else []
        got = self.tool(product, components, *flags)
        self.assertEqual(sorted(got), sorted(want))
        for key, item in want.items():
            self.assertEqual(got[key], item, key)
        return want

    def test_without_options(self):
        for product in PRODUCTS:
            with self.subTest(product.name):
                objects = self.compare(product, [])
                self.assertIn(("Deployment", product.namespace, f"multiarch-fleet-{product.name}"),
                              objects)

    def test_with_each_component(self):
        for product in PRODUCTS:
            base = self.kustomize(product, [])
            self.assertGreaterEqual(len(product.components), 4)
            for component in product.components:
                with self.subTest(f"{product.name} {component}"):
                    self.assertNotEqual(self.kustomize(product, [component]), base)
                    self.compare(product, [component])

    def test_with_all_components_in_another_namespace(self):
        for product in PRODUCTS:
            with self.subTest(product.name):
                text = json.dumps(list(self.compare(
                    product, product.components, "elsewhere").values()))
                self.assertNotIn(f'"{product.namespace}"', text)
                self.assertNotIn("localhost/", text)

    def test_the_flags_of_the_hub_are_components(self):
        hub = PRODUCTS[0]
        self.assertEqual(
            self.tool(hub, [], "--membership=own", "--placements=all"),
            self.tool(hub, ["own-membership", "all-placements"]))

    def helm(self, product, components, namespace=None, **values):
        # Options that are true by default are set, too.
        chosen = {name: name in components for name in product.components}
        values = {"registry": REGISTRY, "components": chosen, **values}
        text = run(
            path_of("helm"), "template", "release",
            f"fleet/helm/multiarch-fleet-{product.name}.tgz", "--kube-version=1.36.0",
            f"--namespace={namespace or product.namespace}",
            "--set-json=" + ",".join(f"{key}={json.dumps(value)}" for key, value in values.items()),
            env={"HOME": self.folder, "PATH": os.environ["PATH"]})
        return by_key(document for document in yaml.safe_load_all(text) if document)

    def test_helm_installs_the_same(self):
        for product in PRODUCTS:
            for components in ([], *[[name] for name in product.components], product.components):
                for namespace in (None, "elsewhere"):
                    with self.subTest(f"{product.name} {components} {namespace}"):
                        want = copy.deepcopy(self.kustomize(product, components, namespace))
                        # A chart does not contain its release's namespace.
                        del want["Namespace", "", namespace or product.namespace]
                        got = self.helm(product, components, namespace)
                        for item in got.values():
                            if item["kind"] == "CustomResourceDefinition":
                                self.assertEqual(item["metadata"].pop("annotations"),
                                                 {"helm.sh/resource-policy": "keep"})
                        self.assertEqual(sorted(got), sorted(want))
                        for key, item in want.items():
                            self.assertEqual(got[key], item, key)

    def test_values_of_the_charts(self):
        for product in PRODUCTS:
            image = f"mirror.example.com/{product.name}@sha256:0123"
            objects = self.helm(product, [], replicas=3, args=["--log-verbosity=Debug"],
                                images={f"fleet-{product.name}": image},
                                resources={"limits": {"memory": "1Gi"}})
            spec = objects["Deployment", product.namespace,
                           f"multiarch-fleet-{product.name}"]["spec"]
            container = spec["template"]["spec"]["containers"][0]
            self.assertEqual(spec["replicas"], 3)
            self.assertEqual(container["image"], image)
            self.assertEqual(container["args"][-1], "--log-verbosity=Debug")
            self.assertEqual(container["resources"], {"limits": {"memory": "1Gi"}})
            with self.assertRaises(AssertionError):
                self.helm(product, [], registri="r")


if __name__ == "__main__":
    unittest.main()
