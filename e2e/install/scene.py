# SPDX-License-Identifier: Apache-2.0
"""The namespace of the install flows, with its configs and pods.

One pod is gated before the operator is replaced, and waits for a registry that does not answer.
Others are created while the operator is replaced; each must be gated, and placed.
"""

import contextlib
import os
import threading

from cluster import apply_when_reached, get, kubectl, wait_for, wait_for_none

NAMESPACE = "openshift-multiarch-tuning-operator"
SCENE = "pod-placement-install"
GROUP = "multiarch.openshift.io"
ARCHITECTURES = {"amd64", "arm64", "ppc64le", "s390x"}
PREFERRED = {"arm64": 10}

def create_namespace():
    kubectl("create", "--filename=-", text=f"""
apiVersion: v1
kind: Namespace
metadata: {{name: {SCENE}, labels: {{pod-placement-e2e: "true"}}}}
""")
    kubectl("wait", "--for=create", f"--namespace={SCENE}", "--timeout=60s",
            "serviceaccount/default", "configmap/kube-root-ca.crt")


def configs():
    return f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: install-registries, namespace: {NAMESPACE}}}
data:
  registries.conf: |
    [[registry]]
    location = "{os.environ["REGISTRY"]}"
    insecure = true
---
apiVersion: {GROUP}/v1beta1
kind: ClusterPodPlacementConfig
metadata: {{name: cluster}}
spec:
  inspectionRetryPeriod: 1h
  registriesConfigMapRef: {{name: install-registries}}
  namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {SCENE}}}}}
"""


SHARD = f"""
apiVersion: {GROUP}/v1beta1
kind: PodPlacementConfig
metadata: {{name: prefer, namespace: {SCENE}}}
spec:
  plugins:
    nodeAffinityScoring: {{enabled: true, platforms: [{{architecture: arm64, weight: 10}}]}}
"""


def pod(name, image):
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {SCENE}, labels: {{app: {name.split("-")[0]}}}}}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{{name: app, image: "{image}"}}]
"""


def create_configs():
    apply_when_reached(configs())
    kubectl("apply", "--filename=-", text=SHARD)
    await_configs()


def await_configs():
    kubectl("wait", "--for=condition=Available", "--timeout=180s",
            "clusterpodplacementconfig/cluster")
    kubectl("wait", "--for=condition=Available", "--timeout=180s", f"--namespace={SCENE}",
            "podplacementconfig/prefer")


def gates_of_the_pod():
    spec = get("pod", "gated", f"--namespace={SCENE}")["spec"]
    return [gate["name"] for gate in spec.get("schedulingGates", [])]


def create_gated_pod():
    """Webhooks are called a moment after their configuration is written."""
    def gated():
        kubectl("delete", "pod", "gated", f"--namespace={SCENE}", "--ignore-not-found",
                "--grace-period=0", "--force", "--wait=true")
        # The address is reserved for documentation: nothing answers, and the pod stays gated.
        kubectl("create", "--filename=-", text=pod("gated", "192.0.2.1:5000/app:1"))
        return gates_of_the_pod()

    wait_for("a pod is gated", gated)


@contextlib.contextmanager
def pods_created_meanwhile():
    """Creates a pod every second; at the end, all of them must be placed."""
    end, errors, count = threading.Event(), [], 0

    def create():
        nonlocal count
        image = f"{os.environ['REGISTRY']}/demo/multi:1"
        while not errors and not end.wait(1):
            try:
                kubectl("create", "--filename=-", text=pod(f"meanwhile-{count}", image))
                count += 1
            except AssertionError as error:
                errors.append(error)

    creator = threading.Thread(target=create)
    creator.start()
    try:
        yield
    finally:
        end.set()
        creator.join()
    if errors:
        raise errors[0]
    wait_for_none("gated pods", lambda: [
        item["metadata"]["name"] for item in pods_of("meanwhile")
        if item["spec"].get("schedulingGates")])
    pods = pods_of("meanwhile")
    assert len(pods) == count > 0, f"{len(pods)} of {count} pods exist"
    for item in pods:
        assert_placed(item)
    print(f"{count} pods created meanwhile, all placed", flush=True)
    kubectl("delete", "pods", f"--namespace={SCENE}", "--selector=app=meanwhile", "--wait=false")


def pods_of(app):
    return get("pods", f"--namespace={SCENE}", f"--selector=app={app}")["items"]


def architectures(term):
    return [value for expression in term["matchExpressions"]
            if expression["key"] == "kubernetes.io/arch" for value in expression["values"]]


def assert_placed(item):
    """The pod had the cluster gate, requires the architectures of its image, and prefers what the
    config says."""
    name, labels = item["metadata"]["name"], item["metadata"].get("labels", {})
    assert labels.get(f"{GROUP}/scheduling-gate") == "removed", f"{name} was not gated: {labels}"
    affinity = item["spec"]["affinity"]["nodeAffinity"]
    required = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [set(architectures(term)) for term in required] == [ARCHITECTURES], f"{name}: {required}"
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution", [])
    weights = {architectures(entry["preference"])[0]: entry["weight"] for entry in preferred}
    assert weights == PREFERRED, f"{name}: {preferred}"
