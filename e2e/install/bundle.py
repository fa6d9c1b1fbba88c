# SPDX-License-Identifier: Apache-2.0
"""The objects that OLM creates from a bundle."""

import json
import os

import yaml

NAMESPACED = ("Service", "ConfigMap", "NetworkPolicy", "PodDisruptionBudget", "Role", "RoleBinding")
RBAC = "rbac.authorization.k8s.io"
SUGGESTED_NAMESPACE = "operatorframework.io/suggested-namespace-template"


def objects_of_bundle(folder, namespace):
    """All of them, with the namespace that the bundle suggests; `folder` has manifests/."""
    manifests = []
    for name in sorted(os.listdir(f"{folder}/manifests")):
        with open(f"{folder}/manifests/{name}", encoding="utf-8") as file:
            manifests.append(yaml.safe_load(file))
    csv = next(item for item in manifests if item["kind"] == "ClusterServiceVersion")
    manifests.remove(csv)
    for item in manifests:
        if item["kind"] in NAMESPACED:
            item["metadata"]["namespace"] = namespace
    return manifests + objects_of_csv(csv, namespace)


def objects_of_csv(csv, namespace):
    install = csv["spec"]["install"]["spec"]
    accounts, result = set(), []
    for field, role, scope in (("clusterPermissions", "ClusterRole", {}),
                               ("permissions", "Role", {"namespace": namespace})):
        for entry in install[field]:
            account = entry["serviceAccountName"]
            accounts.add(account)
            metadata = {"name": f"olm-{account}", **scope}
            result += [
                {"apiVersion": f"{RBAC}/v1", "kind": role, "metadata": metadata,
                 "rules": entry["rules"]},
                {"apiVersion": f"{RBAC}/v1", "kind": f"{role}Binding", "metadata": metadata,
                 "roleRef": {"apiGroup": RBAC, "kind": role, "name": metadata["name"]},
                 "subjects": [{"kind": "ServiceAccount", "name": account,
                               "namespace": namespace}]}]
    for account in sorted(accounts):
        result.append({"apiVersion": "v1", "kind": "ServiceAccount",
                       "metadata": {"name": account, "namespace": namespace}})
    for deployment in install["deployments"]:
        result.append({"apiVersion": "apps/v1", "kind": "Deployment", "spec": deployment["spec"],
                       "metadata": {"name": deployment["name"], "namespace": namespace,
                                    "labels": deployment["label"]}})
    return [json.loads(csv["metadata"]["annotations"][SUGGESTED_NAMESPACE])] + result


def as_list(items):
    """The objects as a List for kubectl, with the namespace first."""
    ordered = sorted(items, key=lambda item: item["kind"] != "Namespace")
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": ordered})
