#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs files as an image that contains no program: the bundle's, or the catalog's.

The result is an index with an image for each architecture of nodes, all of the same layer: OLM
starts the image, with a program of its own, on any node of the cluster, and the runtime of a node
refuses an image of another architecture. Equal input gives equal bytes.
"""

import argparse
import tarfile

import yaml

import oci_layout
import references


def files_of(args):
    """Content by path in the image."""
    files = {}
    if args.bundle:
        with tarfile.open(args.bundle) as tar:
            files = {entry.name: tar.extractfile(entry).read() for entry in tar
                     if "/" in entry.name}  # not bundle.Dockerfile
    for pair in args.file:
        path, _, name = pair.partition("=")
        with open(path, "rb") as file:
            files[name] = file.read()
    return files


def labels_of(args, version):
    labels = dict(pair.split("=", 1) for pair in args.label)
    if args.annotations:
        with open(args.annotations, encoding="utf-8") as file:
            labels.update(yaml.safe_load(file)["annotations"])
    return {**labels,
            "org.opencontainers.image.licenses": "Apache-2.0",
            "org.opencontainers.image.title": args.title,
            "org.opencontainers.image.version": version}


def image(architecture, layer, compressed, labels):
    """(configuration, manifest) of the image for one architecture."""
    config = oci_layout.as_json({
        "architecture": architecture, "os": "linux",
        "config": {"Labels": labels, "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [oci_layout.digest_of(layer)]}})
    manifest = oci_layout.as_json({
        "schemaVersion": 2, "mediaType": oci_layout.MANIFEST,
        "config": oci_layout.descriptor(oci_layout.CONFIG, config),
        "layers": [oci_layout.descriptor(oci_layout.LAYER, compressed)],
        "annotations": labels})
    return config, manifest


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repository", required=True, help="image name without host and tag")
    parser.add_argument("--title", required=True)
    parser.add_argument("--version-file", required=True)
    parser.add_argument("--bundle", help="a .tgz whose folders become those of the image")
    parser.add_argument("--file", action="append", default=[], help="SOURCE=PATH_IN_IMAGE")
    parser.add_argument("--label", action="append", default=[], help="KEY=VALUE")
    parser.add_argument("--annotations", help="the bundle's annotations.yaml, for more labels")
    parser.add_argument("--archive", required=True)
    parser.add_argument("--reference", required=True)
    args = parser.parse_args()
    with open(args.version_file, encoding="utf-8") as file:
        version = file.read().strip()
    layer, compressed = oci_layout.layer_of(
        {name: (content, 0o644) for name, content in files_of(args).items()})
    labels = labels_of(args, version)
    architectures = references.ALL_ARCHITECTURES.split(",")
    blobs, descriptors = [compressed], []
    for architecture in architectures:
        config, manifest = image(architecture, layer, compressed, labels)
        blobs += [config, manifest]
        descriptors.append(oci_layout.descriptor(
            oci_layout.MANIFEST, manifest, platform={"architecture": architecture, "os": "linux"}))
    index = oci_layout.as_json({
        "schemaVersion": 2, "mediaType": oci_layout.INDEX, "manifests": descriptors,
        "annotations": labels})
    oci_layout.write_archive(args.archive, args.repository, oci_layout.INDEX, index, blobs)
    oci_layout.write_reference(args.reference, args.repository, oci_layout.digest_of(index),
                               version, architectures)


if __name__ == "__main__":
    main()
