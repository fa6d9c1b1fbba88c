# SPDX-License-Identifier: Apache-2.0
"""The changes of a version in a changelog, as https://keepachangelog.com/ describes its format."""

import re

KINDS = ("added", "changed", "deprecated", "removed", "fixed", "security")


def section_of(text, version):
    """The lines of a version; those of the next one, "Unreleased", if it has none yet."""
    sections, lines = {}, []
    for line in text.splitlines():
        heading = re.match(r"## \[?([^\]\s]+)", line)
        if heading:
            lines = sections[heading[1]] = []
        lines.append(line)
    return sections.get(version) or sections.get("Unreleased", [])


def first_sentence(entry):
    """Without the links of Markdown."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(entry))
    # Not after "e.g."
    return re.split(r"(?<=\.)(?<!\.\w\.)\s", text, maxsplit=1)[0]


def changes_of(text, version):
    """[(kind, first sentence)] of the entries of a version, in their order."""
    kind, entries = None, []
    for line in section_of(text, version):
        if line.startswith("### "):
            kind = line.removeprefix("### ").strip().lower()
            if kind not in KINDS:
                raise SystemExit(f"the changelog has the kind {kind} of changes")
        elif line.startswith("- "):
            entries.append((kind, [line.removeprefix("- ").strip()]))
        elif line.startswith("  ") and entries:
            entries[-1][1].append(line.strip())
    return [(kind, first_sentence(entry)) for kind, entry in entries]
