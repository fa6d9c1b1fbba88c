#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs, upgrades and uninstalls the operator by each path, on the cluster of KUBECONFIG.

e2e/test.sh runs it on the kind cluster, at the root of the repository, with the images on the
nodes and everything built. The cluster must have no operator, and has none afterwards. Each upgrade
starts from an older version: the same images, with an older CRD and fewer flags. While a version is
upgraded or uninstalled, a gated pod waits for a registry that does not answer.

  install_flows.py [--xml FILE] [PATH...]    PATH: kustomize, helm, deploy, olm
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
import xml.etree.ElementTree

import yaml

NAMESPACE = "openshift-multiarch-tuning-operator"
SCENE = "pod-placement-install"
GATES = ("multiarch.openshift.io/scheduling-gate", "multiarch.openshift.io/local-scheduling-gate")
LABEL = "app.kubernetes.io/managed-by=multiarch-tuning-operator"
CRDS = ("clusterpodplacementconfigs.multiarch.openshift.io",
        "podplacementconfigs.multiarch.openshift.io",
        "podschedulingpolicies.kupid.gardener.cloud",
        "clusterpodschedulingpolicies.kupid.gardener.cloud")
ROOT = os.getcwd()
PROGRAMS = ("operator", "webhook", "shard", "cluster-controller")
# In an older version, operator/manifests has this flag and the CRD of the ClusterPodPlacementConfig
# has this short name.
OLDER_FLAG = "--log-verbosity=Debug"
OLDER_SHORT_NAME = "oldcppc"

# The address is reserved for documentation: nothing answers, and the pod stays gated.
CONFIGS = f"""
apiVersion: multiarch.openshift.io/v1beta1
kind: ClusterPodPlacementConfig
metadata: {{name: cluster}}
spec:
  inspectionRetryPeriod: 1h
  namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {SCENE}}}}}
"""
SHARD = f"""
apiVersion: v1
kind: Namespace
metadata: {{name: {SCENE}, labels: {{pod-placement-e2e: "true"}}}}
---
apiVersion: multiarch.openshift.io/v1beta1
kind: PodPlacementConfig
metadata: {{name: prefer, namespace: {SCENE}}}
spec:
  plugins:
    nodeAffinityScoring: {{enabled: true, platforms: [{{architecture: arm64, weight: 10}}]}}
"""
POD = f"""
apiVersion: v1
kind: Pod
metadata: {{name: gated, namespace: {SCENE}}}
spec:
  containers: [{{name: app, image: "192.0.2.1:5000/app:1"}}]
"""


def run(*command, text="", check=True):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def kubectl(*arguments, **kwargs):
    return run("kubectl", *arguments, **kwargs)


def get(*arguments):
    return json.loads(kubectl("get", "--output=json", *arguments))


def wait_for(what, holds, seconds=120):
    deadline = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.5)


def gates_of_the_pod():
    pod = get("pod", "gated", f"--namespace={SCENE}")
    return [gate["name"] for gate in pod["spec"].get("schedulingGates", [])]


def images():
    """The images on the nodes, by their names in the manifests: name and tag."""
    result = {}
    for program in PROGRAMS:
        with open(f"{ROOT}/bazel-bin/{program}/image.ref", encoding="utf-8") as file:
            fields = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
        result[f'localhost/{fields["NAME"]}'] = fields["TAG"]
    return result


def make_older(tree):
    """Changes the manifests in a folder into those of an older version."""
    for path, old, new in (
            ("api/crds/clusterpodplacementconfigs.yaml", "shortNames: [cppc]",
             f"shortNames: [{OLDER_SHORT_NAME}]"),
            ("operator/manifests/base/operator.yaml", "- --cert-dir=",
             f"- {OLDER_FLAG}\n        - --cert-dir=")):
        with open(f"{tree}/{path}", encoding="utf-8") as file:
            text = file.read()
        assert old in text, f"{path}: no {old}"
        os.chmod(f"{tree}/{path}", 0o644)  # Bazel's files are read-only
        with open(f"{tree}/{path}", "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))


class Kustomize:
    """kubectl apply --kustomize with an overlay that names the images."""

    def __init__(self, folder):
        self.trees = {}
        for version in ("older", "newer"):
            tree = self.trees[version] = f"{folder}/{version}"
            for part in ("operator/manifests", "api/crds", "policy/crds"):
                shutil.copytree(f"{ROOT}/{part}", f"{tree}/{part}")
            os.mkdir(f"{tree}/overlay")
            with open(f"{tree}/overlay/kustomization.yaml", "w", encoding="utf-8") as file:
                yaml.safe_dump({"resources": ["../operator/manifests/base"],
                                "images": [{"name": name, "newTag": tag}
                                           for name, tag in images().items()]}, file)
        make_older(self.trees["older"])

    def install(self, version):
        kubectl("apply", "--server-side", "--force-conflicts",
                f"--kustomize={self.trees[version]}/overlay")

    def uninstall(self):
        kubectl("delete", "podplacementconfigs", "--all", "--all-namespaces")
        kubectl("delete", "clusterpodplacementconfig", "cluster", "--timeout=120s")
        kubectl("delete", f"--kustomize={self.trees['newer']}/overlay", "--timeout=120s")


class Helm:
    """helm install, upgrade and uninstall; nothing else."""

    def __init__(self, folder):
        self.charts = {"newer": f"{ROOT}/bazel-bin/operator/helm/multiarch-tuning-operator.tgz"}
        with tarfile.open(self.charts["newer"]) as tar:
            tar.extractall(folder)
        self.charts["older"] = f"{folder}/multiarch-tuning-operator"
        make_older(self.charts["older"])
        self.installed = False

    def install(self, version):
        command = "upgrade" if self.installed else "install"
        flags = [] if self.installed else ["--create-namespace"]
        run("helm", command, "placement", self.charts[version], f"--namespace={NAMESPACE}",
            "--wait", "--timeout=180s", *flags)
        self.installed = True

    def uninstall(self):
        run("helm", "uninstall", "placement", f"--namespace={NAMESPACE}", "--wait",
            "--timeout=300s")
        for crd in CRDS:
            get("crd", crd)  # kept
        kubectl("delete", "crd", *CRDS)
        kubectl("delete", "namespace", NAMESPACE)


class Deploy:
    """The deploy tool."""

    def __init__(self, folder):
        self.folders = {"newer": f"{ROOT}/bazel-bin/operator/deploy/deploy.runfiles/pod_placement",
                        "older": f"{folder}/older"}
        shutil.copytree(self.folders["newer"], self.folders["older"])
        make_older(self.folders["older"])

    def install(self, version):
        tool = "operator/deploy/deploy"
        done = subprocess.run([f"./{tool}"], cwd=self.folders[version], check=False,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def uninstall(self):
        undeploy()


class Olm:
    """The objects that OLM creates from the bundle. OLM itself is not on the cluster."""

    def __init__(self, folder):
        self.folders = {"newer": f"{folder}/newer", "older": f"{folder}/older"}
        for target in self.folders.values():
            with tarfile.open(f"{ROOT}/bazel-bin/operator/olm/bundle.tgz") as tar:
                tar.extractall(target)
        crd = f"{self.folders['older']}/manifests/{CRDS[0]}.customresourcedefinition.yaml"
        with open(crd, encoding="utf-8") as file:
            text = file.read()
        assert "- cppc" in text
        with open(crd, "w", encoding="utf-8") as file:
            file.write(text.replace("- cppc", f"- {OLDER_SHORT_NAME}"))

    def objects(self, version):
        manifests = []
        folder = f"{self.folders[version]}/manifests"
        for name in sorted(os.listdir(folder)):
            with open(f"{folder}/{name}", encoding="utf-8") as file:
                manifests.append(yaml.safe_load(file))
        csv = next(item for item in manifests if item["kind"] == "ClusterServiceVersion")
        manifests.remove(csv)
        for item in manifests:
            if item["kind"] in ("Service", "ConfigMap", "NetworkPolicy", "PodDisruptionBudget",
                                "Role", "RoleBinding"):
                item["metadata"]["namespace"] = NAMESPACE
        return manifests + self.objects_of_csv(csv, version)

    @staticmethod
    def objects_of_csv(csv, version):
        install = csv["spec"]["install"]["spec"]
        rbac = "rbac.authorization.k8s.io"
        accounts, result = set(), []
        for field, role, scope in (("clusterPermissions", "ClusterRole", {}),
                                   ("permissions", "Role", {"namespace": NAMESPACE})):
            for entry in install[field]:
                account = entry["serviceAccountName"]
                accounts.add(account)
                metadata = {"name": f"olm-{account}", **scope}
                result += [
                    {"apiVersion": f"{rbac}/v1", "kind": role, "metadata": metadata,
                     "rules": entry["rules"]},
                    {"apiVersion": f"{rbac}/v1", "kind": f"{role}Binding", "metadata": metadata,
                     "roleRef": {"apiGroup": rbac, "kind": role, "name": metadata["name"]},
                     "subjects": [{"kind": "ServiceAccount", "name": account,
                                   "namespace": NAMESPACE}]}]
        for account in sorted(accounts):
            result.append({"apiVersion": "v1", "kind": "ServiceAccount",
                           "metadata": {"name": account, "namespace": NAMESPACE}})
        for deployment in install["deployments"]:
            spec = deployment["spec"]
            if version == "older":
                spec["template"]["spec"]["containers"][0]["args"].append(OLDER_FLAG)
            result.append({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec,
                           "metadata": {"name": deployment["name"], "namespace": NAMESPACE,
                                        "labels": deployment["label"]}})
        template = "operatorframework.io/suggested-namespace-template"
        return [json.loads(csv["metadata"]["annotations"][template])] + result

    def list_of(self, version):
        objects = self.objects(version)
        objects.sort(key=lambda item: item["kind"] != "Namespace")
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})

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


def await_operator(version):
    kubectl("rollout", "status", f"--namespace={NAMESPACE}", "--timeout=180s",
            "deployment/multiarch-tuning-operator")
    deployment = get("deployment", "multiarch-tuning-operator", f"--namespace={NAMESPACE}")
    args = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert (OLDER_FLAG in args) == (version == "older"), args
    wanted = OLDER_SHORT_NAME if version == "older" else "cppc"
    short_names = get("crd", CRDS[0])["spec"]["names"]["shortNames"]
    assert short_names == [wanted], short_names


def await_configs():
    kubectl("wait", "--for=condition=Available", "--timeout=180s",
            "clusterpodplacementconfig/cluster")
    kubectl("wait", "--for=condition=Available", "--timeout=180s", f"--namespace={SCENE}",
            "podplacementconfig/prefer")


def create_gated_pod():
    """Webhooks are called a moment after their configuration is written."""
    def gated():
        kubectl("delete", "pod", "gated", f"--namespace={SCENE}", "--ignore-not-found",
                "--grace-period=0", "--force", "--wait=true")
        kubectl("create", "--filename=-", text=POD)
        return gates_of_the_pod()

    wait_for("a pod is gated", gated)


def assert_nothing_is_left():
    assert gates_of_the_pod() == [], "the pod is still gated"
    wait_for("the operator's namespace is gone", lambda: not kubectl(
        "get", "namespace", NAMESPACE, "--ignore-not-found", "--output=name"))
    for kinds in ("mutatingwebhookconfigurations,validatingwebhookconfigurations,clusterroles,"
                  "clusterrolebindings", "deployments,services,roles,rolebindings,secrets"):
        # Objects of the cluster are owned by the namespace and deleted soon after it.
        wait_for(f"no {kinds} of the operator", lambda kinds=kinds: not kubectl(
            "get", kinds, f"--selector={LABEL}", "--all-namespaces", "--output=name"))


def flow(path):
    with tempfile.TemporaryDirectory() as folder:
        installer = PATHS[path](folder)
        installer.install("older")
        await_operator("older")
        kubectl("apply", "--filename=-", text=CONFIGS)
        kubectl("apply", "--filename=-", text=SHARD)
        await_configs()
        create_gated_pod()
        print(f"{path}: installed", flush=True)

        installer.install("newer")
        await_operator("newer")
        await_configs()
        assert gates_of_the_pod(), "the upgrade has released a pod"
        create_gated_pod()
        print(f"{path}: upgraded", flush=True)

        installer.uninstall()
        assert_nothing_is_left()
        print(f"{path}: uninstalled", flush=True)


def clean_up():
    undeploy()
    kubectl("delete", "namespace", SCENE, "--ignore-not-found", "--timeout=120s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--xml", help="the results in JUnit's format")
    parser.add_argument("paths", nargs="*", metavar="PATH", help=", ".join(PATHS))
    args = parser.parse_args()
    suite = xml.etree.ElementTree.Element("testsuite", name="install")
    failed = False
    for path in args.paths or PATHS:
        case = xml.etree.ElementTree.SubElement(suite, "testcase", classname="install", name=path)
        start = time.monotonic()
        try:
            clean_up()
            flow(path)
        except (AssertionError, subprocess.SubprocessError, OSError) as error:
            failed = True
            traceback.print_exc()
            xml.etree.ElementTree.SubElement(case, "failure", message=str(error))
        case.set("time", f"{time.monotonic() - start:.1f}")
        print(f"{path}: {case.get('time')} s", flush=True)
    try:
        clean_up()
    finally:
        if args.xml:
            xml.etree.ElementTree.ElementTree(suite).write(args.xml)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
