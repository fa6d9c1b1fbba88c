# SPDX-License-Identifier: Apache-2.0
"""A kustomization that names the images on the nodes."""

import json
import os


def image_of(tree, package):
    """Name and tag of the image that a built tree has made of a package."""
    with open(f"{tree}/bazel-bin/{package}/image.ref", encoding="utf-8") as file:
        fields = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    return f'localhost/{fields["NAME"]}', fields["TAG"]


def write_overlay(folder, resources, images, components=()):
    """`images` has the tags by name. The paths are relative to `folder`, which is created."""
    os.makedirs(folder)
    with open(f"{folder}/kustomization.yaml", "w", encoding="utf-8") as file:
        # JSON quotes every text: without quotes, the tag 077339683557 is a number.
        json.dump({"resources": resources, "components": list(components),
                   "images": [{"name": name, "newTag": tag} for name, tag in images.items()]},
                  file)
