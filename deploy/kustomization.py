#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renders manifests, which are kustomize's, as one JSON document: the deploy tools, the charts and
the OLM bundle read that.

  {"base": [OBJECT...],
   "components": {NAME: {"objects": [OBJECT...],
                         "patches": [{"target": {"kind":, "name":}, "operations": [...]}...]}}}

A component's objects are added to those before, then its patches change all of them. This is the
only reader of kustomizations besides kustomize. It knows the fields in FIELDS, patches that are
lists of JSON patch operations, and generators of ConfigMaps from files; all else is an error.
`configurations` is ignored: it says which fields kustomize's `images` and `namespace` change.

  kustomization.py FOLDER                  FOLDER has base/ and components/
  kustomization.py --component=FOLDER      only the value of one component
"""

import argparse
import json
import os
import sys

import yaml

FIELDS = {"apiVersion", "kind", "configurations", "resources", "components", "configMapGenerator",
          "patches"}
MISSING = object()


def fail_unless(condition, message):
    if not condition:
        raise SystemExit(message)


def read_yaml(path):
    with open(path, encoding="utf-8") as file:
        return [document for document in yaml.safe_load_all(file) if document]


def config_map(folder, generator):
    """The ConfigMap of an entry of `configMapGenerator`, whose name kustomize must not change."""
    options = generator.get("options", {})
    fail_unless(generator.keys() <= {"name", "namespace", "files", "options"} and
                options.get("disableNameSuffixHash") and
                options.keys() <= {"disableNameSuffixHash", "labels"},
                f"{folder}: the generator {generator} is not supported")
    data = {}
    for entry in generator["files"]:
        key, _, path = entry.partition("=")
        with open(os.path.join(folder, path), encoding="utf-8") as file:
            data[key] = file.read()
    metadata = {key: generator[key] for key in ("name", "namespace") if key in generator}
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": data,
            "metadata": {**metadata, "labels": options.get("labels", {})}}


def read_patch(folder, patch):
    target = patch.get("target", {})
    fail_unless(patch.keys() <= {"path", "patch", "target"} and target.keys() == {"kind", "name"},
                f"{folder}: a patch must have a target, with a kind and a name, and nothing else")
    operations = (read_yaml(os.path.join(folder, patch["path"]))[0] if "path" in patch
                  else yaml.safe_load(patch["patch"]))
    fail_unless(isinstance(operations, list),
                f"{folder}: a patch must be a list of JSON patch operations")
    return {"target": target, "operations": operations}


def read_component(folder):
    """The objects and patches of a kustomization or component."""
    file = read_yaml(os.path.join(folder, "kustomization.yaml"))[0]
    unknown = file.keys() - FIELDS
    fail_unless(not unknown, f"{folder}/kustomization.yaml: {unknown} is not supported")
    objects, patches = [], []
    for name in file.get("resources", []):
        path = os.path.normpath(os.path.join(folder, name))
        objects += render(path) if os.path.isdir(path) else read_yaml(path)
    objects += [config_map(folder, entry) for entry in file.get("configMapGenerator", [])]
    for name in file.get("components", []):
        component = read_component(os.path.normpath(os.path.join(folder, name)))
        objects += component["objects"]
        patches += component["patches"]
    patches += [read_patch(folder, patch) for patch in file.get("patches", [])]
    return {"objects": objects, "patches": patches}


def render(folder):
    """The objects of a kustomization, with its patches."""
    component = read_component(folder)
    add([], component)
    return component["objects"]


def replace(_, new):
    return new


def apply_operation(item, operation, change):
    """One operation of a JSON patch. Sets `change` of the old value and the new one."""
    keys = [key.replace("~1", "/").replace("~0", "~") for key in operation["path"][1:].split("/")]
    if operation["op"] == "copy":
        value = item
        for key in operation["from"][1:].split("/"):
            value = value[int(key) if isinstance(value, list) else key]
        operation = {"op": "add", "value": json.loads(json.dumps(value))}
    for key in keys[:-1]:
        item = item[int(key) if isinstance(item, list) else key]
    op, last = operation["op"], keys[-1]
    if isinstance(item, list) and op == "add" and last == "-":
        item.append(change(MISSING, operation["value"]))
    elif isinstance(item, dict) and (op == "add" or op == "replace" and last in item):
        item[last] = change(item.get(last, MISSING), operation["value"])
    else:
        raise SystemExit(f"the patch operation {operation} cannot be applied at {last}")


def add(objects, component, change=replace):
    """Adds a component's objects to `objects` and applies its patches to all of them."""
    objects += component["objects"]
    for patch in component["patches"]:
        found = [item for item in objects
                 if patch["target"] == {"kind": item["kind"], "name": item["metadata"]["name"]}]
        fail_unless(found, f"no object is the target of the patch {patch['target']}")
        for item in found:
            for operation in patch["operations"]:
                apply_operation(item, operation, change)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--component", metavar="FOLDER")
    parser.add_argument("folder", nargs="?")
    args = parser.parse_args()
    if args.component:
        result = read_component(args.component)
    else:
        components = f"{args.folder}/components"
        result = {"base": render(f"{args.folder}/base"),
                  "components": {name: read_component(f"{components}/{name}")
                                 for name in sorted(os.listdir(components))}}
    json.dump(result, sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
