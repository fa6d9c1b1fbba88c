#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The modules that are compiled into a Go program: their versions and licences for the SBOM, and
the texts of the licences, which a copy of the program must come with.
"""

import argparse
import json
import os
import re
import tarfile
import urllib.parse

# As `go mod vendor` keeps them.
LEGAL = re.compile(r"(LICEN[CS]E|NOTICE|COPYING|COPYRIGHT|PATENTS|AUTHORS)", re.IGNORECASE)
# Beginnings of texts -> SPDX's name of the licence; the first that fits.
TEXTS = (
    (r"Apache License\s+Version 2\.0", "Apache-2.0"),
    (r"Permission is hereby granted, free of charge", "MIT"),
    (r"Redistribution and use in source and binary forms[\s\S]*endorse or promote", "BSD-3-Clause"),
    (r"Redistribution and use in source and binary forms", "BSD-2-Clause"),
)
UNKNOWN = "NOASSERTION"
# The name of Go's own packages, as in the lists of known vulnerabilities.
GO = "stdlib"


def license_of(texts):
    """The SPDX expression for the legal files {name: text} of a module."""
    names = set()
    for name, text in texts.items():
        found = next((spdx for shape, spdx in TEXTS if re.search(shape, text)), None)
        if found:
            names.add(found)
        elif re.match("LICEN[CS]E|COPYING", os.path.basename(name), re.IGNORECASE):
            return UNKNOWN
    return " AND ".join(sorted(names)) or UNKNOWN


def modules_of(listing):
    """[(name, version)] of vendor/modules.txt, without modules that no package is used of."""
    modules, current = [], None
    for line in listing.splitlines():
        header = re.match(r"# (\S+) (v\S+)(?: => .*)?$", line)
        if header:
            current = header.groups()
        elif current and line and not line.startswith("#"):
            modules.append(current)
            current = None
    return modules


def legal_files(vendor, names):
    """{module: {path: text}} of the tar file of a vendor folder."""
    found = {name: {} for name in names}
    for member in vendor.getmembers():
        path = member.name.removeprefix("vendor/")
        if member.isfile() and LEGAL.match(os.path.basename(path)):
            owners = [name for name in names if path.startswith(name + "/")]
            if owners:
                text = vendor.extractfile(member).read().decode("utf-8", "replace")
                found[max(owners, key=len)][path] = text
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vendor", required=True, help="tar file of Go's vendor folder")
    parser.add_argument("--go-version", required=True, help="as `go env GOVERSION` says it")
    parser.add_argument("--go-license", required=True, help="file")
    parser.add_argument("--modules", required=True, help="JSON file to write, for the SBOM")
    parser.add_argument("--licenses", required=True, help="text file to write, for the image")
    args = parser.parse_args()

    with tarfile.open(args.vendor) as vendor:
        modules = modules_of(vendor.extractfile("vendor/modules.txt").read().decode())
        legal = legal_files(vendor, [name for name, _ in modules])
    with open(args.go_license, encoding="utf-8") as text:
        legal[GO] = {GO + "/LICENSE": text.read()}
    modules.append((GO, args.go_version.removeprefix("go")))

    without = [name for name, _ in modules if not legal[name]]
    if without:
        raise SystemExit(f"modules without a licence: {', '.join(without)}")
    with open(args.modules, "w", encoding="utf-8") as out:
        json.dump([{"name": name, "version": version, "license": license_of(legal[name]),
                    "purl": f"pkg:golang/{name}@{urllib.parse.quote(version, safe='')}"}
                   for name, version in sorted(modules)], out, indent=1)
        out.write("\n")
    with open(args.licenses, "w", encoding="utf-8") as out:
        for name, version in sorted(modules):
            for path, text in sorted(legal[name].items()):
                out.write(f"===== {name} {version}: {path}\n\n{text.strip()}\n\n")


if __name__ == "__main__":
    main()
