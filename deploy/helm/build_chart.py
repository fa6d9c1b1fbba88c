#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs a Helm chart: its files, templates that charts share, templates/_manifests.tpl with the
rendered manifests, and images.yaml with the names and tags of the images. Equal input gives equal
bytes.
"""

import argparse
import functools
import gzip
import io
import json
import os
import tarfile

import yaml

import kustomization

IMAGES = "localhost/pod-placement/"


class Choice:
    """A value of a field or an item, where one component has another one, or adds it."""

    def __init__(self, component, old, new):
        self.component, self.old, self.new = component, old, new


def condition(component, lines):
    return [f'{{{{- if index .Values.components "{component}" }}}}', *lines, "{{- end }}"]


def scalar_text(value, namespace):
    if value == namespace:
        return "{{ .Release.Namespace | quote }}"
    if isinstance(value, str) and value.startswith(IMAGES):
        program = value.removeprefix(IMAGES)
        return f'{{{{ include "placement.image" (dict "root" . "program" "{program}") | quote }}}}'
    return json.dumps(value).replace("{{", '{{ "{{" }}')


def entry_lines(prefix, value, namespace):
    """The lines of a field, or of an item of a list: `prefix` is "key:" or "-"."""
    if isinstance(value, Choice):
        lines = entry_lines(prefix, value.new, namespace)
        if value.old is not kustomization.MISSING:
            lines += ["{{- else }}", *entry_lines(prefix, value.old, namespace)]
        return condition(value.component, lines)
    if isinstance(value, (dict, list)) and value:
        return [prefix, *("  " + line for line in lines_of(value, namespace))]
    return [f"{prefix} {scalar_text(value, namespace)}"]


def lines_of(value, namespace):
    """A map or list as YAML, with actions of Helm's templates where it depends on values."""
    if isinstance(value, list):
        entries = [("-", item) for item in value]
    else:
        entries = [(json.dumps(key) + ":", child) for key, child in sorted(value.items())]
    return [line for prefix, child in entries for line in entry_lines(prefix, child, namespace)]


def template_of(manifests):
    """templates/_manifests.tpl: defines "placement.manifests", the objects as a stream of YAML."""
    objects = manifests["base"]
    names = [None] * len(objects)
    for name, component in manifests["components"].items():
        kustomization.add(objects, component, functools.partial(Choice, name))
        names += [name] * (len(objects) - len(names))
    namespace = next(item["metadata"]["name"] for item in objects if item["kind"] == "Namespace")
    lines = ['{{- define "placement.manifests" -}}']
    for index, (name, item) in enumerate(zip(names, objects)):
        text = ["---"] * (index > 0) + lines_of(item, namespace)
        lines += condition(name, text) if name else text
    return "\n".join([*lines, "{{- end -}}", ""])


def fields_of(reference):
    """The fields of an image's .ref file."""
    with open(reference, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)


def files_of_chart(chart, templates, manifests, paths, version, references):
    """The chart's files by name: content."""
    names = {path: path.removeprefix(chart) for path in paths}
    names.update({path: f"templates/{os.path.basename(path)}" for path in templates})
    files = {}
    for path, name in names.items():
        with open(path, "rb") as file:
            files[name] = file.read()
    files["templates/_manifests.tpl"] = template_of(manifests).encode()
    files["Chart.yaml"] += f'version: "{version}"\nappVersion: "{version}"\n'.encode()
    # A node has the image of its own architecture, a registry has the index of all.
    images = {"nodes": {}, "registry": {}}
    for reference in references:
        fields = fields_of(reference)
        where = "registry" if os.path.basename(reference) == "index.ref" else "nodes"
        images[where][fields["NAME"].rpartition("/")[2]] = f'{fields["NAME"]}:{fields["TAG"]}'
    files["images.yaml"] = yaml.safe_dump(images).encode()
    return files


def add_components(chart, components, files):
    """Adds them to the schema of the values. Every component must be a value, with its default."""
    differences = components ^ yaml.safe_load(files["values.yaml"])["components"].keys()
    if differences:
        raise SystemExit(f"{chart}values.yaml: `components` differs from those of the manifests: "
                         f"{', '.join(sorted(differences))}")
    schema = json.loads(files["values.schema.json"])
    schema["properties"]["components"]["properties"] = {
        name: {"type": "boolean"} for name in sorted(components)}
    files["values.schema.json"] = json.dumps(schema, indent=2).encode()


def archive(files, chart_name):
    """A .tgz without times and owners."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as compressed:
        with tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            # Helm wants Chart.yaml first.
            for name in sorted(files, key=lambda name: (name != "Chart.yaml", name)):
                entry = tarfile.TarInfo(f"{chart_name}/{name}")
                entry.size, entry.mode = len(files[name]), 0o644
                tar.addfile(entry, io.BytesIO(files[name]))
    return buffer.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chart", required=True, help="the folder of its own files, with /")
    parser.add_argument("--manifests", required=True, help="rendered by deploy/kustomization.py")
    parser.add_argument("--template", action="append", default=[],
                        help="a file for templates/ that several charts have")
    parser.add_argument("--version-file", required=True)
    parser.add_argument("--reference", action="append", default=[], help="an image's .ref file")
    parser.add_argument("--output", required=True)
    parser.add_argument("files", nargs="+", help="paths in the source tree")
    args = parser.parse_args()
    with open(args.version_file, encoding="utf-8") as file:
        version = file.read().strip()
    with open(args.manifests, encoding="utf-8") as file:
        manifests = json.load(file)
    files = files_of_chart(args.chart, args.template, manifests, args.files, version,
                           args.reference)
    add_components(args.chart, manifests["components"].keys(), files)
    chart_name = yaml.safe_load(files["Chart.yaml"])["name"]
    with open(args.output, "wb") as output:
        output.write(archive(files, chart_name))


if __name__ == "__main__":
    main()
