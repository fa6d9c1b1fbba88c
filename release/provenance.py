# SPDX-License-Identifier: Apache-2.0
"""How a release was built: a statement of in-toto with the predicate SLSA provenance 1
(https://slsa.dev/spec/v1.0/provenance). It names the source, the parameters, the build's
dependencies with what pins them, and the builder.
"""

import hashlib
import subprocess
import urllib.parse

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
# Files that pin dependencies by their checksums.
LOCKS = ("console/web/package-lock.json", "e2e/cluster/k8s/go.sum",
         "fleet/cel/evaluator/go.sum")
CROSS_LOCK = "third_party/cross/{}.lock"
PACKAGES = ("third_party/packages.txt", "third_party/packages-cross.txt")


def _sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _installed_packages():
    """[(name, version, architecture)] of this machine's packages that the build uses."""
    names = []
    for path in PACKAGES:
        with open(path, encoding="utf-8") as lines:
            names += [line.strip() for line in lines if line.strip() and line[0] != "#"]
    done = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Package} ${Version} "
         "${Architecture}\\n", *names], check=False, capture_output=True, text=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return sorted(tuple(row[1:]) for row in rows if row[0] == "installed")


def _package(name, version, architecture, sha256=None):
    quoted = urllib.parse.quote(version, safe="")
    result = {"uri": f"pkg:deb/debian/{name}@{quoted}?arch={architecture}&distro=debian-12"}
    return {**result, "digest": {"sha256": sha256}} if sha256 else result


def _locked_packages(architecture):
    """The libraries for another architecture, with the checksums of the lock."""
    with open(CROSS_LOCK.format(architecture), encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("#"):
                name, version, sha256, _ = line.split()
                yield _package(name, version, architecture, sha256)


def _dependencies(source, commit, architectures):
    result = [{"uri": f"git+{source}", "digest": {"gitCommit": commit}}]
    result += [{"uri": f"{source}/blob/{commit}/{path}", "digest": {"sha256": _sha256(path)}}
               for path in LOCKS]
    result += [_package(*row) for row in _installed_packages()]
    for architecture in architectures:
        if architecture != "amd64":
            result += _locked_packages(architecture)
    return result


def predicate(source, commit, parameters, builder, times):
    """The predicate. `parameters`: what the caller of the build chose, with "architectures";
    `builder`: the URI of who built it; `times`: begin and end, in RFC 3339."""
    return {
        "buildDefinition": {
            "buildType": f"{source}/blob/main/docs/release.md#provenance",
            "externalParameters": parameters,
            "internalParameters": {},
            "resolvedDependencies": _dependencies(source, commit, parameters["architectures"]),
        },
        "runDetails": {
            "builder": {"id": builder},
            "metadata": {"startedOn": times[0], "finishedOn": times[1]},
        },
    }


def statement(subjects, content):
    """The statement that `content`, a predicate, is about `subjects`: {name: sha256 in hex}."""
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": digest}}
                    for name, digest in sorted(subjects.items())],
        "predicateType": PREDICATE,
        "predicate": content,
    }
