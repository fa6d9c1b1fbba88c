#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs static programs as a one-layer image archive for this machine's architecture."""

import argparse
import pathlib
import platform

import oci

GOARCH = {"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64le", "s390x": "s390x"}


def pair(text):
    first, _, second = text.partition(":")
    return first, second


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", action="append", required=True,
                        help="name:tag of the image; may be repeated")
    parser.add_argument("--entrypoint", default="")
    parser.add_argument("--link", action="append", default=[], type=pair, metavar="PATH:TARGET")
    parser.add_argument("archive")
    parser.add_argument("files", nargs="+", type=pair, metavar="FILE:PATH")
    args = parser.parse_args()

    files = [(pathlib.Path(source).read_bytes(), path) for source, path in args.files]
    layer = oci.layer(files, args.link)
    config = oci.config(layer, GOARCH[platform.machine()], args.entrypoint.split())
    oci.write_archive(args.archive, oci.manifest(config, [layer]), args.name)


if __name__ == "__main__":
    main()
