#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs hub and agent of a fleet by each path on the cluster of KUBECONFIG, which becomes a
member of its own fleet; rolls configs out to it; upgrades, and uninstalls both.

e2e/test.sh runs it on the kind cluster, at the root of the repository, with the operator deployed,
the images on the nodes and everything built. The cluster must have no fleet, and has none
afterwards.

  fleet_flows.py [--xml FILE] [PATH...]    PATH: kustomize, helm, deploy
"""

import argparse
import functools
import os
import sys
import tempfile
import time

import yaml

ROOT = os.getcwd()
sys.path.insert(0, f"{ROOT}/e2e/install")  # what the operator's install flows use too

import scene
from cluster import get, kubectl, objects, print_pods, run, wait_for, wait_for_none
from overlay import image_of, write_overlay
from results import run_flows
from scene import NAMESPACE, SCENE

HUB, AGENT, MEMBER = "multiarch-fleet", "multiarch-fleet-member", "kind"
CRDS = f"{ROOT}/fleet/api/crds"
CLUSTER_API = "cluster.open-cluster-management.io"
IN_SCENE = f"--namespace={SCENE}"
REPLICAS = 2  # of hub and agent each

TOOLS = {"deploy_hub": "fleet/deploy/deploy_hub", "undeploy_hub": "fleet/deploy/undeploy_hub",
         "join": "fleet/standalone/deploy/join", "leave": "fleet/standalone/deploy/leave"}

# The first Placement matches by what the agent has published, the second one by nothing.
FLEET_OBJECTS = f"""
apiVersion: {CLUSTER_API}/v1beta2
kind: ManagedClusterSetBinding
metadata: {{name: global, namespace: {SCENE}}}
spec: {{clusterSet: global}}
---
apiVersion: {CLUSTER_API}/v1beta1
kind: Placement
metadata: {{name: near, namespace: {SCENE}}}
spec:
  predicates:
  - requiredClusterSelector:
      celSelector:
        celExpressions:
        - managedCluster.metadata.labels["region"] == "eu"
        - managedCluster.scores("multiarch").exists(s, s.name == "arm64.cpu" && s.value > 0)
---
apiVersion: {CLUSTER_API}/v1beta1
kind: Placement
metadata: {{name: far, namespace: {SCENE}}}
spec:
  predicates:
  - requiredClusterSelector:
      celSelector: {{celExpressions: ['managedCluster.metadata.labels["region"] == "us"']}}
---
apiVersion: multiarch.openshift.io/v1alpha1
kind: FleetPodPlacement
metadata: {{name: configs, namespace: {SCENE}}}
spec:
  placements: [{{name: near}}]
  clusterPodPlacementConfig:
    spec:
      namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {SCENE}}}}}
  podPlacementConfigs:
  - metadata: {{name: prefer, namespace: {SCENE}}}
    spec:
      plugins:
        nodeAffinityScoring: {{enabled: true, platforms: [{{architecture: arm64, weight: 10}}]}}
"""


def tool(name, *flags):
    """`bazel run //fleet:NAME`, built before."""
    path = TOOLS[name]
    run(f"./{path}", "--timeout=90", *flags,
        cwd=f"{ROOT}/bazel-bin/{path}.runfiles/pod_placement")


def of_member():
    return f"--hub-kubeconfig={os.environ['KUBECONFIG']}", f"--name={MEMBER}"


def join(*flags):
    # kind's kubeconfig reaches the API server at an address of this machine, pods do not.
    tool("join", *of_member(), "--hub-server=https://kubernetes.default.svc", "--labels=region=eu",
         *flags)


class Kustomize:
    """kubectl apply --kustomize; join only writes the Secret of the agent."""

    def __init__(self, folder):
        self.hub, self.agent = f"{folder}/hub", f"{folder}/agent"
        for overlay, program, components in (
                (self.hub, "hub", ("crds", "own-membership", "all-placements")),
                (self.agent, "agent", ())):
            there = os.path.relpath(f"{ROOT}/fleet/manifests/{program}", overlay)
            write_overlay(overlay, [f"{there}/base"], dict([image_of(ROOT, f"fleet/{program}")]),
                          [f"{there}/components/{name}" for name in components])

    @staticmethod
    def apply(overlay, namespace, name):
        kubectl("apply", "--server-side", f"--kustomize={overlay}")
        kubectl("rollout", "status", f"--namespace={namespace}", "--timeout=90s",
                f"deployment/{name}")

    def install(self):
        self.apply(self.hub, HUB, "multiarch-fleet-hub")
        join("--agent=false")
        self.apply(self.agent, AGENT, "multiarch-fleet-agent")

    upgrade = install

    def uninstall(self):
        tool("leave", *of_member())
        kubectl("delete", f"--kustomize={self.hub}", "--timeout=90s")


class Deploy:
    """The tools of fleet/deploy."""

    def __init__(self, _folder):
        pass

    def install(self):
        tool("deploy_hub", "--membership=own", "--placements=all")
        join()

    upgrade = install

    def uninstall(self):
        tool("leave", *of_member())
        tool("undeploy_hub", "--delete-crds")


class Helm:
    """A chart each; join only writes the Secret of the agent."""

    def __init__(self, _folder):
        self.command = "install"

    def apply(self, name, namespace, *flags):
        run("helm", self.command, name, f"{ROOT}/bazel-bin/fleet/helm/multiarch-fleet-{name}.tgz",
            f"--namespace={namespace}", "--wait", "--timeout=90s", *flags)

    def install(self):
        values = "components.own-membership=true,components.all-placements=true"
        created = ["--create-namespace"] if self.command == "install" else []
        self.apply("hub", HUB, f"--set={values}", *created)
        join("--agent=false")
        self.apply("agent", AGENT)

    def upgrade(self):
        self.command = "upgrade"
        self.install()

    def uninstall(self):
        helm_uninstall("agent", AGENT)
        tool("leave", *of_member())
        helm_uninstall("hub", HUB)
        kept = crds()
        get("crd", *kept)
        kubectl("delete", "crd", *kept, "--timeout=90s")
        kubectl("delete", "namespace", HUB, "--timeout=90s")


PATHS = {"kustomize": Kustomize, "helm": Helm, "deploy": Deploy}


def helm_uninstall(name, namespace, check=True):
    run("helm", "uninstall", name, f"--namespace={namespace}", "--wait", "--timeout=90s",
        check=check)


def crds():
    """The names of the fleet's CustomResourceDefinitions."""
    names = []
    for file in sorted(os.listdir(CRDS)):
        with open(f"{CRDS}/{file}", encoding="utf-8") as text:
            item = yaml.safe_load(text)
        if item["kind"] == "CustomResourceDefinition":
            names.append(item["metadata"]["name"])
    return names


def found():
    """All objects but those in the operator's namespace, some of which come with a config."""
    return {name for name in objects() if f" {NAMESPACE}/" not in name}


def pods():
    """The uids of all pods of hub and agent, which have run without a restart."""
    uids = set()
    for namespace in (HUB, AGENT):
        for pod in get("pods", f"--namespace={namespace}")["items"]:
            name = pod["metadata"]["name"]
            for status in pod["status"]["containerStatuses"]:
                assert status["ready"] and status["restartCount"] == 0, f"{name}: {status}"
            for container in pod["spec"]["containers"]:
                assert container["securityContext"]["readOnlyRootFilesystem"], name
            uids.add(pod["metadata"]["uid"])
    assert len(uids) == 2 * REPLICAS, f"{len(uids)} pods"
    return uids


def selected(placement):
    """The clusters in the PlacementDecisions."""
    decisions = get("placementdecisions", IN_SCENE,
                    f"--selector={CLUSTER_API}/placement={placement}")["items"]
    return [decision["clusterName"] for item in decisions
            for decision in item.get("status", {}).get("decisions", [])]


def satisfied(placement):
    """The reason of the condition PlacementSatisfied."""
    status = get("placement", placement, IN_SCENE).get("status", {})
    return [condition["reason"] for condition in status.get("conditions", [])
            if condition["type"] == "PlacementSatisfied"]


def roll_out():
    kubectl("apply", "--filename=-", text=FLEET_OBJECTS)
    wait_for("the Placement near selects the member", lambda: selected("near") == [MEMBER], 60)
    wait_for("the Placement far is decided, without a cluster",
             lambda: satisfied("far") == ["NoManagedClusterMatched"], 60)
    assert selected("far") == []
    kubectl("wait", "--for=condition=RolledOut", "--timeout=120s", IN_SCENE,
            "fleetpodplacement/configs")
    scene.await_configs()


def take_back():
    """The deletion of the FleetPodPlacement deletes the configs in the member."""
    kubectl("delete", "fleetpodplacement", "configs", IN_SCENE, "--timeout=120s")
    configs = get("clusterpodplacementconfigs,podplacementconfigs", "--all-namespaces")["items"]
    assert not configs, configs
    kubectl("delete", "placements,managedclustersetbindings", "--all", IN_SCENE, "--timeout=60s")


def flow(path):
    start = time.monotonic()

    def done(what):
        print(f"{path}: {what} after {time.monotonic() - start:.0f} s", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        installer = PATHS[path](folder)
        scene.create_namespace()
        before = found()
        installer.install()
        kubectl("wait", "--for=condition=ManagedClusterConditionAvailable", "--timeout=60s",
                f"managedcluster/{MEMBER}")
        done("joined")
        roll_out()
        done("rolled out")
        running = pods()
        installer.upgrade()
        assert pods() == running, "an upgrade to the same version has replaced pods"
        done("upgraded")
        take_back()
        installer.uninstall()
        # Objects of a namespace, and those that a Placement owns, are deleted soon after it.
        wait_for_none("objects that are left", lambda: sorted(found() - before))
        done("uninstalled")


def clean_up():
    """Removes what a flow has left, also one that failed."""
    kubectl("delete", "fleetpodplacements", "--all", "--all-namespaces", "--timeout=60s",
            check=False)
    helm_uninstall("agent", AGENT, check=False)
    tool("leave", *of_member(), "--delete-objects")
    helm_uninstall("hub", HUB, check=False)
    tool("undeploy_hub", "--delete-crds")
    kubectl("delete", "namespace", SCENE, "--ignore-not-found", "--timeout=120s")


def explain():
    print_pods(HUB, AGENT, SCENE, NAMESPACE)
    kinds = ("managedclusters,placements,placementdecisions,fleetpodplacements,podplacementworks,"
             "clusterpodplacementconfigs,podplacementconfigs")
    print(kubectl("get", kinds, "--all-namespaces", "--output=yaml", check=False), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--xml", help="the results in JUnit's format")
    parser.add_argument("paths", nargs="*", metavar="PATH", help=", ".join(PATHS))
    args = parser.parse_args()
    flows = {path: functools.partial(flow, path) for path in args.paths or PATHS}
    passed = run_flows("fleet", flows, clean_up, explain, args.xml)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
