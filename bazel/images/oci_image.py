#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs a program, the shared libraries that it loads, the programs in Go that it starts, and the
licence texts of all of these as an OCI image archive, and writes what is in it as an SPDX document.

Equal input gives equal bytes. `kind load image-archive`, `podman load`, `ctr images import` and
skopeo (`oci-archive:FILE`) read the archive. A third file has the parts of the image's reference:
NAME, TAG, DIGEST, VERSION and ARCHITECTURES.
"""

import argparse
import json
import os

import elf
import licenses
import oci_layout
import sbom

USER = "65532:65532"


def annotations_of(program, version):
    return {
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.title": program,
        "org.opencontainers.image.version": version,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--root", default="/", help="the folder that has the shared libraries")
    parser.add_argument("--repository", required=True, help="image name without host and tag")
    parser.add_argument("--version-file", required=True)
    parser.add_argument("--license", required=True, help="the text of the program's own licence")
    parser.add_argument("--linked-packages", required=True,
                        help="file with the Debian packages that are compiled in, one a line")
    parser.add_argument("--file", action="append", default=[], help="SOURCE=PATH_IN_IMAGE")
    parser.add_argument("--package", action="append", default=[],
                        help="the Debian package that provides a --file")
    parser.add_argument("--go-program", action="append", default=[],
                        help="NAME=PROGRAM=MODULES=LICENSES: a program, its name in the image, and "
                             "what go_modules.py wrote")
    parser.add_argument("--compiled-in", action="append", default=[],
                        help="NAME=MODULES=LICENSES: the same of what is compiled into the binary")
    parser.add_argument("--archive", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--sbom", required=True)
    args = parser.parse_args()

    with open(args.version_file, encoding="utf-8") as text:
        version = text.read().strip()
    with open(args.linked_packages, encoding="utf-8") as lines:
        linked = lines.read().split()
    program = os.path.basename(args.binary)
    machine = elf.machine_of(args.binary)
    loader = elf.loader_of(args.binary)

    # The path of each file in the image -> the file here. glibc's loader searches this folder
    # without an ld.so.cache.
    libraries = {f"usr/lib/{machine.triple}/{name}": file
                 for name, file in elf.shared_libraries(args.binary, args.root).items()}
    libraries[loader.lstrip("/")] = os.path.join(args.root, loader.lstrip("/"))
    files = {pair.partition("=")[2].lstrip("/"): pair.partition("=")[0] for pair in args.file}

    programs, modules, lists = {program: args.binary}, [], list(args.compiled_in)
    for parts in args.go_program:
        name, file, rest = parts.split("=", 2)
        programs[name] = file
        lists.append(f"{name}={rest}")
    for parts in lists:
        name, modules_file, texts = parts.split("=")
        files[f"usr/share/doc/{name}/copyright"] = texts
        with open(modules_file, encoding="utf-8") as text:
            modules += json.load(text)

    database = sbom.PackageDatabase(args.root)
    kinds = sbom.relationships_of(database, libraries.values(), args.package, linked)
    packages = database.packages(kinds)
    files |= licenses.texts_of(packages)
    files[f"usr/share/doc/{program}/LICENSE"] = args.license

    layer, compressed = oci_layout.layer_of({
        **{name: (file, 0o755) for name, file in programs.items()},
        **{name: (file, 0o755) for name, file in libraries.items()},
        **{name: (file, 0o644) for name, file in files.items()},
    })
    annotations = annotations_of(program, version)
    config = oci_layout.as_json({
        "architecture": machine.architecture,
        "os": "linux",
        "config": {
            "Entrypoint": ["/" + program],
            "Labels": annotations,
            "User": USER,
            "WorkingDir": "/",
        },
        "rootfs": {"type": "layers", "diff_ids": [oci_layout.digest_of(layer)]},
    })
    manifest = oci_layout.as_json({
        "schemaVersion": 2,
        "mediaType": oci_layout.MANIFEST,
        "config": oci_layout.descriptor(oci_layout.CONFIG, config),
        "layers": [oci_layout.descriptor(oci_layout.LAYER, compressed)],
        "annotations": annotations,
    })
    digest = oci_layout.digest_of(manifest)

    oci_layout.write_archive(args.archive, args.repository, oci_layout.MANIFEST, manifest,
                             [config, compressed])
    oci_layout.write_reference(args.reference, args.repository, digest, version,
                               [machine.architecture])
    document = sbom.document(
        sbom.Image(args.repository, version, machine.architecture, digest),
        kinds, packages, modules)
    with open(args.sbom, "w", encoding="utf-8") as out:
        out.write(document)


if __name__ == "__main__":
    main()
