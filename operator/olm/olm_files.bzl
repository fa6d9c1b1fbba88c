# SPDX-License-Identifier: Apache-2.0
"""What OLM installs the operator from."""

load("//deploy:packer.bzl", "packer")

_VISIBILITY = ["//operator:__subpackages__"]

def olm_files(references, prefix = "", registry = None):
    """Makes the target bundle: bundle.tgz. Its name begins with `prefix`.

    Args:
      references: the .ref files of the images.
      prefix: of the names.
      registry: see packer.bzl.
    """
    bundle = prefix + "bundle"
    packer(
        name = bundle,
        arguments = [
            "--component=openshift",
            "--manifests=$(location //operator/manifests)",
            "--version-file=$(location //:VERSION)",
        ] + [
            "--{0}=$(location {0}.yaml)".format(file)
            for file in ["annotations", "csv", "examples", "scorecard"]
        ],
        output = bundle + ".tgz",
        references = references,
        registry = registry,
        srcs = [
            "annotations.yaml",
            "csv.yaml",
            "examples.yaml",
            "scorecard.yaml",
            "//:VERSION",
            "//operator/manifests",
        ],
        tool = "build_bundle.py",
        visibility = _VISIBILITY,
    )
