#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the file-based catalog of the bundle, catalog.yaml: the package, its channel and the
bundle with what OLM shows and resolves without pulling the bundle's image.
Source: https://olm.operatorframework.io/docs/reference/file-based-catalogs/
"""

import argparse
import tarfile

import yaml

import references
import upgrade_graph
import yaml_text

# Of the ClusterServiceVersion's spec -> of the property olm.csv.metadata. Others have equal names.
RENAMED = {"customresourcedefinitions": "crdDescriptions",
           "apiservicedefinitions": "apiServiceDefinitions"}
METADATA = ("customresourcedefinitions", "apiservicedefinitions", "description", "displayName",
            "installModes", "keywords", "links", "maintainers", "maturity", "minKubeVersion",
            "nativeAPIs", "provider")


def manifests_of(bundle):
    """The objects of the bundle's folder manifests/."""
    with tarfile.open(bundle) as tar:
        return [yaml.safe_load(tar.extractfile(entry)) for entry in tar
                if entry.name.startswith("manifests/")]


def csv_metadata(csv):
    value = {RENAMED.get(name, name): csv["spec"][name] for name in METADATA if name in csv["spec"]}
    value.setdefault("apiServiceDefinitions", {})
    return {**value, "annotations": csv["metadata"]["annotations"],
            "labels": csv["metadata"]["labels"]}


def properties_of(csv, crds):
    properties = []
    for crd in crds:
        for version in crd["spec"]["versions"]:
            if version["served"]:
                properties.append({"type": "olm.gvk", "value": {
                    "group": crd["spec"]["group"], "kind": crd["spec"]["names"]["kind"],
                    "version": version["name"]}})
    properties.append({"type": "olm.package", "value": {
        "packageName": upgrade_graph.PACKAGE, "version": csv["spec"]["version"]}})
    properties.append({"type": "olm.csv.metadata", "value": csv_metadata(csv)})
    return properties


def catalog_of(manifests, image):
    """The documents of the catalog. `image` is the reference of the bundle's image."""
    csv = next(item for item in manifests if item["kind"] == "ClusterServiceVersion")
    crds = [item for item in manifests if item["kind"] == "CustomResourceDefinition"]
    version = csv["spec"]["version"]
    name = upgrade_graph.bundle_name(version)
    return [
        {"schema": "olm.package", "name": upgrade_graph.PACKAGE,
         "defaultChannel": upgrade_graph.CHANNEL, "description": csv["spec"]["description"]},
        {"schema": "olm.channel", "name": upgrade_graph.CHANNEL, "package": upgrade_graph.PACKAGE,
         "entries": [{"name": name, "skipRange": upgrade_graph.skip_range(version)}]},
        {"schema": "olm.bundle", "name": name, "package": upgrade_graph.PACKAGE, "image": image,
         "properties": properties_of(csv, crds),
         "relatedImages": [*csv["spec"]["relatedImages"], {"name": "", "image": image}]},
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", required=True, help="the bundle's .tgz")
    parser.add_argument("--reference", required=True, help="the .ref file of the bundle's image")
    parser.add_argument("--registry", required=True)
    parser.add_argument("--output", required=True)
    args = parser.parse_args()
    fields = references.read(args.reference)
    image = f'{args.registry}/{fields["NAME"]}@{fields["DIGEST"]}'
    with open(args.output, "w", encoding="utf-8") as output:
        output.write(yaml_text.dump_all(catalog_of(manifests_of(args.bundle), image)))


if __name__ == "__main__":
    main()
