#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a pushed release on the cluster of KUBECONFIG in every way, from an empty folder, after
its signatures: with kubectl, helm, cosign, oras and krew, and nothing of this repository but the
public key. The cluster must have no operator, and has none afterwards.

  check.py --registry HOST/PATH --version 0.2.0 --key cosign.pub [--insecure] [--xml FILE] [WAY...]

Without --key, the signatures are of the identity --identity, issued by --issuer (keyless).
WAY: signatures, helm, install.yaml, kustomize, olm, plugin; all by default. The first and the last
     need no cluster.
"""

import argparse
import os
import re
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
sys.path.append(f"{ROOT}/e2e/install")
# pylint: disable=wrong-import-position
import yaml

from bundle import as_list, objects_of_bundle
from cluster import (apply_when_reached, get, kubectl, objects, print_pods, run, wait_for,
                     wait_for_none)
from results import run_flows
from verify import Verifier

NAMESPACE = "openshift-multiarch-tuning-operator"
SCENE = "release-check"
GROUP = "multiarch.openshift.io"
CHART = "multiarch-tuning-operator"
WITHOUT_CLUSTER = {"signatures", "plugin"}
CHARTS = (CHART, "multiarch-fleet-hub", "multiarch-fleet-agent")
GATES = {f"{GROUP}/scheduling-gate", f"{GROUP}/local-scheduling-gate"}


class Check:
    """The release, with the files that a user has downloaded, in the current folder."""

    def __init__(self, args):
        if args.key:
            signer = [f"--key={args.key}"]
            if args.no_transparency_log:
                signer.append("--insecure-ignore-tlog")
        else:
            signer = [f"--certificate-identity-regexp={args.identity}",
                      f"--certificate-oidc-issuer={args.issuer}"]
        self.registry, self.version, self.insecure = args.registry, args.version, args.insecure
        self.keyring = args.keyring
        self.verifier = Verifier(args.registry, signer, args.insecure)
        self.before = None
        # Once: every way begins with files whose signature holds.
        self.verifier.pull("pod-placement/release", self.version, "files")
        self.verifier.checksums("files")

    def images(self, text):
        """The images of the release in a text, each by its digest."""
        found = set(re.findall(rf"{re.escape(self.registry)}/pod-placement/[^\s\"',]+", text))
        without = [image for image in found if "@sha256:" not in image]
        assert found and not without, f"images without a digest: {without or text[:200]}"
        return found

    def helm(self, *arguments):
        flags = ["--plain-http"] if self.insecure else []
        return run("helm", *arguments, *flags)

    def chart(self, name):
        return f"oci://{self.registry}/charts/{name}"

    # --- Ways

    def signatures(self):
        """All that the release consists of, and that another key has signed none of it."""
        verifier, version = self.verifier, self.version
        verifier.not_another_file("files")
        verifier.signature(f"{self.registry}/pod-placement/release:{version}")
        texts = [self.text_of("install.yaml")]
        for name in CHARTS:
            reference = f"{self.registry}/charts/{name}:{version}"
            verifier.signature(reference)
            verifier.provenance(reference, version)
            texts.append(self.helm("template", "x", self.chart(name), f"--version={version}",
                                   "--kube-version=1.30.0"))
            if self.keyring:
                self.helm("pull", self.chart(name), f"--version={version}", "--verify",
                          f"--keyring={self.keyring}")
        images = self.images("\n".join(texts))
        for image in sorted(images):
            repository, digest = image.removeprefix(f"{self.registry}/").split("@")
            assert verifier.signature(image) == digest, image
            statement = verifier.provenance(image, version)
            subjects = {subject["digest"]["sha256"] for subject in statement["subject"]}
            assert digest.removeprefix("sha256:") in subjects, f"{image}: {subjects}"
            count = verifier.sboms(repository.split(":")[0], digest)
            print(f"{image}: signed, with provenance and {count} SBOMs", flush=True)
        verifier.not_signed_by_another(sorted(images)[0])

    def install_by_helm(self):
        self.verifier.signature(f"{self.registry}/charts/{CHART}:{self.version}")
        self.helm("install", "placement", self.chart(CHART), f"--version={self.version}",
                  f"--namespace={NAMESPACE}", "--create-namespace", "--wait", "--timeout=180s")
        print(run("helm", "test", "placement", f"--namespace={NAMESPACE}"), flush=True)
        self.places_pods()
        run("helm", "uninstall", "placement", f"--namespace={NAMESPACE}", "--wait",
            "--timeout=300s")
        kubectl("delete", "crd", *crds())
        kubectl("delete", "namespace", NAMESPACE)

    def install_by_kubectl(self, source):
        kubectl("apply", "--server-side", source)
        self.await_operator()
        self.places_pods()
        self.delete_configs()
        kubectl("delete", source, "--timeout=120s")

    def install_yaml(self):
        self.install_by_kubectl("--filename=files/install.yaml")

    def kustomize(self):
        with tarfile.open(f"files/{CHART}-kustomize.tar.gz") as tar:
            tar.extractall(".")
        self.install_by_kubectl(f"--kustomize={CHART}-{self.version}")

    def olm(self):
        """What OLM creates; it is not on the cluster."""
        tag = f"v{self.version}"
        self.verifier.signature(f"{self.registry}/pod-placement/catalog:{tag}")
        catalog = self.verifier.files_of_image("pod-placement/catalog", tag)
        text = next(content for name, content in catalog.items()
                    if name.startswith("configs/") and name.endswith(".yaml"))
        entries = list(yaml.safe_load_all(text))
        head = next(entry for entry in entries if entry["schema"] == "olm.bundle" and
                    entry["name"].endswith(tag))
        reference = head["image"]
        digest = self.verifier.signature(reference)
        assert reference.endswith(digest), reference
        files = self.verifier.files_of_image("pod-placement/bundle", tag)
        for name, content in files.items():
            os.makedirs(os.path.dirname(f"bundle/{name}"), exist_ok=True)
            with open(f"bundle/{name}", "wb") as file:
                file.write(content)
        items = as_list(objects_of_bundle("bundle", NAMESPACE))
        self.images(items)
        kubectl("apply", "--server-side", "--filename=-", text=items)
        self.await_operator()
        self.places_pods()
        self.delete_configs()
        kubectl("delete", "--filename=-", "--timeout=120s", text=items)

    def plugin(self):
        """krew installs the plugin, after it has compared the checksum."""
        os.environ["KREW_ROOT"] = os.path.abspath("krew")
        run("krew", "install", "--manifest=files/placement.yaml",
            "--archive=files/kubectl-placement_linux_amd64.tar.gz", "--no-update-index")
        os.environ["PATH"] += f":{os.environ['KREW_ROOT']}/bin"
        said = run("kubectl", "placement", "--version")
        assert self.version in said, said

    # --- The operator

    def text_of(self, name):
        with open(f"files/{name}", encoding="utf-8") as file:
            return file.read()

    def await_operator(self):
        kubectl("rollout", "status", f"--namespace={NAMESPACE}", "--timeout=180s",
                f"deployment/{CHART}")

    def places_pods(self):
        """The operator places a pod of an image of the release, by its architectures."""
        apply_when_reached(self.configs())
        kubectl("wait", "--for=condition=Available", "--timeout=180s",
                "clusterpodplacementconfig/cluster")
        image = f"{self.registry}/pod-placement/webhook:{self.version}"

        def placed():
            kubectl("delete", "pod", "app", f"--namespace={SCENE}", "--ignore-not-found",
                    "--grace-period=0", "--force")
            kubectl("run", "app", f"--namespace={SCENE}", f"--image={image}")
            wait_for_none("gated pod", lambda: [
                gate for gate in get("pod", "app", f"--namespace={SCENE}")["spec"].get(
                    "schedulingGates", []) if gate["name"] in GATES])
            affinity = get("pod", "app", f"--namespace={SCENE}")["spec"].get("affinity", {})
            return affinity.get("nodeAffinity", {}).get(
                "requiredDuringSchedulingIgnoredDuringExecution")

        # Webhooks are called a moment after their configuration is written.
        required = wait_for("a pod is placed", placed)
        values = [expression["values"] for term in required["nodeSelectorTerms"]
                  for expression in term["matchExpressions"]
                  if expression["key"] == "kubernetes.io/arch"]
        wanted = self.verifier.manifest(image)["manifests"]
        assert values == [sorted(entry["platform"]["architecture"] for entry in wanted)], values
        print(f"a pod requires {', '.join(values[0])}", flush=True)

    def configs(self):
        host = self.registry.split("/")[0]
        insecure = "true" if self.insecure else "false"
        return f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: release-registries, namespace: {NAMESPACE}}}
data:
  registries.conf: |
    [[registry]]
    location = "{host}"
    insecure = {insecure}
---
apiVersion: {GROUP}/v1beta1
kind: ClusterPodPlacementConfig
metadata: {{name: cluster}}
spec:
  registriesConfigMapRef: {{name: release-registries}}
  namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {SCENE}}}}}
"""

    def delete_configs(self):
        """As the README says, before the operator is deleted."""
        kubectl("delete", "clusterpodplacementconfig", "cluster", "--timeout=120s")

    # --- The cluster

    def clean_up(self):
        """Nothing of the release is left, whatever failed."""
        kubectl("delete", "clusterpodplacementconfig", "--all", "--timeout=120s", check=False)
        run("helm", "uninstall", "placement", f"--namespace={NAMESPACE}", "--wait", check=False)
        kubectl("delete", "namespace", SCENE, NAMESPACE, "--ignore-not-found", "--timeout=120s")
        if self.before is None:
            self.before = objects()
        left = sorted(objects() - self.before)
        kinds = ("ClusterRole ", "ClusterRoleBinding ", "CustomResourceDefinition ")
        for line in left:
            if line.startswith(kinds):
                kind, _, name = line.partition(" ")
                kubectl("delete", kind.lower(), name.split("/")[1], "--ignore-not-found")

    def way(self, install):
        """A flow: installs, uninstalls, and leaves nothing."""
        def flow():
            kubectl("create", "namespace", SCENE)
            wait_for("a ServiceAccount", lambda: kubectl(
                "get", "serviceaccount", "default", f"--namespace={SCENE}", check=False))
            install()
            kubectl("delete", "namespace", SCENE, "--timeout=120s")
            wait_for_none("objects that are left", lambda: sorted(objects() - self.before))
        return flow


def crds():
    names = [item["metadata"]["name"] for item in get("crd")["items"]]
    return [name for name in names if name.endswith((GROUP, "kupid.gardener.cloud"))]


def run_ways(args, parser):
    """Runs the ways in the current folder, which is empty. Returns whether all passed."""
    check = Check(args)
    ways = {"signatures": check.signatures, "helm": check.way(check.install_by_helm),
            "install.yaml": check.way(check.install_yaml),
            "kustomize": check.way(check.kustomize), "olm": check.way(check.olm),
            "plugin": check.plugin}
    unknown = [name for name in args.ways if name not in ways]
    if unknown:
        parser.error(f"no such way: {', '.join(unknown)}")
    flows = {name: ways[name] for name in args.ways or ways}
    clean_up, explain = check.clean_up, lambda: print_pods(NAMESPACE, SCENE)
    if flows.keys() <= WITHOUT_CLUSTER:
        clean_up = explain = lambda: None
    return run_flows("release", flows, clean_up, explain, args.xml)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--registry", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--key", help="the public key that must have signed the release")
    parser.add_argument("--identity", help="a regular expression of the identity, without --key")
    parser.add_argument("--issuer", default="https://token.actions.githubusercontent.com")
    parser.add_argument("--keyring", help="public PGP keys in binary form, for `helm --verify`")
    parser.add_argument("--insecure", action="store_true", help="the registry has no TLS")
    parser.add_argument("--no-transparency-log", action="store_true",
                        help="the signatures are in no log")
    parser.add_argument("--xml", help="the results in JUnit's format")
    parser.add_argument("ways", nargs="*", metavar="WAY")
    args = parser.parse_args()
    if bool(args.key) == bool(args.identity):
        parser.error("give --key or --identity")
    args.xml = os.path.abspath(args.xml) if args.xml else None
    if args.key and "://" not in args.key:  # not the URI of a KMS
        args.key = os.path.abspath(args.key)
    args.keyring = os.path.abspath(args.keyring) if args.keyring else None
    with tempfile.TemporaryDirectory(prefix="release-check.") as folder:
        os.chdir(folder)
        passed = run_ways(args, parser)
        os.chdir("/")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
