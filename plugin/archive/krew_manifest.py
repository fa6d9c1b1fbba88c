#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the manifest of the plugin for krew, with the checksums of the archives.

  krew_manifest.py --version 0.2.0 --uri https://example.com/v0.2.0 dist/*.tar.gz > placement.yaml
"""

import argparse
import hashlib
import os
import sys

HEAD = """\
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: placement
spec:
  version: v{version}
  shortDescription: Explain where pods may run by architecture
  description: |
    Says why a pod is where it is or does not run, by the architectures of its
    images, its PodPlacementConfigs and the nodes; asks registries for which
    platforms images are; simulates manifests; and reports what could run on
    another architecture. It uses no more than your own rights.
  platforms:
"""

PLATFORM = """\
  - selector:
      matchLabels:
        os: linux
        arch: {architecture}
    uri: {uri}
    sha256: {sha256}
    bin: kubectl-placement
    files:
    - from: "*"
      to: .
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", required=True)
    parser.add_argument("--uri", required=True, help="the folder that serves the archives")
    parser.add_argument("archives", nargs="+", metavar="NAME_ARCHITECTURE.tar.gz")
    args = parser.parse_args()
    text = HEAD.format(version=args.version)
    for path in sorted(args.archives):
        name = os.path.basename(path)
        architecture = name.removesuffix(".tar.gz").rpartition("_")[2]
        with open(path, "rb") as archive:
            sha256 = hashlib.sha256(archive.read()).hexdigest()
        text += PLATFORM.format(architecture=architecture, uri=f"{args.uri}/{name}", sha256=sha256)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
