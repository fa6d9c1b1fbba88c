#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs a folder for `kubectl apply --server-side --kustomize`, which needs no clone: the manifests
and the folders that they name, as they are, and a kustomization.yaml that names the images. Its
components are comments, to be chosen from. Equal input gives equal bytes.
"""

import argparse
import json
import re

import archive
import references

HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# {name} {version}:
#   kubectl apply --server-side --kustomize={name}-{version}
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- {folder}/base
# Options: remove the comment sign before those that you need.
components:
"""


def component_lines(folder, name, text, is_on):
    """The lines of a component, with the comment at the beginning of its kustomization."""
    comment = re.match(r"# SPDX[^\n]*\n((?:#[^\n]*\n)*)", text)[1]
    return comment + f'{"" if is_on else "# "}- {folder}/components/{name}\n'


def image_lines(refs):
    lines = "images:\n"
    for name, fields in sorted((refs.indexes if refs.is_release else refs.nodes).items()):
        lines += f"- name: {references.LOCAL}/{name}\n"
        # Quoted: a tag can look like a number.
        if refs.is_release:
            lines += (f"  newName: {refs.registry}/{name}\n"
                      f'  newTag: {json.dumps(fields["VERSION"])}\n  digest: {fields["DIGEST"]}\n')
        else:
            lines += f'  newTag: {json.dumps(fields["TAG"])}\n'
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True)
    parser.add_argument("--folder", required=True, help="has base/ and components/")
    parser.add_argument("--version-file", required=True)
    parser.add_argument("--registry", required=True)
    parser.add_argument("--reference", action="append", default=[], help="an image's .ref file")
    parser.add_argument("--output", required=True)
    parser.add_argument("files", nargs="+", help="paths in the source tree")
    args = parser.parse_args()
    with open(args.version_file, encoding="utf-8") as file:
        version = file.read().strip()
    files = {}
    for path in args.files:
        with open(path, "rb") as file:
            files[path] = file.read()
    refs = references.References(args.reference, args.registry)
    text = HEAD.format(name=args.name, version=version, folder=args.folder)
    for path in sorted(files):
        found = re.fullmatch(rf"{re.escape(args.folder)}/components/([^/]+)/kustomization.yaml",
                             path)
        if found:
            is_on = found[1] == "all-architectures" and refs.for_all_architectures()
            text += component_lines(args.folder, found[1], files[path].decode(), is_on)
    files["kustomization.yaml"] = (text + image_lines(refs)).encode()
    with open(args.output, "wb") as output:
        output.write(archive.tgz(files, folder=f"{args.name}-{version}"))


if __name__ == "__main__":
    main()
