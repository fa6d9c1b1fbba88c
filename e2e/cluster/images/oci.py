# SPDX-License-Identifier: Apache-2.0
"""Container images as bytes: layers, configs, manifests and indexes, in OCI's and Docker's types.

Equal input gives equal bytes (no times, owners or random ids): digests are the same in every run.

    layer = oci.layer([(program_bytes, "/pause")])
    config = oci.config(layer, "arm64", entrypoint=["/pause"])
    manifest = oci.manifest(config, [layer])
    index = oci.index([(manifest, {"os": "linux", "architecture": "arm64"})])
"""

import dataclasses
import gzip
import hashlib
import io
import json
import tarfile


@dataclasses.dataclass(frozen=True)
class Kind:
    """The media types of one family of images."""

    index: str
    manifest: str
    config: str
    layer: str


OCI = Kind(
    index="application/vnd.oci.image.index.v1+json",
    manifest="application/vnd.oci.image.manifest.v1+json",
    config="application/vnd.oci.image.config.v1+json",
    layer="application/vnd.oci.image.layer.v1.tar+gzip",
)
DOCKER = Kind(
    index="application/vnd.docker.distribution.manifest.list.v2+json",
    manifest="application/vnd.docker.distribution.manifest.v2+json",
    config="application/vnd.docker.container.image.v1+json",
    layer="application/vnd.docker.image.rootfs.diff.tar.gzip",
)


@dataclasses.dataclass(frozen=True)
class Blob:
    media_type: str
    data: bytes
    # The blobs that `data` refers to. A registry requires them before `data`.
    parts: tuple = ()
    # The digest of a layer's uncompressed tar file, for the image's config.
    diff_id: str = ""

    @property
    def digest(self):
        return digest(self.data)

    def descriptor(self, **more):
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.data), **more}


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def json_blob(media_type, value, parts=()):
    return Blob(media_type, json.dumps(value, separators=(",", ":")).encode(), tuple(parts))


def layer(files, links=(), kind=OCI):
    """A layer of programs, `files` (contents, path), and symbolic `links` (path, target)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tmp = tarfile.TarInfo("tmp")
        tmp.type, tmp.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(tmp)
        for contents, path in files:
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size, entry.mode = len(contents), 0o755
            tar.addfile(entry, io.BytesIO(contents))
        for path, target in links:
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
    data = buffer.getvalue()
    # Level 1: the layers stay on one machine, so time matters more than size.
    return Blob(kind.layer, gzip.compress(data, 1, mtime=0), diff_id=digest(data))


def config(layer_blob, architecture, entrypoint=(), user="", kind=OCI):
    return json_blob(kind.config, {
        "architecture": architecture,
        "os": "linux",
        "config": {
            "Entrypoint": list(entrypoint) or None,
            "Env": ["PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "User": user,
        },
        "rootfs": {"type": "layers", "diff_ids": [layer_blob.diff_id]},
        "history": [{"created_by": "e2e/cluster/images"}],
    })


def manifest(config_blob, layers, kind=OCI):
    return json_blob(kind.manifest, {
        "schemaVersion": 2,
        "mediaType": kind.manifest,
        "config": config_blob.descriptor(),
        "layers": [blob.descriptor() for blob in layers],
    }, [config_blob, *layers])


def index(entries, kind=OCI):
    """An index or manifest list. `entries`: (manifest, platform) or (..., annotations)."""
    return json_blob(kind.index, {
        "schemaVersion": 2,
        "mediaType": kind.index,
        "manifests": [
            blob.descriptor(platform=platform, **({"annotations": more[0]} if more else {}))
            for blob, platform, *more in entries
        ],
    }, [blob for blob, *_ in entries])


def write_archive(path, manifest_blob, names):
    """An OCI archive for `ctr images import`, `podman load` and `kind load image-archive`."""
    def add(tar, name, data):
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = len(data), 0o644
        tar.addfile(entry, io.BytesIO(data))

    top = json.dumps({"schemaVersion": 2, "manifests": [
        manifest_blob.descriptor(annotations={
            "io.containerd.image.name": name,
            "org.opencontainers.image.ref.name": name.rsplit(":", 1)[1],
        }) for name in names
    ]}).encode()
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        add(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        add(tar, "index.json", top)
        for blob in (*manifest_blob.parts, manifest_blob):
            add(tar, "blobs/sha256/" + blob.digest.removeprefix("sha256:"), blob.data)
