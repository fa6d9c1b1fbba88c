#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs kubectl-placement with its shared libraries, their loader and the licence texts of all of
them as a tar.gz, which runs wherever it is unpacked. Debian has BoringSSL and simdjson as shared
libraries alone, so the program cannot be linked statically. Equal input gives equal bytes."""

import argparse
import os

import elf
import licenses
import oci_layout
import sbom


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--linked-packages", required=True,
                        help="file with the Debian packages that are compiled in, one a line")
    parser.add_argument("--root", default="/", help="the folder that has the shared libraries")
    parser.add_argument("--file", action="append", default=[], help="SOURCE=NAME_IN_ARCHIVE")
    parser.add_argument("--archive", required=True)
    args = parser.parse_args()

    with open(args.linked_packages, encoding="utf-8") as lines:
        linked = lines.read().split()
    loader = elf.loader_of(args.binary)
    libraries = elf.shared_libraries(args.binary, args.root)
    database = sbom.PackageDatabase(args.root)
    packages = database.packages(
        sbom.relationships_of(database, libraries.values(), [], linked))
    files = {name.replace("usr/share", "licenses", 1): (file, 0o644)
             for name, file in licenses.texts_of(packages).items()}
    files |= {f"lib/{name}": (file, 0o755) for name, file in libraries.items()}
    files[f"lib/{os.path.basename(loader)}"] = (os.path.join(args.root, loader.lstrip("/")), 0o755)
    files["lib/" + os.path.basename(args.binary)] = (args.binary, 0o755)
    for pair in args.file:
        source, _, name = pair.partition("=")
        files[name] = (source, 0o755 if os.access(source, os.X_OK) else 0o644)
    _, compressed = oci_layout.layer_of(files)
    with open(args.archive, "wb") as out:
        out.write(compressed)


if __name__ == "__main__":
    main()
