#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the OLM bundle (registry+v1) from the rendered operator/manifests.

What OLM creates itself goes into the ClusterServiceVersion: the Deployment and the permissions.
OLM also creates the ServiceAccounts. The Namespace is a suggestion of the ClusterServiceVersion,
and the ResourceQuota is left out, as a bundle cannot have either. The rest is a file each. Equal
input gives equal bytes.
"""

import argparse
import gzip
import io
import json
import os
import tarfile

import yaml

import kustomization

PACKAGE = "multiarch-tuning-operator"
# What `make images` builds.
ALL_ARCHITECTURES = "amd64,arm64,ppc64le,s390x"
IN_CSV = {"Deployment", "ServiceAccount"}
NOT_IN_BUNDLE = {"Namespace", "ResourceQuota"}
DOCKERFILE = """\
FROM scratch
{labels}
COPY manifests /manifests/
COPY metadata /metadata/
COPY tests/scorecard /tests/scorecard/
"""


class Dumper(yaml.SafeDumper):
    """Repeats equal values instead of naming them with anchors."""

    def ignore_aliases(self, data):
        return True


def read_yaml(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def with_images(value, images):
    """`value` with every text that is an image of the manifests replaced."""
    if isinstance(value, dict):
        return {key: with_images(child, images) for key, child in value.items()}
    if isinstance(value, list):
        return [with_images(child, images) for child in value]
    return images.get(value, value) if isinstance(value, str) else value


def images_of(references, registry):
    """The images with their registry, by the names in the manifests, and their architectures."""
    images, architectures = {}, set()
    # A node has the image of its own architecture, a registry has the index of all.
    wanted = "image.ref" if registry == "localhost" else "index.ref"
    for reference in references:
        if os.path.basename(reference) != wanted:
            continue
        with open(reference, encoding="utf-8") as file:
            fields = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
        images["localhost/" + fields["NAME"]] = f'{registry}/{fields["NAME"]}:{fields["TAG"]}'
        architectures.add(fields["ARCHITECTURES"])
    return images, architectures


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

    csv["metadata"]["name"] = f"{PACKAGE}.v{version}"
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
    objects = manifests["base"]
    images, architectures = images_of(args.reference, args.registry)
    if architectures == {ALL_ARCHITECTURES}:
        args.component.append("all-architectures")
    for component in args.component:
        kustomization.add(objects, manifests["components"][component])
    objects = with_images(objects, images)
    with open(args.version_file, encoding="utf-8") as file:
        version = file.read().strip()
    csv = read_yaml(args.csv)
    rest = service_version(csv, objects, kustomization.read_yaml(args.examples), version)

    def dump(value):
        return yaml.dump(value, Dumper=Dumper, width=100, sort_keys=True).encode()

    annotations = read_yaml(args.annotations)
    labels = "\n".join(f"LABEL {key}={value}" for key, value in annotations["annotations"].items())
    files = {
        f"manifests/{PACKAGE}.clusterserviceversion.yaml": dump(csv),
        "metadata/annotations.yaml": dump(annotations),
        "tests/scorecard/config.yaml": dump(read_yaml(args.scorecard)),
        "bundle.Dockerfile": DOCKERFILE.format(labels=labels).encode(),
    }
    for item in rest:
        item["metadata"].pop("namespace", None)  # OLM sets it
        name = f'manifests/{item["metadata"]["name"]}.{item["kind"].lower()}.yaml'
        files[name] = dump(item)
    return files


def archive(files):
    """A .tgz without times and owners."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as compressed:
        with tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, content in sorted(files.items()):
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), 0o644
                tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("version-file", "csv", "examples", "annotations", "scorecard", "registry",
                 "manifests", "output"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--component", action="append", default=[])
    parser.add_argument("--reference", action="append", default=[], help="an image's .ref file")
    args = parser.parse_args()
    with open(args.output, "wb") as output:
        output.write(archive(files_of_bundle(args)))


if __name__ == "__main__":
    main()
