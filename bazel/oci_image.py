#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs a program and the shared libraries that it loads as an OCI image archive.

Equal input gives equal bytes. `kind load image-archive`, `podman load`, `ctr images import` and
skopeo (`oci-archive:FILE`) read the archive. A second file has the parts of the image's reference:
NAME, TAG and DIGEST.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile

# glibc's loader searches this folder without an ld.so.cache.
LIBRARY_DIR = "usr/lib/x86_64-linux-gnu"
LOADER = "lib64/ld-linux-x86-64.so.2"
USER = "65532:65532"


def shared_libraries(binary):
    """Yields (name in the image, file here) of each library that the loader maps for `binary`."""
    listing = subprocess.run(["ldd", binary], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        found = re.match(r"\s*(\S+) => (/\S+) \(", line)
        if found:
            yield f"{LIBRARY_DIR}/{os.path.basename(found[1])}", found[2]
        elif "not found" in line:
            raise SystemExit(f"{binary}: {line.strip()}")
        elif "/ld-linux" in line:
            yield LOADER, line.split()[0]


def layer_of(files):
    """An uncompressed layer: sorted entries with their folders, without times and owners."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        folders = {os.path.join(*name.split("/")[:depth])
                   for name in files for depth in range(1, name.count("/") + 1)}
        for folder in sorted(folders):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for name, (source, mode) in sorted(files.items()):
            with open(source, "rb") as content:
                data = content.read()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--repository", required=True, help="image name without host and tag")
    parser.add_argument("--file", action="append", default=[], help="SOURCE=PATH_IN_IMAGE")
    parser.add_argument("--archive", required=True)
    parser.add_argument("--reference", required=True)
    args = parser.parse_args()

    program = os.path.basename(args.binary)
    files = {program: (args.binary, 0o755)}
    for name, source in shared_libraries(args.binary):
        files[name] = (source, 0o755)
    for pair in args.file:
        source, _, name = pair.partition("=")
        files[name.lstrip("/")] = (source, 0o644)

    layer = layer_of(files)
    blob = gzip.compress(layer, 6, mtime=0)
    config = as_json({
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": ["/" + program], "User": USER, "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [digest_of(layer)]},
    })
    manifest = as_json({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {
            "mediaType": "application/vnd.oci.image.config.v1+json",
            "digest": digest_of(config),
            "size": len(config),
        },
        "layers": [{
            "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
            "digest": digest_of(blob),
            "size": len(blob),
        }],
    })
    digest = digest_of(manifest)
    # The tag is derived from the content: a name always means the same image.
    tag = digest.removeprefix("sha256:")[:12]
    index = as_json({
        "schemaVersion": 2,
        "manifests": [{
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": digest,
            "size": len(manifest),
            "annotations": {
                "io.containerd.image.name": f"localhost/{args.repository}:{tag}",
                "org.opencontainers.image.ref.name": f"localhost/{args.repository}:{tag}",
            },
        }],
    })

    with tarfile.open(args.archive, "w", format=tarfile.USTAR_FORMAT) as tar:
        blobs = {"blobs/sha256/" + digest_of(data)[7:]: data for data in (config, manifest, blob)}
        members = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": index, **blobs}
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    with open(args.reference, "w") as out:
        out.write(f"NAME={args.repository}\nTAG={tag}\nDIGEST={digest}\n")


if __name__ == "__main__":
    main()
