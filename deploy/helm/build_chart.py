#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs a Helm chart: its files, templates that charts share, the manifests that they read, and
images.yaml with the names and tags of the images. Equal input gives equal bytes.
"""

import argparse
import gzip
import io
import os
import tarfile

import yaml


def fields_of(reference):
    """The fields of an image's .ref file."""
    with open(reference, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)


def files_of_chart(chart, templates, paths, version, references):
    """The chart's files by name: content."""
    names = {path: path.removeprefix(chart) for path in paths}
    names.update({path: f"templates/{os.path.basename(path)}" for path in templates})
    files = {}
    for path, name in names.items():
        with open(path, "rb") as file:
            files[name] = file.read()
    files["Chart.yaml"] += f'version: "{version}"\nappVersion: "{version}"\n'.encode()
    # A node has the image of its own architecture, a registry has the index of all.
    images = {"nodes": {}, "registry": {}}
    for reference in references:
        fields = fields_of(reference)
        where = "registry" if os.path.basename(reference) == "index.ref" else "nodes"
        images[where][fields["NAME"].rpartition("/")[2]] = f'{fields["NAME"]}:{fields["TAG"]}'
    files["images.yaml"] = yaml.safe_dump(images).encode()
    return files


def check_components(chart, components, files):
    """Every component must be a value, with its default."""
    shipped = {name[len(components):].split("/")[0] for name in files
               if name.startswith(components)}
    values = set(yaml.safe_load(files["values.yaml"])["components"])
    if shipped != values:
        raise SystemExit(f"{chart}values.yaml: `components` differs from the folders in "
                         f"{components}: {', '.join(sorted(shipped ^ values))}")


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
    parser.add_argument("--components", required=True, help="the folder of the components, with /")
    parser.add_argument("--template", action="append", default=[],
                        help="a file for templates/ that several charts have")
    parser.add_argument("--version-file", required=True)
    parser.add_argument("--reference", action="append", default=[], help="an image's .ref file")
    parser.add_argument("--output", required=True)
    parser.add_argument("files", nargs="+", help="paths in the source tree")
    args = parser.parse_args()
    with open(args.version_file, encoding="utf-8") as file:
        version = file.read().strip()
    files = files_of_chart(args.chart, args.template, args.files, version, args.reference)
    check_components(args.chart, args.components, files)
    chart_name = yaml.safe_load(files["Chart.yaml"])["name"]
    with open(args.output, "wb") as output:
        output.write(archive(files, chart_name))


if __name__ == "__main__":
    main()
