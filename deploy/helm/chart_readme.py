# SPDX-License-Identifier: Apache-2.0
"""Makes the README.md in a chart of that in its folder, which users of the repository read, too."""

import json
import posixpath
import re

VALUES = "<!-- build_chart.py adds a table of all values here. -->"


def table_of(values):
    lines = ["| value | default | meaning |", "|---|---|---|"]
    for value in values:
        meaning = value.description.replace("|", "\\|")
        lines.append(f"| `{value.name}` | `{json.dumps(value.default)}` | {meaning} |")
    return "\n".join(lines)


def with_absolute_links(text, folder, source):
    """`text` with links to files of the repository by the address `source` of its root."""
    def absolute(link):
        path, hash_sign, fragment = link[1].partition("#")
        path = posixpath.normpath(posixpath.join(folder, path))
        return f"]({source}/{path}{hash_sign}{fragment})"
    return re.sub(r"\]\((?![a-z]+:|#)([^()\s]+)\)", absolute, text)


def readme(text, folder, chart, refs, values):
    """Replaces VERSION and, in a release, REGISTRY, and adds the table of the values. `chart` is
    the content of Chart.yaml."""
    if text.count(VALUES) != 1:
        raise SystemExit(f"{folder}README.md: there must be one line {VALUES}")
    text = text.replace(VALUES, table_of(values)).replace("VERSION", chart["version"])
    if refs.is_release:
        text = text.replace("oci://REGISTRY/", f"oci://{refs.registry}/")
    return with_absolute_links(text, folder, f'{chart["home"]}/blob/v{chart["version"]}')
