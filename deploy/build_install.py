#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes install.yaml: all objects, for `kubectl apply --server-side --filename`."""

import argparse
import json

import installation
import references
import yaml_text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--manifests", required=True, help="rendered by deploy/kustomization.py")
    parser.add_argument("--registry", required=True)
    parser.add_argument("--reference", action="append", default=[], help="an image's .ref file")
    parser.add_argument("--output", required=True)
    args = parser.parse_args()
    with open(args.manifests, encoding="utf-8") as file:
        manifests = json.load(file)
    refs = references.References(args.reference, args.registry)
    with open(args.output, "w", encoding="utf-8") as output:
        output.write("# SPDX-License-Identifier: Apache-2.0\n")
        output.write(yaml_text.dump_all(installation.objects_of(manifests, refs)))


if __name__ == "__main__":
    main()
