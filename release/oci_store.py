# SPDX-License-Identifier: Apache-2.0
"""Folders in OCI's image layout, one for each repository of a release: images, charts and bundles
under their tags, and artifacts that refer to them. oras and skopeo copy from them.

Layout of a folder: https://github.com/opencontainers/image-spec/blob/main/image-layout.md. Equal
input gives equal bytes.
"""

import io
import json
import os
import tarfile

import yaml

import oci_layout

SPDX = "application/spdx+json"
_EMPTY = "application/vnd.oci.empty.v1+json"
_CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json"
_CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_CHART_PROVENANCE = "application/vnd.cncf.helm.chart.provenance.v1.prov"
_TAG = "org.opencontainers.image.ref.name"
_TITLE = "org.opencontainers.image.title"


class Layout:
    """The folder of one repository."""

    def __init__(self, folder):
        self._folder = folder
        self._entries = []
        os.makedirs(f"{folder}/blobs/sha256")
        self._write("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')

    def _write(self, name, data):
        with open(f"{self._folder}/{name}", "wb") as out:
            out.write(data)

    def add(self, entry, blobs, tag=None):
        """Adds the manifest or index with the descriptor `entry`. `blobs`: it and all its parts."""
        for blob in blobs:
            self._write("blobs/" + oci_layout.digest_of(blob).replace(":", "/"), blob)
        if tag:
            entry = {**entry, "annotations": {_TAG: tag}}
        self._entries.append(entry)
        index = {"schemaVersion": 2, "mediaType": oci_layout.INDEX, "manifests": self._entries}
        self._write("index.json", oci_layout.as_json(index))


def _without_annotations(entry):
    return {key: value for key, value in entry.items() if key != "annotations"}


def add_image(layout, archive, tag):
    """Adds the image or index in an OCI archive of the build. Returns its digest and
    [(architecture, descriptor)] of its platforms; an image that is no index has none."""
    entry, blobs = oci_layout.read_archive(archive)
    layout.add(_without_annotations(entry), blobs.values(), tag)
    manifests = json.loads(blobs[entry["digest"]]).get("manifests", [])
    platforms = [(manifest["platform"]["architecture"],
                  {key: manifest[key] for key in ("mediaType", "digest", "size")})
                 for manifest in manifests]
    for _, descriptor in platforms:
        # oras finds by its digest only what the layout's index names.
        layout.add(descriptor, [])
    return entry["digest"], platforms


def add_referrer(layout, subject, media_type, name, data):
    """Adds an artifact with one file that refers to the manifest `subject`. Returns its digest."""
    empty = b"{}"
    manifest = oci_layout.as_json({
        "schemaVersion": 2,
        "mediaType": oci_layout.MANIFEST,
        "artifactType": media_type,
        "config": oci_layout.descriptor(_EMPTY, empty),
        "layers": [oci_layout.descriptor(media_type, data, annotations={_TITLE: name})],
        "subject": subject,
    })
    entry = oci_layout.descriptor(oci_layout.MANIFEST, manifest, artifactType=media_type)
    layout.add(entry, [manifest, empty, data])
    return entry["digest"]


def chart_metadata(archive):
    """Chart.yaml of a packed chart."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        path = next(name for name in tar.getnames() if name.count("/") == 1 and
                    name.endswith("/Chart.yaml"))
        return yaml.safe_load(tar.extractfile(path).read())


def add_chart(layout, archive, provenance, tag):
    """Adds a packed Helm chart as `helm push` would. `provenance`: its .prov file, or None.
    Returns the digest."""
    config = oci_layout.as_json(chart_metadata(archive))
    layers, blobs = [oci_layout.descriptor(_CHART, archive)], [config, archive]
    if provenance:
        layers.append(oci_layout.descriptor(_CHART_PROVENANCE, provenance))
        blobs.append(provenance)
    manifest = oci_layout.as_json({
        "schemaVersion": 2,
        "mediaType": oci_layout.MANIFEST,
        "config": oci_layout.descriptor(_CHART_CONFIG, config),
        "layers": layers,
    })
    entry = oci_layout.descriptor(oci_layout.MANIFEST, manifest)
    layout.add(entry, [manifest, *blobs], tag)
    return entry["digest"]
