#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the OLM bundle (registry+v1) from the rendered operator/manifests.

What OLM creates itself goes into the ClusterServiceVersion: the Deployment and the permissions.
OLM also creates the ServiceAccounts. The Namespace is a suggestion of the ClusterServiceVersion;
the ResourceQuota is left out, as a bundle cannot have either, and the NetworkPolicy, as OLM before
OpenShift 4.20 does not install a bundle that has one. The rest is a file each. Equal input gives
equal bytes.
"""

import argparse
import json

import archive
import installation
import kustomization
import references
import upgrade_graph
import yaml_text

IN_CSV = {"Deployment", "ServiceAccount"}
NOT_IN_BUNDLE = {"Namespace", "ResourceQuota", "NetworkPolicy"}
DOCKERFILE = """\
FROM scratch
{labels}
COPY manifests /manifests/
COPY metadata /metadata/
COPY tests/scorecard /tests/scorecard/
"""


def key_of(item, own_namespace):
    metadata = item["metadata"]
    return (item["kind"], metadata.get("namespace", own_namespace), metadata["name"])


def permissions(objects, own_namespace, binding_kind, account):
    """The rules that are bound to the operator's ServiceAccount, for (cluster)permissions, and the
    keys of these roles and bindings.

    The ServiceAccount of the cluster controller is not OLM's: the operator creates and deletes it.
    """
    rules, keys = [], set()
    for binding in objects:
        if (binding["kind"] != binding_kind or
                [subject["name"] for subject in binding["subjects"]] != [account]):
            continue
        _, namespace, _ = key_of(binding, own_namespace)
        role_key = (binding["roleRef"]["kind"], namespace, binding["roleRef"]["name"])
        role = next(item for item in objects if key_of(item, own_namespace) == role_key)
        rules.extend(role["rules"])
        keys |= {role_key, key_of(binding, own_namespace)}
    return [{"serviceAccountName": account, "rules": rules}], keys


def service_version(csv, objects, examples, version):
    """Completes `csv`. Returns the objects that it does not contain."""
    namespace = next(o for o in objects if o["kind"] == "Namespace")
    own_namespace = namespace["metadata"]["name"]
    deployments = [o for o in objects if o["kind"] == "Deployment"]
    pod = deployments[0]["spec"]["template"]["spec"]
    cluster_permissions, cluster_keys = permissions(
        objects, own_namespace, "ClusterRoleBinding", pod["serviceAccountName"])
    own_permissions, own_keys = permissions(
        objects, own_namespace, "RoleBinding", pod["serviceAccountName"])

    csv["metadata"]["name"] = upgrade_graph.bundle_name(version)
    csv["spec"]["version"] = version
    csv["spec"]["install"] = {"strategy": "deployment", "spec": {
        "clusterPermissions": cluster_permissions,
        "permissions": own_permissions,
        "deployments": [{"name": o["metadata"]["name"], "label": o["metadata"]["labels"],
                         "spec": o["spec"]} for o in deployments]}}
    container = pod["containers"][0]
    images = {"operator": container["image"]}
    for variable in container["env"]:
        if variable["name"].startswith("RELATED_IMAGE_"):
            images[variable["name"].removeprefix("RELATED_IMAGE_").lower()] = variable["value"]
    csv["spec"]["relatedImages"] = [{"name": name, "image": image}
                                    for name, image in images.items()]
    annotations = csv["metadata"]["annotations"]
    annotations["olm.skipRange"] = upgrade_graph.skip_range(version)
    annotations["containerImage"] = container["image"]
    annotations["alm-examples"] = json.dumps(examples, indent=2)
    annotations["operatorframework.io/suggested-namespace-template"] = json.dumps(namespace)
    csv["metadata"]["labels"] = {"operatorframework.io/os.linux": "supported"}
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    for expression in terms["nodeSelectorTerms"][0]["matchExpressions"]:
        if expression["key"] == "kubernetes.io/arch":
            for architecture in expression["values"]:
                csv["metadata"]["labels"][f"operatorframework.io/arch.{architecture}"] = "supported"
    # Objects of other namespaces have no place in a bundle: see docs/operations.md.
    return [o for o in objects if o["kind"] not in IN_CSV | NOT_IN_BUNDLE and
            o["metadata"].get("namespace", own_namespace) == own_namespace and
            key_of(o, own_namespace) not in cluster_keys | own_keys]


def files_of_bundle(args):
    with open(args.manifests, encoding="utf-8") as file:
        manifests = json.load(file)
    refs = references.References(args.reference, args.registry)
    objects = installation.objects_of(manifests, refs, args.component)
    with open(args.version_file, encoding="utf-8") as file:
        version = file.read().strip()
    csv = yaml_text.read(args.csv)
    rest = service_version(csv, objects, kustomization.read_yaml(args.examples), version)

    def dump(value):
        return yaml_text.dump(value).encode()

    annotations = yaml_text.read(args.annotations)
    labels = "\n".join(f"LABEL {key}={value}" for key, value in annotations["annotations"].items())
    files = {
        f"manifests/{upgrade_graph.PACKAGE}.clusterserviceversion.yaml": dump(csv),
        "metadata/annotations.yaml": dump(annotations),
        "tests/scorecard/config.yaml": dump(yaml_text.read(args.scorecard)),
        "bundle.Dockerfile": DOCKERFILE.format(labels=labels).encode(),
    }
    for item in rest:
        item["metadata"].pop("namespace", None)  # OLM sets it
        name = f'manifests/{item["metadata"]["name"]}.{item["kind"].lower()}.yaml'
        files[name] = dump(item)
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("version-file", "csv", "examples", "annotations", "scorecard", "registry",
                 "manifests", "output"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--component", action="append", default=[])
    parser.add_argument("--reference", action="append", default=[], help="an image's .ref file")
    args = parser.parse_args()
    with open(args.output, "wb") as output:
        output.write(archive.tgz(files_of_bundle(args)))


if __name__ == "__main__":
    main()
