# SPDX-License-Identifier: Apache-2.0
"""A chart's values.yaml: each value with its default and its comment. Maps that have entries, such
as `components`, have a value for each of them; an entry without a comment has that of its map.
"""

import dataclasses
import re

import yaml


@dataclasses.dataclass(frozen=True)
class Value:
    name: str  # "components.console"
    default: object
    description: str


def values_of(text):
    """The values in their order. Each has a comment directly above."""
    defaults = yaml.safe_load(text)
    values, comment, parent, of_parent = [], [], None, ""
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            comment.append(line.lstrip().removeprefix("#").strip())
            continue
        field = re.match(r"( *)([\w-]+):", line)
        description, comment = " ".join(comment), []
        if not field:
            continue
        name = field[2]
        if field[1]:
            default = defaults[parent][name]
            values.append(Value(f"{parent}.{name}", default, description or of_parent))
        elif isinstance(defaults[name], dict) and defaults[name]:
            parent, of_parent = name, description
        else:
            values.append(Value(name, defaults[name], description))
    for value in values:
        if not value.description:
            raise SystemExit(f"values.yaml: {value.name} has no comment")
    return values


def with_default(text, name, default):
    """`text` with another default of the value, or entry, of this name, as YAML."""
    changed, count = re.subn(rf"(?m)^( *{re.escape(name)}:).*$", rf"\1 {default}", text)
    if count != 1:
        raise SystemExit(f"values.yaml: {count} values {name}")
    return changed
