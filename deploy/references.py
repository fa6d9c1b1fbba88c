# SPDX-License-Identifier: Apache-2.0
"""The references of the images in an installation that the build packs.

The images of the manifests are localhost/pod-placement/NAME. Each has two .ref files: image.ref of
the image for nodes of this machine's architecture, index.ref of all architectures that are built.
With the registry `localhost`, the images are on the nodes, and their tags follow from their
content. With another one, this is a release: the images have the version as their tag, and the
digest.
"""

import os

LOCAL = "localhost"
# What `make images` builds.
ALL_ARCHITECTURES = "amd64,arm64,ppc64le,s390x"


def read(path):
    """The fields of a .ref file: NAME, TAG, DIGEST, VERSION and ARCHITECTURES."""
    with open(path, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)


class References:
    """Of the .ref files `paths`, with the registry and its path, such as host/path."""

    def __init__(self, paths, registry):
        if not registry or registry.startswith("/") or registry.endswith("/") or "//" in registry:
            raise SystemExit(f"REGISTRY={registry}: must be like registry.example.com/placement")
        self.registry = registry
        self.is_release = registry != LOCAL
        self.nodes, self.indexes = {}, {}
        for path in paths:
            fields = read(path)
            found = self.indexes if os.path.basename(path) == "index.ref" else self.nodes
            found[fields["NAME"]] = fields

    def for_all_architectures(self):
        """Whether this is a release whose images are all there for all architectures."""
        built = {fields["ARCHITECTURES"] for fields in self.indexes.values()}
        return self.is_release and built == {ALL_ARCHITECTURES}

    def in_registry(self):
        """NAME:TAG of each image in a registry, by its NAME."""
        if not self.is_release:
            return {name: f'{name}:{fields["TAG"]}' for name, fields in self.indexes.items()}
        return {name: f'{name}:{fields["VERSION"]}@{fields["DIGEST"]}'
                for name, fields in self.indexes.items()}

    def on_nodes(self):
        return {name: f'{name}:{fields["TAG"]}' for name, fields in self.nodes.items()}

    def images(self):
        """The whole references, by the names in the manifests."""
        found = self.in_registry() if self.is_release else self.on_nodes()
        return {f"{LOCAL}/{name}": f"{self.registry}/{image}" for name, image in found.items()}


def with_images(value, images):
    """`value` with every text that is an image of the manifests replaced."""
    if isinstance(value, dict):
        return {key: with_images(child, images) for key, child in value.items()}
    if isinstance(value, list):
        return [with_images(child, images) for child in value]
    return images.get(value, value) if isinstance(value, str) else value
