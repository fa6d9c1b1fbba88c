#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kustomize, Helm, the deploy tools and the OLM bundle install the same objects.

  render_test.py PRODUCT...        operator, hub, agent

Needs kubectl and helm, which `make setup` builds. They are found beside $KUBEBUILDER_ASSETS or in
~/.cache/pod-placement; without the former variable, missing tools skip the tests.
"""

import copy
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import yaml

REGISTRY = "registry.example.com/placement"
# What the bundle has in addition to the base.
BUNDLE_COMPONENTS = ["openshift"]


class Product:
    """What is installed together. `trees`: what its manifests need besides their folder; `always`:
    components that the tool adds itself; `needs`: those that it adds with another one; `fixed`:
    components with an object in a namespace of their own, which kustomize would move to another
    one; `programs_of`: components with a program of their own."""

    def __init__(self, name, namespace, programs, manifests, trees, tool, chart, always=(),
                 needs=None, fixed=(), programs_of=()):
        self.namespace, self.programs = namespace, programs
        self.manifests, self.trees, self.tool = manifests, [manifests, *trees], tool
        self.chart, self.always, self.needs, self.fixed = chart, list(always), needs or {}, fixed
        self.deployment = os.path.basename(chart).removesuffix(".tgz")
        self.name, self.programs_of = name, list(programs_of)

    def components(self):
        return sorted(os.listdir(f"{self.manifests}/components"))

    def images(self):
        """Name in the manifests: image and tag in the registry."""
        result = {}
        for program in self.programs:
            fields = reference_of(program)
            result["localhost/" + fields["NAME"]] = f'{REGISTRY}/{fields["NAME"]}', fields["TAG"]
        return result

    def added_by_the_tool(self, components=()):
        # After `make images`, it also adds the component for them.
        built_all = "," in reference_of(self.programs[0])["ARCHITECTURES"]
        needed = [need for name in components for need in self.needs.get(name, ())]
        return self.always + needed + (["all-architectures"] if built_all else [])


def fleet(name, **options):
    program = f"multiarch-fleet-{name}"
    return Product(name, programs=[f"fleet/{name}"], manifests=f"fleet/manifests/{name}",
                   trees=["fleet/api/crds", "image-facts/crds"],
                   chart=f"fleet/helm/{program}.tgz", **options)


PRODUCTS = {product.name: product for product in (
    Product("operator", namespace="openshift-multiarch-tuning-operator",
            programs=["operator", "webhook", "shard", "cluster-controller", "console",
                      "exec-format/monitor"],
            manifests="operator/manifests",
            trees=["api/crds", "exec-format/crds", "image-facts/crds",
                   "scheduling-policies/crds"],
            tool="operator/deploy/deploy", chart="operator/helm/multiarch-tuning-operator.tgz",
            fixed=["openshift"], programs_of=["console"]),
    fleet("hub", namespace="multiarch-fleet", tool="fleet/deploy/deploy_hub", always=["crds"],
          needs={"image-facts": ["image-facts-crd"]}),
    fleet("agent", namespace="multiarch-fleet-member", tool="fleet/standalone/deploy/join"))}

OPERATOR = PRODUCTS["operator"]


def reference_of(program, kind="index"):
    with open(f"{program}/{kind}.ref", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)


def path_of(tool):
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


def objects_of(text):
    return by_key(document for document in yaml.safe_load_all(text) if document)


def by_key(objects):
    """Objects by kind, namespace and name."""
    result = {}
    for item in objects:
        metadata = item["metadata"]
        key = (item["kind"], metadata.get("namespace", ""), metadata["name"])
        assert key not in result, f"{key} is there twice"
        result[key] = item
    return result


class RenderBase(unittest.TestCase):
    """Renders one product with kustomize and compares objects."""

    maxDiff = 4000
    product = None

    @classmethod
    def setUpClass(cls):
        cls.kubectl, cls.helm_program = path_of("kubectl"), path_of("helm")
        cls.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        # kustomize does not follow the links of the runfiles to other folders.
        for tree in cls.product.trees:
            if os.path.exists(tree):
                shutil.copytree(tree, f"{cls.folder}/{tree}", symlinks=False)

    def kustomize(self, components=(), namespace=None, images=None):
        overlay = {
            "resources": [f"../{self.product.manifests}/base"],
            "components": [f"../{self.product.manifests}/components/{name}"
                           for name in components],
            "images": images or [{"name": name, "newName": image, "newTag": tag}
                                 for name, (image, tag) in self.product.images().items()],
        }
        if namespace:
            overlay["namespace"] = namespace
        os.makedirs(f"{self.folder}/overlay", exist_ok=True)
        with open(f"{self.folder}/overlay/kustomization.yaml", "w", encoding="utf-8") as file:
            json.dump(overlay, file)
        return self.rendered(f"{self.folder}/overlay")

    def rendered(self, folder):
        objects = objects_of(run(self.kubectl, "kustomize", folder))
        for item in objects.values():
            # kustomize believes that they are in a namespace; API servers ignore that.
            if item["kind"].startswith("ValidatingAdmissionPolicy"):
                item["metadata"].pop("namespace", None)
        return by_key(objects.values())

    def assert_same(self, got, want):
        self.assertEqual(sorted(got), sorted(want))
        for key, item in want.items():
            self.assertEqual(got[key], item, key)

    def assert_chart(self, got, want, namespace):
        """A chart does not contain its release's namespace, and keeps CRDs."""
        want, got = copy.deepcopy(want), copy.deepcopy(got)
        del want["Namespace", "", namespace or self.product.namespace]
        for item in got.values():
            if item["kind"] == "CustomResourceDefinition":
                self.assertEqual(item["metadata"].pop("annotations"),
                                 {"helm.sh/resource-policy": "keep"})
        self.assert_same(got, want)


class RenderTest(RenderBase):
    """One product; a subclass for each sets `product`."""

    def helm(self, enabled=(), namespace=None, **values):
        # Options that are true by default are set, too.
        components = {name: name in enabled for name in self.product.components()}
        values = {"registry": REGISTRY, "components": components, **values}
        return objects_of(run(
            self.helm_program, "template", "release", self.product.chart, "--kube-version=1.36.0",
            "--no-hooks", f"--namespace={namespace or self.product.namespace}",
            "--set-json=" + ",".join(f"{key}={json.dumps(value)}"
                                     for key, value in values.items()),
            env={"HOME": self.folder, "PATH": os.environ["PATH"]}))

    def tool(self, components=(), namespace=None, *flags):
        flags += (f"--namespace={namespace}",) if namespace else ()
        return by_key(json.loads(run(
            self.product.tool, f"--registry={REGISTRY}", f"--with={','.join(components)}",
            "--print", *flags))["items"])

    def compare(self, components, namespace=None):
        want = self.kustomize(sorted(components), namespace)
        self.assert_chart(self.helm(components, namespace), want, namespace)
        everything = sorted({*components, *self.product.added_by_the_tool(components)})
        if everything != sorted(components):
            want = self.kustomize(everything, namespace)
        self.assert_same(self.tool(components, namespace), want)
        return want

    def test_without_options(self):
        self.assertIn(("Deployment", self.product.namespace, self.product.deployment),
                      self.compare([]))

    def test_with_each_component(self):
        base = self.kustomize()
        self.assertGreaterEqual(len(self.product.components()), 4)
        for component in self.product.components():
            with self.subTest(component):
                self.assertNotEqual(self.kustomize([component]), base)
                self.compare([component])

    def test_with_all_components(self):
        self.compare(self.product.components())

    def test_in_another_namespace(self):
        movable = [name for name in self.product.components() if name not in self.product.fixed]
        for components in ([], movable):
            with self.subTest(components):
                text = json.dumps(list(self.compare(components, "elsewhere").values()))
                # Names of the fleet's objects begin with its namespace.
                other_names = "" if self.product is OPERATOR else "(?!-[a-z])"
                left = re.search(f".{{60}}{self.product.namespace}{other_names}", text)
                self.assertIsNone(left, left and left[0])

    def test_fixed_components_in_another_namespace(self):
        for component in self.product.fixed:
            want = self.tool([component], "elsewhere")
            got = self.helm([component, *self.product.added_by_the_tool()], "elsewhere")
            self.assert_chart(got, want, "elsewhere")

    def test_all_images_are_set(self):
        components = self.product.programs_of
        for install in (self.kustomize, self.helm, self.tool):
            objects = install(components)
            text = json.dumps(list(objects.values()))
            self.assertNotIn("localhost/", text)
            for image in self.product.images().values():
                self.assertIn('"' + ":".join(image) + '"', text)

    def test_values_of_the_chart(self):
        resources = {"limits": {"cpu": "2", "memory": "1Gi"}}
        images = {name.rpartition("/")[2]: f"mirror.example.com/{index}@sha256:0123"
                  for index, name in enumerate(self.product.images())}
        objects = self.helm(self.product.programs_of, replicas=3, resources=resources,
                            images=images, args=["--log-verbosity=Debug"])
        spec = objects["Deployment", self.product.namespace, self.product.deployment]["spec"]
        container = spec["template"]["spec"]["containers"][0]
        self.assertEqual(spec["replicas"], 3)
        self.assertEqual(container["resources"], resources)
        self.assertEqual(container["args"][-1], "--log-verbosity=Debug")
        self.assertEqual(container["image"], "mirror.example.com/0@sha256:0123")
        text = json.dumps(list(objects.values()))
        for image in images.values():
            self.assertIn(f'"{image}"', text)

    def test_the_alerts_of_the_chart_link_to_the_repository(self):
        if self.product is not OPERATOR:
            return
        key = "PrometheusRule", OPERATOR.namespace, "multiarch-tuning-operator-alerts"
        for repository in ("", "https://git.example.com/placement/blob/main"):
            rule = self.helm(["monitoring"], repository=repository)[key]
            base = repository or "https://pod-placement.invalid"
            for alert in (a for group in rule["spec"]["groups"] for a in group["rules"]):
                self.assertEqual(alert["annotations"]["runbook_url"],
                                 f'{base}/docs/runbooks/{alert["alert"]}.md')

    def test_the_chart_refuses_wrong_values(self):
        for wrong in ({"replicas": 0}, {"args": ["verbose"]}, {"registri": "r"},
                      {"components": {"no-such-component": True}}):
            with self.assertRaises(AssertionError, msg=wrong):
                self.helm(**wrong)

    def test_helm_lint(self):
        run(self.helm_program, "lint", "--strict", "--kube-version=1.36.0", self.product.chart,
            env={"HOME": self.folder, "PATH": os.environ["PATH"]})

    def test_a_component_of_the_user(self):
        """The tools read a component that is not shipped, by its path."""
        folder = f"{self.folder}/own"
        os.makedirs(folder, exist_ok=True)
        name = self.product.deployment
        with open(f"{folder}/kustomization.yaml", "w", encoding="utf-8") as file:
            file.write(f"""
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {{kind: Deployment, name: {name}}}
  patch: |
    - {{op: replace, path: /spec/replicas, value: 7}}
""")
        key = "Deployment", self.product.namespace, name
        want = self.tool()
        want[key]["spec"]["replicas"] = 7
        self.assert_same(self.tool([folder]), want)

    def test_the_flags_of_the_hub_are_components(self):
        if self.product.name != "hub":
            return
        self.assert_same(self.tool([], None, "--membership=own", "--placements=all"),
                         self.tool(["own-membership", "all-placements"]))


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
        want = self.want["Deployment", OPERATOR.namespace, "multiarch-tuning-operator"]
        self.assertEqual(self.csv["spec"]["install"]["spec"]["deployments"],
                         [{"name": want["metadata"]["name"], "label": want["metadata"]["labels"],
                           "spec": want["spec"]}])

    def test_other_objects(self):
        got = {}
        for name, content in self.files.items():
            if name.startswith("manifests/") and "clusterserviceversion" not in name:
                item = yaml.safe_load(content)
                got[item["kind"], item["metadata"]["name"]] = item
        left_out = {"Deployment", "ServiceAccount", "Namespace", "ResourceQuota", "NetworkPolicy"}
        want = {}
        for (kind, namespace, name), item in self.want.items():
            item = copy.deepcopy(item)
            item["metadata"].pop("namespace", None)
            rbac = kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
            elsewhere = namespace not in ("", OPERATOR.namespace)
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
        # A user creates none of these.
        self.assertEqual({(e["kind"], e["apiVersion"].split("/")[1]) for e in examples},
                         {(crd["kind"], crd["version"])
                          for crd in self.csv["spec"]["customresourcedefinitions"]["owned"]
                          if crd["kind"] not in ("ENoExecEvent", "ImageFacts", "ImageFinding")})

    def test_related_images(self):
        self.assertEqual({entry["name"] for entry in self.csv["spec"]["relatedImages"]},
                         {"operator", "webhook", "shard", "controller", "monitor"})

    def test_the_suggested_namespace_is_that_of_the_manifests(self):
        annotations = self.csv["metadata"]["annotations"]
        suggested = annotations["operatorframework.io/suggested-namespace-template"]
        self.assertEqual(json.loads(suggested), self.want["Namespace", "", OPERATOR.namespace])


def load_tests(loader, *_):
    suite = unittest.TestSuite()
    for name in sys.argv[1:]:
        case = type(f"RenderTest_{name}", (RenderTest,), {"product": PRODUCTS[name]})
        suite.addTests(loader.loadTestsFromTestCase(case))
    if OPERATOR.name in sys.argv:
        suite.addTests(loader.loadTestsFromTestCase(BundleTest))
    return suite


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
