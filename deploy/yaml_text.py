# SPDX-License-Identifier: Apache-2.0
"""YAML as the packers read and write it."""

import yaml


class _Dumper(yaml.SafeDumper):
    """Repeats equal values instead of naming them with anchors."""

    def ignore_aliases(self, data):
        return True


class _BlockDumper(_Dumper):
    """Writes texts of several lines as blocks."""


def _represent_text(dumper, text):
    return dumper.represent_scalar("tag:yaml.org,2002:str", text,
                                   style="|" if text.endswith("\n") else None)


_BlockDumper.add_representer(str, _represent_text)


def dump(value):
    return yaml.dump(value, Dumper=_Dumper, width=100)


def dump_for_readers(value):
    """Keeps the order of keys, and the lines of texts."""
    return yaml.dump(value, Dumper=_BlockDumper, width=100, sort_keys=False)


def dump_all(values):
    """A stream of documents."""
    return yaml.dump_all(values, Dumper=_Dumper, width=100, explicit_start=True)


def read(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)
