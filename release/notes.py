# SPDX-License-Identifier: Apache-2.0
"""The notes of a release: how to install and verify it, its digests, and the section of its version
in CHANGELOG.md.
"""

import re
import string

_HEADING = re.compile(r"^## (?:\[?(?P<version>[^\s\]]+)\]?)(?: - (?P<date>\d{4}-\d\d-\d\d))?$",
                      re.MULTILINE)
# Links to files of the repository lead nowhere outside of it.
_RELATIVE_LINK = re.compile(r"\]\((?!https?://|#)([^)\s]+)\)")


class NoSuchSection(Exception):
    """The changelog has no usable section of the version; the text says why."""


def sections_of(changelog):
    """{version: (date or None, text)} in the order of the file."""
    headings = list(_HEADING.finditer(changelog))
    ends = [heading.start() for heading in headings[1:]] + [len(changelog)]
    return {heading["version"]: (heading["date"], changelog[heading.end():end].strip())
            for heading, end in zip(headings, ends)}


def section_of(changelog, version, snapshot):
    """The text of the version's section. A snapshot has what is unreleased, too."""
    sections = sections_of(changelog)
    unreleased = sections.get("Unreleased", (None, ""))[1]
    if snapshot:
        return "\n\n".join(text for text in (unreleased, sections.get(version, ("", ""))[1])
                           if text)
    if version not in sections:
        raise NoSuchSection(f"CHANGELOG.md has no section `## {version} - DATE`: move the entries "
                            "of `## Unreleased` into one")
    date, text = sections[version]
    if date is None:
        raise NoSuchSection(f"CHANGELOG.md: the section {version} has no date")
    if not text:
        raise NoSuchSection(f"CHANGELOG.md: the section {version} is empty")
    if unreleased:
        raise NoSuchSection(f"CHANGELOG.md has entries in `## Unreleased`: they are in {version}, "
                            "or in a later version than the one to release")
    return text


def notes(template, release, section, source):
    """NOTES.md from the template: `release` is release.json, `source` the address of its files."""
    rows = "\n".join(f'| `{release["registry"]}/{artifact["repository"]}:{artifact["tag"]}` '
                     f'| `{artifact["digest"]}` |' for artifact in release["artifacts"])
    changes = _RELATIVE_LINK.sub(lambda link: f"]({source}/{link[1]})", section)
    return string.Template(template).substitute(
        version=release["version"], registry=release["registry"], digests=rows, changes=changes)
