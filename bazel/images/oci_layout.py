# SPDX-License-Identifier: Apache-2.0
"""OCI image archives: blobs, manifests, and the archive that has them. Equal input gives equal
bytes: no times and no owners.
"""

import gzip
import hashlib
import io
import json
import os
import tarfile

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def descriptor(media_type, data, **more):
    return {"mediaType": media_type, "digest": digest_of(data), "size": len(data), **more}


def tag_of(digest):
    """The tag is derived from the content: a name always means the same image."""
    return digest.removeprefix("sha256:")[:12]


def layer_of(files):
    """(tar file, its compressed form): sorted entries with their folders.

    `files` is {path in the image: (file here or its content, mode)}.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        folders = {os.path.join(*name.split("/")[:depth])
                   for name in files for depth in range(1, name.count("/") + 1)}
        for folder in sorted(folders):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for name, (source, mode) in sorted(files.items()):
            if isinstance(source, bytes):
                data = source
            else:
                with open(source, "rb") as content:
                    data = content.read()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue(), gzip.compress(buffer.getvalue(), 6, mtime=0)


def write_archive(path, repository, media_type, top, blobs):
    """An OCI archive whose one entry is `top`, an index or a manifest with the parts `blobs`."""
    name = f"localhost/{repository}:{tag_of(digest_of(top))}"
    index = as_json({
        "schemaVersion": 2,
        "manifests": [descriptor(media_type, top, annotations={
            "io.containerd.image.name": name,
            "org.opencontainers.image.ref.name": name,
        })],
    })
    members = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": index}
    for blob in [top, *blobs]:
        members["blobs/sha256/" + digest_of(blob).removeprefix("sha256:")] = blob
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))


def read_archive(path):
    """(entry of index.json, {digest: blob}) of an archive of write_archive."""
    blobs, entry = {}, None
    with tarfile.open(path) as tar:
        for member in tar.getmembers():
            data = tar.extractfile(member).read()
            if member.name == "index.json":
                entry = json.loads(data)["manifests"][0]
            elif member.name.startswith("blobs/sha256/"):
                blobs[digest_of(data)] = data
    if entry is None or entry["digest"] not in blobs:
        raise SystemExit(f"{path}: not an OCI archive")
    return entry, blobs


def write_reference(path, repository, digest, version, architectures):
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"NAME={repository}\nTAG={tag_of(digest)}\nDIGEST={digest}\n"
                  f"VERSION={version}\nARCHITECTURES={','.join(architectures)}\n")


def read_reference(path):
    with open(path, encoding="utf-8") as lines:
        return dict(line.rstrip("\n").split("=", 1) for line in lines)
