#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs a Helm chart: its files, templates that charts share, templates/_manifests.tpl with the
rendered manifests, and images.yaml with the references of the images. Completes Chart.yaml,
README.md and the defaults and the schema of the values. Equal input gives equal bytes.
"""

import argparse
import functools
import json
import os

import yaml

import archive
import artifact_hub
import changelog
import chart_readme
import kustomization
import references
import values_file
import values_schema
import yaml_text

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


def read_files(chart, paths, templates, license_file):
    """The files as they are, by their names in the chart: content."""
    names = {path: path.removeprefix(chart) for path in paths}
    names.update({path: f"templates/{os.path.basename(path)}" for path in templates})
    names[license_file] = "LICENSE"
    files = {}
    for path, name in names.items():
        with open(path, encoding="utf-8") as file:
            files[name] = file.read()
    return files


def add_images(files, refs):
    """images.yaml, and the defaults of a release."""
    # A node has the image of its own architecture, a registry has the index of all.
    images = {"nodes": refs.on_nodes(), "registry": refs.in_registry()}
    files["images.yaml"] = yaml.safe_dump({
        where: {name.rpartition("/")[2]: image for name, image in found.items()}
        for where, found in images.items()})
    if refs.is_release:
        files["values.yaml"] = values_file.with_default(
            files["values.yaml"], "registry", refs.registry)
    if refs.for_all_architectures():
        files["values.yaml"] = values_file.with_default(
            files["values.yaml"], "all-architectures", "true")


def check_components(chart, components, values):
    """Every component must be a value."""
    of_values = {value.name.removeprefix("components.") for value in values
                 if value.name.startswith("components.")}
    if components ^ of_values:
        raise SystemExit(f"{chart}values.yaml: `components` differs from those of the manifests: "
                         f"{', '.join(sorted(components ^ of_values))}")


def chart_yaml(text, version, refs, objects, args):
    """Chart.yaml with the version and with annotations for Artifact Hub."""
    chart = {**yaml.safe_load(text), "version": version, "appVersion": version}
    with open(args.changelog, encoding="utf-8") as file:
        changes = changelog.changes_of(file.read(), version)
    chart.setdefault("annotations", {}).update(artifact_hub.annotations(
        version,
        images=artifact_hub.images(refs),
        crds=artifact_hub.crds(objects),
        crdsExamples=kustomization.read_yaml(args.examples) if args.examples else [],
        changes=[{"kind": kind, "description": text} for kind, text in changes],
        signKey=artifact_hub.sign_key(args.sign_key_fingerprint, args.sign_key_url)))
    return chart


def files_of_chart(args, version):
    """The chart's name, and its files by name: content."""
    with open(args.manifests, encoding="utf-8") as file:
        manifests = json.load(file)
    refs = references.References(args.reference, args.registry)
    files = read_files(args.chart, args.files, args.template, args.license)
    add_images(files, refs)
    values = values_file.values_of(files["values.yaml"])
    check_components(args.chart, manifests["components"].keys(), values)
    files["values.schema.json"] = values_schema.with_components(files["values.schema.json"], values)
    objects = [item for part in [{"objects": manifests["base"]}, *manifests["components"].values()]
               for item in part["objects"]]
    chart = chart_yaml(files["Chart.yaml"], version, refs, objects, args)
    files["Chart.yaml"] = ("# SPDX-License-Identifier: Apache-2.0\n" +
                           yaml_text.dump_for_readers(chart))
    files["README.md"] = chart_readme.readme(files["README.md"], args.chart, chart, refs, values)
    files["templates/_manifests.tpl"] = template_of(manifests)
    return chart["name"], {name: text.encode() for name, text in files.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chart", required=True, help="the folder of its own files, with /")
    parser.add_argument("--manifests", required=True, help="rendered by deploy/kustomization.py")
    parser.add_argument("--template", action="append", default=[],
                        help="a file for templates/ that several charts have")
    for name in ("version-file", "license", "changelog", "registry", "output"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--reference", action="append", default=[], help="an image's .ref file")
    parser.add_argument("--examples", help="objects of the chart's kinds, for Artifact Hub")
    parser.add_argument("--sign-key-fingerprint", default="",
                        help="of the PGP key that will sign the chart, if one will")
    parser.add_argument("--sign-key-url", default="", help="of its public part")
    parser.add_argument("files", nargs="+", help="paths in the source tree")
    args = parser.parse_args()
    with open(args.version_file, encoding="utf-8") as file:
        version = file.read().strip()
    name, files = files_of_chart(args, version)
    with open(args.output, "wb") as output:
        # Helm wants Chart.yaml first.
        output.write(archive.tgz(files, folder=name, first="Chart.yaml"))


if __name__ == "__main__":
    main()
