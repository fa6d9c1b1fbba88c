#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs, upgrades and uninstalls the operator by each path, on the cluster of KUBECONFIG.

e2e/test.sh runs it on the kind cluster, at the root of the repository, with the images on the
nodes and everything built. The cluster must have no operator, and has none afterwards. Each upgrade
starts from an older version: a built tree of one (e2e/install/test_upgrade.sh), or the same images,
with an older CRD and fewer flags. While a version is upgraded or uninstalled, a gated pod waits for
a registry that does not answer; during the upgrade, more pods are created.

  install_flows.py [--xml FILE] [--older TREE] [PATH...]    PATH: kustomize, helm, deploy, olm
"""

import argparse
import functools
import json
import os
import re
import shutil
import string
import subprocess
import sys
import tarfile
import tempfile

import scene
from bundle import as_list, objects_of_bundle
from cluster import get, kubectl, objects, print_pods, run, wait_for, wait_for_none
from overlay import image_of, write_overlay
from results import run_flows
from scene import NAMESPACE, SCENE

OPERANDS = "multiarch.openshift.io/operand"  # a label of every pod of a program
CRDS = ("clusterpodplacementconfigs.multiarch.openshift.io",
        "enoexecevents.multiarch.openshift.io",
        "imagefacts.multiarch.openshift.io",
        "imagefindings.multiarch.openshift.io",
        "podplacementconfigs.multiarch.openshift.io",
        "podschedulingpolicies.kupid.gardener.cloud",
        "clusterpodschedulingpolicies.kupid.gardener.cloud")
ROOT = os.getcwd()
CHART = "multiarch-tuning-operator"
PROGRAMS = ("operator", "webhook", "shard", "cluster-controller", "exec-format/monitor")
# In an older version that is made of this one, the operator has this flag and the CRD of the
# ClusterPodPlacementConfig has this short name.
OLDER_FLAG = "--log-verbosity=Debug"
OLDER_SHORT_NAME = "oldcppc"
# In the manifests, and as they are in charts and in the JSON of the deploy tool.
OLDER = ((r"(shortNames\"?:\W*)cppc\b", rf"\1{OLDER_SHORT_NAME}"),
         (r"(?m)^(.*)--cert-dir=[^\s\",]*(.*)$", rf"\1{OLDER_FLAG}\2\n\g<0>"))


class Versions:
    """The trees of both versions, each with its bazel-bin."""

    def __init__(self, older):
        self.made = older is None  # the older version is made of this one
        self.trees = {"older": older or ROOT, "newer": ROOT}

    def paths(self):
        """Those that both versions have."""
        return [name for name, path in PATHS.items()
                if os.path.exists(f"{self.trees['older']}/{path.FOLDER}")]

    def images(self, version):
        """The images on the nodes, by their names in the manifests: name and tag."""
        tree = self.trees[version]
        # An older version may not have all of them.
        return dict(image_of(tree, program) for program in PROGRAMS
                    if os.path.isdir(os.path.join(tree, program)))

    def references(self, version):
        return {f"{name}:{tag}" for name, tag in self.images(version).items()}

    def make_older(self, *paths):
        """Changes the manifests in files into those of an older version."""
        if not self.made:
            return
        changes = 0
        for path in paths:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for pattern, new in OLDER:
                text, count = re.subn(pattern, new, text)
                changes += count
            os.chmod(path, 0o644)  # Bazel's files are read-only
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        assert changes == len(OLDER), f"{paths}: {changes} changes"


class Kustomize:
    """kubectl apply --kustomize with an overlay that names the images."""

    FOLDER = "operator/manifests"

    def __init__(self, folder, versions):
        self.sources, self.flags = {}, ["--server-side", "--force-conflicts"]
        for version, root in versions.trees.items():
            tree = f"{folder}/{version}"
            os.makedirs(tree)
            if not os.path.exists(f"{root}/operator/manifests/base"):
                self.sources[version] = f"--filename={tree}/install.yaml"
                with open(f"{tree}/install.yaml", "w", encoding="utf-8") as file:
                    file.write(self.text_of_0_1_0(root, versions.images(version)))
                # As its README says, and docs/operations.md for the upgrade.
                self.flags.append("--field-manager=pod-placement-deploy")
                continue
            self.sources[version] = f"--kustomize={tree}/overlay"
            for part in ("operator/manifests", "api/crds", "exec-format/crds",
                         "image-facts/crds", "scheduling-policies/crds"):
                if os.path.exists(f"{root}/{part}"):
                    shutil.copytree(f"{root}/{part}", f"{tree}/{part}")
            write_overlay(f"{tree}/overlay", ["../operator/manifests/base"],
                          versions.images(version))
        versions.make_older(f"{folder}/older/api/crds/clusterpodplacementconfigs.yaml",
                            f"{folder}/older/operator/manifests/base/operator.yaml")

    @staticmethod
    def text_of_0_1_0(root, images):
        """Version 0.1.0 has no kustomization: its README fills in variables."""
        values = {"NAMESPACE": NAMESPACE, "ARCHITECTURE": "amd64"}
        for name, tag in images.items():
            variable = name.rsplit("/", 1)[1].removeprefix("cluster-").upper()
            values[f"{variable}_IMAGE"] = f"{name}:{tag}"
        texts = []
        for path in ("operator/manifests/namespace.yaml", "api/crds/podplacementconfigs.yaml",
                     "api/crds/clusterpodplacementconfigs.yaml", "operator/manifests/rbac.yaml",
                     "operator/manifests/operator.yaml"):
            with open(f"{root}/{path}", encoding="utf-8") as file:
                texts.append(string.Template(file.read()).safe_substitute(values))
        return "\n---\n".join(texts)

    def install(self, version):
        kubectl("apply", *self.flags, self.sources[version])

    def uninstall(self):
        kubectl("delete", "podplacementconfigs", "--all", "--all-namespaces")
        kubectl("delete", "clusterpodplacementconfig", "cluster", "--timeout=120s")
        kubectl("delete", self.sources["newer"], "--timeout=120s")


class Helm:
    """helm install, upgrade, test and uninstall; nothing else."""

    FOLDER = "operator/helm"

    def __init__(self, folder, versions):
        self.charts = {}
        for version, root in versions.trees.items():
            with tarfile.open(f"{root}/bazel-bin/operator/helm/{CHART}.tgz") as tar:
                tar.extractall(f"{folder}/{version}")
            self.charts[version] = f"{folder}/{version}/{CHART}"
        versions.make_older(f"{self.charts['older']}/templates/_manifests.tpl")
        self.installed = False

    def install(self, version):
        command = "upgrade" if self.installed else "install"
        flags = [] if self.installed else ["--create-namespace"]
        run("helm", command, "placement", self.charts[version], f"--namespace={NAMESPACE}",
            "--wait", "--timeout=180s", *flags)
        self.installed = True
        if version == "newer":
            run("helm", "test", "placement", f"--namespace={NAMESPACE}", "--timeout=180s")

    def uninstall(self):
        run("helm", "uninstall", "placement", f"--namespace={NAMESPACE}", "--wait",
            "--timeout=300s")
        self.installed = False
        for crd in CRDS:
            get("crd", crd)  # kept
        kubectl("delete", "crd", *CRDS)
        kubectl("delete", "namespace", NAMESPACE)


class Deploy:
    """The deploy tool."""

    FOLDER = "operator/deploy"

    def __init__(self, folder, versions):
        self.folders = {version: f"{root}/bazel-bin/operator/deploy/deploy.runfiles/pod_placement"
                        for version, root in versions.trees.items()}
        if versions.made:
            self.folders["older"] = f"{folder}/older"
            shutil.copytree(self.folders["newer"], self.folders["older"])
            versions.make_older(f"{self.folders['older']}/operator/manifests/manifests.json")

    def install(self, version):
        tool = "operator/deploy/deploy"
        done = subprocess.run([f"./{tool}"], cwd=self.folders[version], check=False,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def uninstall(self):
        undeploy()


class Olm:
    """The objects that OLM creates from the bundle. OLM itself is not on the cluster."""

    FOLDER = "operator/olm"

    def __init__(self, folder, versions):
        self.versions = versions
        self.folders = {version: f"{folder}/{version}" for version in versions.trees}
        for version, root in versions.trees.items():
            with tarfile.open(f"{root}/bazel-bin/operator/olm/bundle.tgz") as tar:
                tar.extractall(self.folders[version])
        if versions.made:
            self.make_older()

    def make_older(self):
        crd = f"{self.folders['older']}/manifests/{CRDS[0]}.customresourcedefinition.yaml"
        with open(crd, encoding="utf-8") as file:
            text = file.read()
        assert "- cppc" in text
        with open(crd, "w", encoding="utf-8") as file:
            file.write(text.replace("- cppc", f"- {OLDER_SHORT_NAME}"))

    def list_of(self, version):
        items = objects_of_bundle(self.folders[version], NAMESPACE)
        if version == "older" and self.versions.made:
            for item in items:
                if item["kind"] == "Deployment":
                    item["spec"]["template"]["spec"]["containers"][0]["args"].append(OLDER_FLAG)
        return as_list(items)

    def install(self, version):
        kubectl("apply", "--server-side", "--force-conflicts", "--filename=-",
                text=self.list_of(version))

    def uninstall(self):
        # As the description of the ClusterServiceVersion says.
        kubectl("delete", "podplacementconfigs", "--all", "--all-namespaces")
        kubectl("delete", "clusterpodplacementconfig", "cluster", "--timeout=120s")
        kubectl("delete", "--filename=-", "--timeout=120s", text=self.list_of("newer"))


PATHS = {"kustomize": Kustomize, "helm": Helm, "olm": Olm, "deploy": Deploy}


def undeploy():
    done = subprocess.run(["operator/deploy/undeploy"], check=False, capture_output=True, text=True,
                          cwd=f"{ROOT}/bazel-bin/operator/deploy/undeploy.runfiles/pod_placement")
    assert done.returncode == 0, done.stdout + done.stderr


def await_operator(version, versions):
    """The version has been installed, and all programs are of it."""
    kubectl("rollout", "status", f"--namespace={NAMESPACE}", "--timeout=180s",
            "deployment/multiarch-tuning-operator")
    if versions.made:
        deployment = get("deployment", "multiarch-tuning-operator", f"--namespace={NAMESPACE}")
        args = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
        assert (OLDER_FLAG in args) == (version == "older"), args
        wanted = OLDER_SHORT_NAME if version == "older" else "cppc"
        short_names = get("crd", CRDS[0])["spec"]["names"]["shortNames"]
        assert short_names == [wanted], short_names
    references = versions.references(version)
    wait_for(f"all programs are of the {version} version", lambda: all(
        container["image"] in references
        for pod in get("pods", "--all-namespaces", f"--selector={OPERANDS}")["items"]
        for container in pod["spec"]["containers"]), 180)


def await_nothing_left(before):
    # Objects of the cluster are owned by the namespace and deleted soon after it.
    wait_for_none("objects that are left", lambda: sorted(objects() - before))


def objects_of_new_installation(installer, versions, before):
    """All objects after the newer version was installed, which is uninstalled again."""
    installer.install("newer")
    await_operator("newer", versions)
    scene.create_configs()
    result = objects()
    installer.uninstall()
    await_nothing_left(before)
    return result


def flow(path, versions):
    with tempfile.TemporaryDirectory() as folder:
        installer = PATHS[path](folder, versions)
        scene.create_namespace()
        before = objects()
        if not versions.made:
            wanted = objects_of_new_installation(installer, versions, before)

        installer.install("older")
        await_operator("older", versions)
        scene.create_configs()
        scene.create_gated_pod()
        print(f"{path}: installed", flush=True)

        with scene.pods_created_meanwhile():
            installer.install("newer")
            await_operator("newer", versions)
            scene.await_configs()
        assert scene.gates_of_the_pod(), "the upgrade has released a pod"
        scene.create_gated_pod()
        if not versions.made:
            wait_for_none("differences to a new installation", lambda: sorted(objects() ^ wanted))
        print(f"{path}: upgraded", flush=True)

        installer.uninstall()
        assert scene.gates_of_the_pod() == [], "the pod is still gated"
        await_nothing_left(before)
        print(f"{path}: uninstalled", flush=True)


def clean_up():
    undeploy()
    kubectl("delete", "namespace", SCENE, "--ignore-not-found", "--timeout=120s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--xml", help="the results in JUnit's format")
    parser.add_argument("--older", metavar="TREE", help="a tree of an older version, built")
    parser.add_argument("paths", nargs="*", metavar="PATH", help=", ".join(PATHS))
    args = parser.parse_args()
    versions = Versions(args.older)
    flows = {path: functools.partial(flow, path, versions)
             for path in args.paths or versions.paths()}
    passed = run_flows("install", flows, clean_up, lambda: print_pods(NAMESPACE, SCENE), args.xml)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
