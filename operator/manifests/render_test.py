#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kustomize, Helm, the deploy tool and the OLM bundle install the same objects.

Needs kubectl and helm, which `make setup` builds. They are found beside $KUBEBUILDER_ASSETS or in
~/.cache/pod-placement; without the former variable, missing tools skip the tests.
"""

import copy
import json
import os
import pwd
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import yaml

NAMESPACE = "openshift-multiarch-tuning-operator"
REGISTRY = "registry.example.com/placement"
PROGRAMS = ("operator", "webhook", "shard", "cluster-controller")
COMPONENTS = sorted(os.listdir("operator/manifests/components"))
# What the bundle has in addition to the base.
BUNDLE_COMPONENTS = ["openshift"]


def tools_folder():
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        return os.path.join(os.path.dirname(os.path.realpath(assets)), "bin")
    return os.path.join(pwd.getpwuid(os.getuid()).pw_dir, ".cache/pod-placement/tools/bin")


KUBECTL = os.path.join(tools_folder(), "kubectl")
HELM = os.path.join(tools_folder(), "helm")


def run(*command, **kwargs):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **kwargs)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def objects_of(text):
    return by_key(document for document in yaml.safe_load_all(text) if document)


def by_key(objects):
    """Objects by kind, namespace and name, with empty maps left out as API servers do."""
    result = {}
    for item in objects:
        metadata = item["metadata"]
        key = (item["kind"], metadata.get("namespace", ""), metadata["name"])
        assert key not in result, f"{key} is there twice"
        result[key] = item
    return result


def reference_of(program):
    with open(f"{program}/index.ref", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)


def image_of(program):
    fields = reference_of(program)
    return f'{REGISTRY}/{fields["NAME"]}', fields["TAG"]


# After `make images`, the deploy tool adds this component itself.
AUTOMATIC = ["all-architectures"] if "," in reference_of("operator")["ARCHITECTURES"] else []


class RenderTest(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        missing = [tool for tool in (KUBECTL, HELM) if not os.access(tool, os.X_OK)]
        if missing and not os.environ.get("KUBEBUILDER_ASSETS"):
            print(f"SKIPPED: no {', '.join(missing)}: `make setup` builds it")
            raise unittest.SkipTest("no kubectl or no helm")
        if missing:
            raise AssertionError(f"no {', '.join(missing)}: `make setup` builds it")
        cls.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        # kustomize does not follow the links of the runfiles to other folders.
        for tree in ("operator/manifests", "api/crds", "scheduling-policies/crds"):
            shutil.copytree(tree, f"{cls.folder}/{tree}", symlinks=False)

    def kustomize(self, components=(), namespace=NAMESPACE):
        overlay = {
            "resources": ["../operator/manifests/base"],
            "components": [f"../operator/manifests/components/{name}" for name in components],
            "images": [{"name": f"localhost/pod-placement/{program}",
                        "newName": image_of(program)[0], "newTag": image_of(program)[1]}
                       for program in PROGRAMS],
        }
        if namespace != NAMESPACE:
            overlay["namespace"] = namespace
        os.makedirs(f"{self.folder}/overlay", exist_ok=True)
        with open(f"{self.folder}/overlay/kustomization.yaml", "w", encoding="utf-8") as file:
            json.dump(overlay, file)
        return objects_of(run(KUBECTL, "kustomize", f"{self.folder}/overlay"))

    def helm(self, components=(), namespace=NAMESPACE, **values):
        values = {"registry": REGISTRY,
                  "components": {name: True for name in components}, **values}
        return objects_of(run(
            HELM, "template", "release", "operator/helm/multiarch-tuning-operator.tgz",
            "--kube-version=1.36.0", "--no-hooks", f"--namespace={namespace}",
            "--set-json=" + ",".join(f"{key}={json.dumps(value)}"
                                     for key, value in values.items()),
            env={"HOME": self.folder, "PATH": os.environ["PATH"]}))

    def deploy(self, components=(), namespace=NAMESPACE):
        return by_key(json.loads(run(
            "operator/deploy/deploy", f"--registry={REGISTRY}", f"--namespace={namespace}",
            f"--with={','.join(components)}", "--print"))["items"])

    def assert_same(self, got, want):
        self.assertEqual(sorted(got), sorted(want))
        for key, item in want.items():
            self.assertEqual(got[key], item, key)

    def without_helms_own(self, objects):
        """Checks what the chart has in addition, and returns the objects without it."""
        objects = copy.deepcopy(objects)
        for item in objects.values():
            if item["kind"] == "CustomResourceDefinition":
                annotations = item["metadata"].pop("annotations")
                self.assertEqual(annotations, {"helm.sh/resource-policy": "keep"})
        return objects

    def compare(self, components, namespace=NAMESPACE):
        components = sorted({*components, *AUTOMATIC})
        want = self.kustomize(components, namespace)
        self.assert_same(self.deploy(components, namespace), want)
        # A chart does not contain its release's namespace.
        del want[("Namespace", "", namespace)]
        self.assert_same(self.without_helms_own(self.helm(components, namespace)), want)

    def test_without_options(self):
        self.assertIn(("Deployment", NAMESPACE, "multiarch-tuning-operator"), self.kustomize())
        self.compare([])

    def test_with_each_component(self):
        base = self.kustomize()
        self.assertGreaterEqual(len(COMPONENTS), 3)
        for component in COMPONENTS:
            with self.subTest(component):
                self.assertNotEqual(self.kustomize([component]), base)
                self.compare([component])

    def test_with_all_components(self):
        self.compare(COMPONENTS)

    def test_in_another_namespace(self):
        # kustomize would also move the Role in openshift-config of the component openshift.
        components = [name for name in COMPONENTS if name != "openshift"]
        self.compare(components, "placement")
        for objects in (self.kustomize(components, "placement"), self.helm(namespace="placement")):
            self.assertNotIn(NAMESPACE, json.dumps(list(objects.values())))

    def test_openshift_in_another_namespace(self):
        want = self.deploy(["openshift"], "placement")
        self.assertIn(("Role", "openshift-config", "pod-placement-controller"), want)
        del want[("Namespace", "", "placement")]
        got = self.helm(["openshift", *AUTOMATIC], "placement")
        self.assert_same(self.without_helms_own(got), want)

    def test_all_images_are_set(self):
        for objects in (self.kustomize(), self.helm(), self.deploy()):
            text = json.dumps(list(objects.values()))
            self.assertNotIn("localhost/", text)
            for program in PROGRAMS:
                self.assertIn('"' + ":".join(image_of(program)) + '"', text)

    def test_values_of_the_chart(self):
        resources = {"limits": {"cpu": "2", "memory": "1Gi"}}
        images = {"shard": "mirror.example.com/shard@sha256:0123"}
        objects = self.helm(replicas=3, resources=resources, images=images,
                            args=["--log-verbosity=Debug"])
        spec = objects["Deployment", NAMESPACE, "multiarch-tuning-operator"]["spec"]
        container = spec["template"]["spec"]["containers"][0]
        self.assertEqual(spec["replicas"], 3)
        self.assertEqual(container["resources"], resources)
        self.assertEqual(container["args"][-1], "--log-verbosity=Debug")
        self.assertIn({"name": "RELATED_IMAGE_SHARD", "value": images["shard"]}, container["env"])

    def test_the_chart_refuses_wrong_values(self):
        for wrong in ({"replicas": 0}, {"args": ["verbose"]}, {"registri": "r"},
                      {"components": {"no-such-component": True}}):
            with self.assertRaises(AssertionError, msg=wrong):
                self.helm(**wrong)

    def test_helm_lint(self):
        run(HELM, "lint", "--strict", "--kube-version=1.36.0",
            "operator/helm/multiarch-tuning-operator.tgz",
            env={"HOME": self.folder, "PATH": os.environ["PATH"]})


class BundleTest(unittest.TestCase):
    """The bundle's objects, as OLM would create them, against those of the deploy tool."""

    @classmethod
    def setUpClass(cls):
        cls.files = {}
        with tarfile.open("operator/olm/bundle.tgz") as tar:
            for entry in tar:
                cls.files[entry.name] = tar.extractfile(entry).read()
        cls.csv = yaml.safe_load(
            cls.files["manifests/multiarch-tuning-operator.clusterserviceversion.yaml"])
        cls.want = by_key(json.loads(run(
            "operator/deploy/deploy", "--print", f"--with={','.join(BUNDLE_COMPONENTS)}"))["items"])

    def in_csv(self, name):
        """Whether the role and binding of this name are the operator's alone."""
        bindings = [item for (kind, _, other), item in self.want.items()
                    if other == name and kind in ("RoleBinding", "ClusterRoleBinding")]
        return bool(bindings) and all(
            [subject["name"] for subject in binding["subjects"]] == ["multiarch-tuning-operator"]
            for binding in bindings)

    def rules(self, binding_kind):
        """The rules that the bindings of a kind give to the operator."""
        result = []
        for (kind, namespace, name), binding in self.want.items():
            if kind == binding_kind and self.in_csv(name):
                role = kind.removesuffix("Binding")
                result += self.want[role, namespace, binding["roleRef"]["name"]]["rules"]
        return result

    def test_permissions(self):
        install = self.csv["spec"]["install"]["spec"]
        for field, kind in (("clusterPermissions", "ClusterRoleBinding"),
                            ("permissions", "RoleBinding")):
            self.assertEqual(install[field], [{"serviceAccountName": "multiarch-tuning-operator",
                                               "rules": self.rules(kind)}])

    def test_deployment(self):
        want = self.want["Deployment", NAMESPACE, "multiarch-tuning-operator"]
        self.assertEqual(self.csv["spec"]["install"]["spec"]["deployments"],
                         [{"name": want["metadata"]["name"], "label": want["metadata"]["labels"],
                           "spec": want["spec"]}])

    def test_other_objects(self):
        got = {}
        for name, content in self.files.items():
            if name.startswith("manifests/") and "clusterserviceversion" not in name:
                item = yaml.safe_load(content)
                got[item["kind"], item["metadata"]["name"]] = item
        left_out = {"Deployment", "ServiceAccount", "Namespace", "ResourceQuota"}
        want = {}
        for (kind, namespace, name), item in self.want.items():
            item = copy.deepcopy(item)
            item["metadata"].pop("namespace", None)
            rbac = kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
            elsewhere = namespace not in ("", NAMESPACE)
            if kind not in left_out and not (rbac and self.in_csv(name)) and not elsewhere:
                want[kind, name] = item
        self.assertIn(("ClusterRoleBinding", "pod-placement-controller"), want)
        self.assertNotIn(("ClusterRoleBinding", "multiarch-tuning-operator"), want)
        self.assertEqual(sorted(got), sorted(want))
        self.assertEqual(got, want)

    def test_the_csv_describes_every_served_version(self):
        owned = {(crd["name"], crd["version"])
                 for crd in self.csv["spec"]["customresourcedefinitions"]["owned"]}
        served = {(item["metadata"]["name"], version["name"])
                  for item in self.want.values() if item["kind"] == "CustomResourceDefinition"
                  for version in item["spec"]["versions"] if version["served"]}
        self.assertEqual(owned, served)
        examples = json.loads(self.csv["metadata"]["annotations"]["alm-examples"])
        self.assertEqual({(e["kind"], e["apiVersion"].split("/")[1]) for e in examples},
                         {(crd["kind"], crd["version"])
                          for crd in self.csv["spec"]["customresourcedefinitions"]["owned"]})

    def test_related_images(self):
        self.assertEqual({entry["name"] for entry in self.csv["spec"]["relatedImages"]},
                         {"operator", "webhook", "shard", "controller"})

    def test_the_suggested_namespace_is_that_of_the_manifests(self):
        annotations = self.csv["metadata"]["annotations"]
        suggested = annotations["operatorframework.io/suggested-namespace-template"]
        self.assertEqual(json.loads(suggested), self.want["Namespace", "", NAMESPACE])


if __name__ == "__main__":
    unittest.main()
