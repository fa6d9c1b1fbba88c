#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins the images of a program for several architectures to one OCI index, in an archive.

`make images` leaves the images of other architectures as ARCHITECTURE.tar, and beside them the file
`native.digest` with the digest of the native image that was built from the same sources. If the
native image is another one by now, the others are outdated and are left out.
"""

import argparse
import json
import os
import sys

import oci_layout


def platform_of(manifest, blobs):
    config = json.loads(blobs[json.loads(manifest)["config"]["digest"]])
    return {"architecture": config["architecture"], "os": config["os"]}


def current_images(native_digest, files):
    """The archives among `files`, or none if they are outdated."""
    archives = sorted(file for file in files if file.endswith(".tar"))
    digests = [file for file in files if os.path.basename(file) == "native.digest"]
    for file in digests:
        with open(file, encoding="utf-8") as text:
            if text.read().strip() == native_digest:
                return archives
    if archives:
        print(f"images: {', '.join(archives)}: built from other sources than the native image, and "
              "left out; run `make images`", file=sys.stderr)
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", required=True, help="the archive of the native image")
    parser.add_argument("--image-reference", required=True)
    parser.add_argument("--archive", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("other", nargs="*", help="the files that `make images` left")
    args = parser.parse_args()

    native = oci_layout.read_reference(args.image_reference)
    images, blobs = {}, {}
    for archive in [args.image, *current_images(native["DIGEST"], args.other)]:
        entry, parts = oci_layout.read_archive(archive)
        manifest = parts[entry["digest"]]
        platform = platform_of(manifest, parts)
        images[platform["architecture"]] = oci_layout.descriptor(
            oci_layout.MANIFEST, manifest, platform=platform)
        blobs.update(parts)
    annotations = json.loads(blobs[native["DIGEST"]])["annotations"]
    index = oci_layout.as_json({
        "schemaVersion": 2,
        "mediaType": oci_layout.INDEX,
        "manifests": [images[architecture] for architecture in sorted(images)],
        "annotations": annotations,
    })
    oci_layout.write_archive(args.archive, native["NAME"], oci_layout.INDEX, index, blobs.values())
    oci_layout.write_reference(args.reference, native["NAME"], oci_layout.digest_of(index),
                               native["VERSION"], sorted(images))


if __name__ == "__main__":
    main()
