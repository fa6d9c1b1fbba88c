# SPDX-License-Identifier: Apache-2.0
"""A release for tests: with a registry, and images for all architectures."""

RELEASE_REGISTRY = "registry.example.com/placement"

def _file(reference):
    return reference[2:].replace(":", "/")

def release_references(references):
    """The .ref files `references`, where those of indexes have all architectures."""
    return [
        "//deploy/testing:" + _file(reference) if reference.endswith(":index.ref") else reference
        for reference in references
    ]

def all_architectures(references):
    """Makes the .ref files of release_references()."""
    for reference in references:
        if reference.endswith(":index.ref"):
            output = _file(reference)
            native.genrule(
                name = output.replace("/", "_"),
                srcs = [reference],
                outs = [output],
                cmd = "sed 's/^ARCHITECTURES=.*/ARCHITECTURES=amd64,arm64,ppc64le,s390x/' $< >$@",
                visibility = ["//visibility:public"],
            )
