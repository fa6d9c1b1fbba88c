# SPDX-License-Identifier: Apache-2.0
"""The images of the four programs, for targets that name or copy all of them."""

_PROGRAMS = ["cluster-controller", "operator", "shard", "webhook"]

# image: for nodes of this machine's architecture; index: for a registry.
IMAGE_REFERENCES = [
    "//{}:{}.ref".format(program, kind)
    for program in _PROGRAMS
    for kind in ["image", "index"]
]

IMAGE_ARCHIVES = ["//{}:index.tar".format(program) for program in _PROGRAMS]
