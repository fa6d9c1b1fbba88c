# SPDX-License-Identifier: Apache-2.0
"""Annotations of a Chart.yaml that Artifact Hub reads: those that follow from the chart's content.
Each is a text, most of them YAML. Chart.yaml itself has the others.
Source: https://artifacthub.io/docs/topics/annotations/helm
"""

import yaml_text

PREFIX = "artifacthub.io/"


def images(refs):
    if not refs.is_release:
        return []
    return [{"name": name.rpartition("/")[2],
             "image": f"{refs.registry}/{image}",
             "platforms": [f"linux/{architecture}" for architecture
                           in refs.indexes[name]["ARCHITECTURES"].split(",")]}
            for name, image in sorted(refs.in_registry().items())]


def crds(objects):
    """One for each version that is served."""
    found = []
    for item in objects:
        if item["kind"] != "CustomResourceDefinition":
            continue
        for version in item["spec"]["versions"]:
            if version["served"]:
                found.append({
                    "kind": item["spec"]["names"]["kind"],
                    "version": version["name"],
                    "name": item["metadata"]["name"],
                    "displayName": item["spec"]["names"]["kind"],
                    "description": version["schema"]["openAPIV3Schema"]["description"],
                })
    return found


def sign_key(fingerprint, url):
    """Of the PGP key of the chart's provenance file. Absent without one: cosign needs none."""
    if bool(fingerprint) != bool(url):
        raise SystemExit("the key of the chart's signature needs both fingerprint and URL")
    return {"fingerprint": fingerprint, "url": url} if url else {}


def annotations(version, **lists):
    """The annotations with values; `lists` has the contents of those that are YAML, by name."""
    found = {PREFIX + "prerelease": "true" if "-" in version else "false"}
    for name, content in lists.items():
        if content:
            found[PREFIX + name] = yaml_text.dump_for_readers(content)
    return found
