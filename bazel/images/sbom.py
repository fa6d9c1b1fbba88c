# SPDX-License-Identifier: Apache-2.0
"""The SPDX 2.3 document of an image: the program, the Debian packages that its shared libraries and
the code that is compiled into it come from, and modules of other languages that are in it.
"""

import dataclasses
import functools
import hashlib
import json
import os
import re
import subprocess
import urllib.parse

# Licences in debian/copyright whose short names differ from SPDX's.
SPDX_LICENSES = {
    "Apache-2": "Apache-2.0",
    "Apache-2.0": "Apache-2.0",
    "BSD-2-clause": "BSD-2-Clause",
    "BSD-3-Clause": "BSD-3-Clause",
    "BSD-3-clause": "BSD-3-Clause",
    "BSL-1.0": "BSL-1.0",
    "BSL": "BSL-1.0",
    "Expat": "MIT",
    "ISC": "ISC",
    "MIT": "MIT",
}
UNKNOWN = "NOASSERTION"


@dataclasses.dataclass(frozen=True)
class Image:
    repository: str
    version: str
    architecture: str
    digest: str


@dataclasses.dataclass(frozen=True)
class Package:
    name: str
    version: str
    source: str
    source_version: str
    architecture: str
    homepage: str
    license: str
    copyright_file: str  # where Debian has the texts: /usr/share/doc/PACKAGE/copyright
    copyright_source: str  # the same file here


class PackageDatabase:
    """dpkg's records below `root`; of packages that are not there, the records of this machine."""

    def __init__(self, root="/"):
        self._root = root

    def _query(self, root, *arguments):
        # dpkg-query reads all its records in each call: one call for many questions.
        database = os.path.join(root, "var/lib/dpkg")
        return subprocess.run(["dpkg-query", f"--admindir={database}", *arguments], check=False,
                              capture_output=True, text=True,
                              env={**os.environ, "LC_ALL": "C"}).stdout.splitlines()

    def owners(self, files):
        """{file: name of the package that installed it}, for files below the root."""
        root = os.path.realpath(self._root)
        candidates = {}
        for file in files:
            path = "/" + os.path.relpath(os.path.realpath(file), root)
            # Since usrmerge, /lib is a link to /usr/lib, and packages name either.
            candidates[file] = [path, path.removeprefix("/usr"), "/usr" + path]
        lines = self._query(root, "--search", *sum(candidates.values(), []))
        # "libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6"
        found = {path: names.split(",")[0].split(":")[0]
                 for names, _, path in (line.rpartition(": ") for line in lines)}
        owners = {file: next((found[path] for path in paths if path in found), None)
                  for file, paths in candidates.items()}
        for file, owner in owners.items():
            if owner is None:
                raise SystemExit(f"no Debian package has {file}")
        return owners

    def packages(self, names):
        """The installed packages of these names, sorted."""
        form = "\\t".join("${%s}" % field for field in (
            "Package", "Version", "source:Package", "source:Version", "Architecture", "Homepage"))
        found = {}
        for root in dict.fromkeys((self._root, "/")):
            missing = sorted(set(names) - set(found))
            if not missing:
                break
            for line in self._query(root, "--show", f"--showformat={form}\\n", *missing):
                fields = line.split("\t")
                name = f"/usr/share/doc/{fields[0]}/copyright"
                source = copyright_source(name, root)
                # For a package that is installed for several architectures, the first one counts.
                found.setdefault(fields[0], Package(
                    *fields, license=license_of(source), copyright_file=name,
                    copyright_source=source))
        missing = set(names) - set(found)
        if missing:
            raise SystemExit(f"Debian packages are not installed: {', '.join(sorted(missing))}")
        return [found[name] for name in sorted(found)]


def copyright_source(name, root):
    """The file `name` below `root`, or of this machine: it may be a link to another package."""
    for folder in (root, "/"):
        file = os.path.join(folder, name.lstrip("/"))
        if os.path.isfile(file):
            return file
    raise SystemExit(f"{name} is not installed")


def license_of(copyright_file):
    """The licence of most files, by a debian/copyright that machines can read."""
    with open(copyright_file, encoding="utf-8") as text:
        contents = text.read()
    for paragraph in re.split(r"\n\s*\n", contents):
        if re.search(r"^Files:\s*\*\s*$", paragraph, re.MULTILINE):
            found = re.search(r"^License:\s*(\S+)\s*$", paragraph, re.MULTILINE)
            return SPDX_LICENSES.get(found[1], UNKNOWN) if found else UNKNOWN
    return UNKNOWN


def _id(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", text)


def _purl(package):
    quote = functools.partial(urllib.parse.quote, safe="")
    return (f"pkg:deb/debian/{quote(package.name)}@{quote(package.version)}"
            f"?arch={package.architecture}&distro=debian-12")


def _as_spdx(package):
    return {
        "SPDXID": _id("Package-" + package.name),
        "name": package.name,
        "versionInfo": package.version,
        "supplier": "Organization: Debian",
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": False,
        "homepage": package.homepage or UNKNOWN,
        "sourceInfo": f"built from the Debian source package {package.source} "
                      f"{package.source_version}",
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": package.license,
        "licenseComments": f"The licences of all files are in {package.copyright_file}.",
        "copyrightText": UNKNOWN,
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": _purl(package),
        }],
    }


def _module_as_spdx(module):
    return {
        "SPDXID": _module_id(module),
        "name": module["name"],
        "versionInfo": module["version"],
        "supplier": UNKNOWN,
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": False,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": module["license"],
        "licenseComments": "The texts are in /usr/share/doc of the image.",
        "copyrightText": UNKNOWN,
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": module["purl"],
        }],
    }


def _module_id(module):
    return _id("Module-" + module["name"])


def relationships_of(database, libraries, contained, linked):
    """{name of a package: relationship of the image to it}.

    `libraries` are files in the image; `contained` are names of packages that other files of the
    image come from; `linked` those of packages with static archives or headers that are compiled
    into the program.
    """
    return {
        **{name: "CONTAINS" for name in contained},
        **{name: "STATIC_LINK" for name in linked},
        **{name: "DYNAMIC_LINK" for name in database.owners(libraries).values()},
    }


def document(image, kinds, packages, modules=()):
    """The document as JSON text, equal for equal input.

    `kinds` is of relationships_of(), `packages` are those that it names; `modules` are in other
    programs of the image, or compiled in: "name", "version", "license", "purl".
    """
    program = image.repository.rsplit("/", 1)[-1]
    own = {
        "SPDXID": _id("Image-" + program),
        "name": image.repository,
        "versionInfo": image.version,
        "supplier": UNKNOWN,
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": False,
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": UNKNOWN,
        "primaryPackagePurpose": "CONTAINER",
        "checksums": [{
            "algorithm": "SHA256",
            "checksumValue": image.digest.removeprefix("sha256:"),
        }],
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:oci/{program}@{urllib.parse.quote(image.digest, safe='')}"
                                f"?arch={image.architecture}&tag={image.version}",
        }],
    }
    packages = [own] + [_as_spdx(package) for package in packages]
    packages += [_module_as_spdx(module) for module in modules]
    relationships = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    for name, kind in sorted(kinds.items()):
        relationships.append((own["SPDXID"], kind, _id("Package-" + name)))
    for module in modules:
        relationships.append((own["SPDXID"], "CONTAINS", _module_id(module)))
    # What makes two documents different also makes their namespaces different.
    fingerprint = hashlib.sha256(json.dumps(packages, sort_keys=True).encode()).hexdigest()
    name = f"{program}-{image.version}-{image.architecture}"
    return json.dumps({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{fingerprint}",
        "creationInfo": {
            # Reproducible: no time of the build.
            "created": "1970-01-01T00:00:00Z",
            "creators": [f"Tool: pod-placement-sbom-{image.version}"],
        },
        "packages": packages,
        "relationships": [
            {"spdxElementId": subject, "relationshipType": kind, "relatedSpdxElement": object_}
            for subject, kind, object_ in relationships
        ],
    }, indent=1, sort_keys=True) + "\n"
