#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the tree for what the compiler does not check.

Prints one line for each finding and exits with 1 if there is any. `bazel test //bazel:lint` runs
it, and so does CI; bazel/lint_test.py tests the checks.

- Includes: a `#include "..."` names a header of the target itself or of a direct dependency
  (Bazel's layering_check needs clang). Folders use only the folders in ALLOWED; a program's main.cc
  also those in MAIN_ALLOWED, a slice's folders of tests and benchmarks those in TESTS_ALLOWED. The
  includes between folders have no cycle; main.cc, tests and testing/ folders are exempt.
- Coroutines: no asio::detached, because every coroutine belongs to a TaskGroup. No brace, string
  literal or ?: between a co_await and the end of its statement: GCC 12 destroys such a temporary
  twice. No statement that is only a co_await of an Async, because GCC 12 does not warn about a
  [[nodiscard]] value that such a statement drops.
- JSON text is read and written in kube/types/unstructured.cc only: nlohmann's parser and serializer
  take up to a second of each compilation, and throw.
- Format: C++ is as clang-format 14 writes it. Lines have at most 100 columns, in Markdown too
  (except tables, fenced code and URLs).
- Links: a relative link of a Markdown file leads to a file or folder of the tree, and its fragment
  to a heading of a Markdown file.
- Paths: a file that a Markdown file or a comment names by its path exists, from the root or from a
  folder around it.
- Flags: a flag that has a row in a table of a Markdown file is one of a program.
- Runbooks: an alert links to its page by a whole URL, and the reasons that a page about shards
  explains are those of docs/reference.md.
- Files: each names its licence, YAML too, and has at most 800 lines.
- Versions: the oldest and the newest version of Kubernetes are the same in docs/versions.md, in
  charts and OLM's bundle, in the tests and in README.md; SUPPORT.md has the dates of the releases
  in CHANGELOG.md.
- Invariants: every number that is cited (I1, I2, ...) is defined in the table of CONTRIBUTING.md.
"""

import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
SOURCES = (".cc", ".h", ".proto", ".bzl", ".bazel", ".BUILD", ".py", ".sh", ".go", ".c")
YAML = (".yaml", ".yml")
WIDTH_LIMITED = SOURCES + ("Makefile", "WORKSPACE", "CODEOWNERS")
FORMATTED = (".cc", ".h", ".c")
CITING = SOURCES + YAML + (".md", ".svg")
CITED_ENDINGS = ("h", "cc", "go", "py", "sh", "yaml", "yml", "md", "bzl", "proto", "svg")
NOT_HERE = {"docs/hosts.md"}  # containerd's
CLANG_FORMAT = "clang-format"
CLANG_FORMAT_VERSION = 14
MAX_COLUMNS = 100
MAX_LINES = 800

# Who says which version of Kubernetes is the oldest or the newest: row of docs/versions.md, file,
# pattern.
KUBERNETES_VERSIONS = (
    ("oldest", "README.md", r"^\| Kubernetes \| ([\d.]+) or later"),
    ("oldest", "docs/fleet.md", r"Kubernetes ([\d.]+) or later"),
    ("oldest", "operator/helm/chart/Chart.yaml", r'^kubeVersion: ">=([\d.]+)\.0-0"$'),
    ("oldest", "fleet/helm/agent/Chart.yaml", r'^kubeVersion: ">=([\d.]+)\.0-0"$'),
    ("oldest", "fleet/helm/hub/Chart.yaml", r'^kubeVersion: ">=([\d.]+)\.0-0"$'),
    ("oldest", "operator/olm/csv.yaml", r"^ *minKubeVersion: ([\d.]+)\.0$"),
    ("oldest", "e2e/cluster/env.sh", r"\bOLDEST_KUBERNETES_VERSION=v(\d+\.\d+)\."),
    ("oldest", "e2e/cluster/k8s-1.30/go.mod", r"^\s*k8s\.io/kubernetes v(\d+\.\d+)\.\d+$"),
    ("newest", "README.md", r"^\| Kubernetes \|.*Tested with (\d[\d.]*\d)"),
    ("newest", "e2e/cluster/env.sh", r"\bKUBERNETES_VERSION=\S*v(\d[\d.]*\d)"),
    ("newest", "e2e/cluster/k8s/go.mod", r"^\s*k8s\.io/kubernetes v(\S+)$"),
)

# Which top-level folders a folder's code may include from, besides itself.
ALLOWED = {
    "kube": {"third_party"},
    "api": {"kube"},
    "deploy": {"kube", "api"},
    "placement": {"kube", "api"},
    "scheduling-policies": {
        "kube", "api", "placement", "cluster-controller", "operator", "webhook"
    },
    "watches": {"kube", "api"},
    "rules": {"kube", "api", "placement"},
    "writes": {"kube", "api", "placement"},
    "inspection": {"kube", "api", "placement"},
    "webhook": {"kube", "api", "placement"},
    "shard": {"kube", "api", "placement", "rules", "watches", "writes"},
    "cluster-controller": {
        "kube", "api", "placement", "rules", "watches", "writes", "inspection"
    },
    "templates": {"kube", "api", "placement", "watches", "inspection", "cluster-controller"},
    "ephemeral-containers": {
        "kube", "api", "placement", "inspection", "cluster-controller", "operator", "webhook"
    },
    "image-facts": {
        "kube", "api", "placement", "inspection", "cluster-controller", "operator", "webhook",
        "deploy"
    },
    "exec-format": {
        "kube", "api", "placement", "watches", "inspection", "cluster-controller", "operator"
    },
    "operator": {"kube", "api", "placement", "watches", "inspection", "deploy"},
    "fleet": {"kube", "api", "placement", "deploy", "image-facts"},
    "plugin": {
        "kube", "api", "placement", "deploy", "inspection", "exec-format", "image-facts",
        "cluster-controller", "webhook", "scheduling-policies"
    },
    "console": {"kube", "api", "fleet", "exec-format", "image-facts", "plugin"},
    "examples": {"kube"},
}

# Which folders the main.cc of a top-level folder may include from as well. It registers a feature
# with its program, which is a product without that line.
MAIN_ALLOWED = {
    "cluster-controller": {
        "scheduling-policies", "templates", "ephemeral-containers", "exec-format", "image-facts"
    },
    "operator": {"scheduling-policies", "ephemeral-containers", "exec-format", "image-facts"},
    "webhook": {"scheduling-policies", "image-facts"},
}

# Which folders a slice's tests on a control plane, its benchmarks and its fuzz targets may include
# from as well: fleet/e2e, fleet/benchmark, scheduling-policies/fuzz. Of inspection, the registries.
TEST_FOLDERS = {"e2e", "flows", "benchmark", "fuzz"}
TESTS_ALLOWED = {"e2e", "benchmarks", "fuzz", "inspection"}

# Which top-level folders a folder below them may include from, besides itself: what judges the
# product must not share its mistakes.
FOLDERS_ALLOWED = {"sim/checker": {"kube", "api"}}


class Target:
    def __init__(self, package, name, srcs, hdrs, deps):
        self.package, self.name, self.srcs, self.hdrs, self.deps = package, name, srcs, hdrs, deps


def label(package, text):
    """The canonical form of a label: //package:name."""
    if text.startswith("@"):
        return text
    if text.startswith(":"):
        return f"//{package}{text}"
    path, _, name = text.removeprefix("//").partition(":")
    return f"//{path}:{name or path.rsplit('/', 1)[-1]}"


def read_build_file(path, package):
    """Runs a BUILD file, which is valid Python here, with macros that only record targets."""
    targets = {}

    def record(name=None, srcs=(), hdrs=(), deps=(), **_):
        direct = [label(package, d) for d in deps]
        targets[f"//{package}:{name}"] = Target(package, name, list(srcs), list(hdrs), direct)

    def record_proto(name, srcs, deps=(), **_):
        headers = [s.replace(".proto", ".pb.h") for s in srcs]
        targets[f"//{package}:{name}_cc_proto"] = Target(package, name, [], headers, [])

    def glob(patterns, **_):
        here = os.path.dirname(path)
        found = []
        for pattern in patterns:
            escaped = re.escape(pattern).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
            shape = re.compile(f"^{escaped}$")
            for folder, _, files in os.walk(here):
                names = [os.path.relpath(os.path.join(folder, f), here) for f in files]
                found += [n for n in names if shape.match(n)]
        return sorted(found)

    class Rules(dict):
        def __missing__(self, key):
            if key == "placement_proto_library":
                return record_proto
            if key.startswith("placement_cc_") or key in ("cc_library", "cc_binary", "cc_test"):
                return record
            # A list that a .bzl file defines: data of rules, not their sources.
            if key.isupper():
                return []
            return lambda *args, **kwargs: None

    rules = Rules(glob=glob, native=None)
    with open(path) as text:
        exec(compile(text.read(), path, "exec"), rules)  # pylint: disable=exec-used
    return targets


def walk(root, endings):
    """The paths, relative to `root`, of all files whose names end with one of `endings`."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f != ".git" and not f.startswith("bazel-"))
        for file in sorted(files):
            if file.endswith(endings):
                yield os.path.relpath(os.path.join(folder, file), root)


def read_lines(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as text:
        return text.read().splitlines()


def read_targets(root):
    targets = {}
    for path in walk(root, ("BUILD.bazel",)):
        if not path.startswith("third_party/"):
            targets.update(read_build_file(os.path.join(root, path), os.path.dirname(path)))
    return targets


def check_includes(root, findings):
    targets = read_targets(root)
    home = {}
    for name, target in targets.items():
        for header in target.hdrs:
            home[os.path.join(target.package, header)] = name
    for name, target in targets.items():
        for source in target.srcs + target.hdrs:
            path = os.path.join(target.package, source)
            if source.endswith((".cc", ".h")) and os.path.exists(os.path.join(root, path)):
                check_includes_of(root, path, name, target, home, findings)


def check_includes_of(root, path, name, target, home, findings):
    top = path.split("/")[0]
    allowed = ALLOWED.get(top, set())
    if path == f"{top}/main.cc":
        allowed = allowed | MAIN_ALLOWED.get(top, set())
    if TEST_FOLDERS.intersection(path.split("/")[1:2]):
        allowed = allowed | TESTS_ALLOWED
    for number, line in enumerate(read_lines(root, path), 1):
        found = re.match(r'#include "([^"]+)"', line)
        if not found:
            continue
        header, where = found[1], f"{path}:{number}"
        owner = home.get(header)
        if owner is None:
            if header not in [os.path.join(target.package, s) for s in target.srcs]:
                findings.append(f"{where}: no target has the header {header}")
        elif owner != name and owner not in target.deps:
            findings.append(f"{where}: {name} includes {header} without a dep on {owner}")
        other = header.split("/")[0]
        if other != top and top in ALLOWED and other not in allowed:
            findings.append(f"{where}: {top}/ must not use {other}/")
        for folder, others in FOLDERS_ALLOWED.items():
            inside = path.startswith(f"{folder}/")
            if inside and not header.startswith(f"{folder}/") and other not in others:
                findings.append(f"{where}: {folder}/ must not use {other}/")


def check_folder_cycles(root, findings):
    """One finding for each cycle of folders, with an include for each of its steps."""
    includes = {}  # folder -> included folder -> "file:line"
    for path in walk(root, (".cc", ".h")):
        folder = os.path.dirname(path)
        if "testing" in folder.split("/") or re.search(r"(_test(_program)?|/main)\.cc$", path):
            continue
        for number, line in enumerate(read_lines(root, path), 1):
            found = re.match(r'#include "([^"]+)/[^"/]+"', line)
            if found and found[1] != folder and "testing" not in found[1].split("/"):
                includes.setdefault(folder, {}).setdefault(found[1], f"{path}:{number}")
    done = set()

    def visit(folder, trail):
        if folder in trail:
            cycle = trail[trail.index(folder):] + [folder]
            places = [includes[a][b] for a, b in zip(cycle, cycle[1:])]
            findings.append(f"include cycle {' -> '.join(cycle)}: {', '.join(places)}")
        elif folder not in done:
            for included in sorted(includes.get(folder, ())):
                visit(included, trail + [folder])
            done.add(folder)

    for folder in sorted(includes):
        visit(folder, [])


def check_files(root, findings):
    for path in walk(root, SOURCES + YAML):
        lines = read_lines(root, path)
        if lines and not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:3]):
            findings.append(f"{path}: no SPDX-License-Identifier in the first lines")
        if len(lines) > MAX_LINES and path.endswith(SOURCES):
            findings.append(f"{path}: {len(lines)} lines, more than {MAX_LINES}")


def check_columns(root, findings):
    for path in walk(root, WIDTH_LIMITED):
        lines = read_lines(root, path)
        exempt = raw_string_lines(lines) if path.endswith(FORMATTED) else set()
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_COLUMNS and number not in exempt:
                findings.append(
                    f"{path}:{number}: {len(line)} columns, more than {MAX_COLUMNS}")


def check_markdown(root, findings):
    for path in walk(root, (".md",)):
        for number, line in prose_of(root, path):
            if not line.lstrip().startswith("|"):
                columns = len(re.sub(r"https?://\S+", "", line))
                if columns > MAX_COLUMNS:
                    findings.append(
                        f"{path}:{number}: {columns} columns, more than {MAX_COLUMNS}")


def prose_of(root, path):
    """The numbers and lines of a Markdown file outside of fenced code."""
    fenced = False
    for number, line in enumerate(read_lines(root, path), 1):
        if re.match(r"\s*(```|~~~)", line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors_of(root, path):
    """The fragments of the headings of a Markdown file, as GitHub makes them."""
    anchors = set()
    for _, line in prose_of(root, path):
        heading = re.match(r"#+ (.*)", line)
        if heading:
            words = re.sub(r"\]\([^)]*\)", "", heading[1]).strip().lower()
            anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            copies = sum(1 for a in anchors if re.fullmatch(re.escape(anchor) + r"(-\d+)?", a))
            anchors.add(f"{anchor}-{copies}" if anchor in anchors else anchor)
    return anchors


def check_links(root, findings):
    for path in walk(root, (".md",)):
        for number, line in prose_of(root, path):
            for link in re.findall(r"\]\(([^()\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:", link):
                    continue
                file, _, fragment = link.partition("#")
                target = os.path.normpath(os.path.join(os.path.dirname(path), file))
                if not file:
                    target = path
                if not os.path.exists(os.path.join(root, target)):
                    findings.append(f"{path}:{number}: {link} does not exist")
                elif fragment and (not target.endswith(".md")
                                   or fragment not in anchors_of(root, target)):
                    findings.append(f"{path}:{number}: {link} leads to no heading")


def folders_around(path):
    while path:
        path = os.path.dirname(path)
        yield path


def check_paths(root, findings):
    folders = [f for f in os.listdir(root) if os.path.isdir(os.path.join(root, f))]
    cited = re.compile(r"(?<![\w./:@*-])(?:%s)/[a-z0-9_./-]+\.(?:%s)\b(?!/)" % (
        "|".join(map(re.escape, folders)), "|".join(CITED_ENDINGS)))
    for path in walk(root, SOURCES + (".md",)):
        # Other tools' files, and files of the past.
        if path.startswith("third_party/") or path == "CHANGELOG.md":
            continue
        lines = prose_of(root, path) if path.endswith(".md") else enumerate(
            read_lines(root, path), 1)
        for number, line in lines:
            if not path.endswith(".md") and not re.match(r"\s*(//|#) ", line):
                continue
            for file in cited.findall(line):
                if file not in NOT_HERE and not any(
                        os.path.exists(os.path.join(root, folder, file))
                        for folder in folders_around(path)):
                    findings.append(f"{path}:{number}: {file} does not exist")


def check_flags(root, findings):
    flags = set()
    for path in walk(root, (".cc", ".py")):
        text = "\n".join(read_lines(root, path))
        flags.update(flag.replace("_", "-") for flag in re.findall(r"\bDEFINE_\w+\((\w+),", text))
        flags.update(re.findall(r"""add_argument\(["']--([\w-]+)""", text))
    for path in walk(root, (".md",)):
        for number, line in prose_of(root, path):
            cell = re.match(r"\| ([^|]*)", line)
            for flag in re.findall(r"`--([\w-]+)", cell[1]) if cell else ():
                if flag not in flags:
                    findings.append(f"{path}:{number}: no program has the flag --{flag}")


def check_runbooks(root, findings):
    for path in walk(root, (".yaml",)):
        alert = None
        for number, line in enumerate(read_lines(root, path), 1):
            alert = (re.match(r" *- alert: (\w+)", line) or [None, alert])[1]
            url = re.match(r" *runbook_url: *(\S+)", line)
            if url and path.startswith("operator/"):
                page = f"docs/runbooks/{alert}.md"
                if not re.fullmatch(rf"https://[\w.-]+/{page}", url[1]):
                    findings.append(f"{path}:{number}: {url[1]} is no URL of {page}")
                elif not os.path.exists(os.path.join(root, page)):
                    findings.append(f"{path}:{number}: {page} does not exist")
    reasons, section = set(), ""
    reference = "docs/reference.md"
    if os.path.exists(os.path.join(root, reference)):
        for line in read_lines(root, reference):
            section = line if line.startswith("## ") else section
            if section == "## Reasons of Degraded" and line.startswith("| `"):
                reasons.update(re.findall(r"`(\w+)`", line.split("|")[1]))
    for path in walk(root, (".md",)):
        if not re.fullmatch(r"docs/runbooks/\w*Shard\w*\.md", path):
            continue
        for number, line in prose_of(root, path):
            explained = re.match(r"- ((`\w+`(, )?)+):", line)
            for reason in re.findall(r"`(\w+)`", explained[1]) if explained else ():
                if reason not in reasons:
                    findings.append(f"{path}:{number}: {reference} has no reason {reason}")


def check_kubernetes_versions(root, findings):
    page = "docs/versions.md"
    if not os.path.exists(os.path.join(root, page)):
        return
    promised = dict(re.findall(r"^\| (oldest|newest) \| ([\d.]+) \|",
                               "\n".join(read_lines(root, page)), re.M))
    for row, path, pattern in KUBERNETES_VERSIONS:
        found = re.search(pattern, "\n".join(read_lines(root, path)), re.M)
        says = found[1] if found else None
        if says != promised.get(row):
            findings.append(f"{path}: the {row} version of Kubernetes is {says}, and in {page} "
                            f"{promised.get(row)}")


def check_supported_versions(root, findings):
    if not os.path.exists(os.path.join(root, "SUPPORT.md")):
        return
    rows = dict(re.findall(r"^\| (\d+\.\d+) \| ([^|]*?) \|",
                           "\n".join(read_lines(root, "SUPPORT.md")), re.M))
    released = {}
    for line in read_lines(root, "CHANGELOG.md"):
        heading = re.match(r"## \[?(\d+\.\d+)\.0\]? - ([\d-]+)$", line)
        if heading:
            released[heading[1]] = heading[2]
    own = read_lines(root, "VERSION")[0].rpartition(".")[0]
    for version in sorted({own, *released}):
        date = released.get(version, "not yet")
        if rows.get(version) != date:
            findings.append(f"SUPPORT.md: says {rows.get(version)} about the release of {version}, "
                            f"and CHANGELOG.md {date}")


def raw_string_lines(lines):
    """The numbers of the lines that a raw string is on: nothing may break them."""
    code = "\n".join(lines)
    numbers = set()
    for found in re.finditer(r'R"([^()\\\s]{0,16})\(.*?\)\1"', code, re.DOTALL):
        first = code.count("\n", 0, found.start()) + 1
        numbers.update(range(first, first + found[0].count("\n") + 1))
    return numbers


def check_format(root, findings):
    if not shutil.which(CLANG_FORMAT):
        findings.append(f"{CLANG_FORMAT} is missing: `make setup` installs it")
        return
    version = subprocess.run(
        [CLANG_FORMAT, "--version"], check=True, capture_output=True, text=True).stdout
    if f"version {CLANG_FORMAT_VERSION}." not in version:
        findings.append(f"clang-format {CLANG_FORMAT_VERSION} is needed, as in Debian 12; "
                        f"this is {version.strip()}")
        return
    paths = list(walk(root, FORMATTED))
    if not paths:
        return
    formatted = subprocess.run([CLANG_FORMAT, "--dry-run", *paths], cwd=root, check=False,
                               capture_output=True, text=True)
    places = re.findall(r"^(\S+?:\d+):\d+: \w+: code should be clang-formatted", formatted.stderr,
                        re.MULTILINE)
    findings += [f"{place}: not formatted; `clang-format -i` mends it"
                 for place in dict.fromkeys(places)]
    if formatted.returncode != 0:
        findings.append(f"{CLANG_FORMAT}: {formatted.stderr.strip()}")


def check_coroutines(root, findings):
    for path in walk(root, (".cc", ".h")):
        lines = read_lines(root, path)
        for number, line in enumerate(lines, 1):
            if "asio::detached" in line and not line.lstrip().startswith("//"):
                findings.append(f"{path}:{number}: asio::detached; spawn it in a TaskGroup")
        check_co_await(path, lines, findings)


def check_error_references(root, findings):
    """References into error() of a Result, which Boost 1.81 returns by value."""
    names = r"(?:&|\bstring_view|\bspan<[^;=]*>)\s*\w+\s*(?:=|:)[^;{]*?\berror\(\)\s*\."
    for path in walk(root, (".cc", ".h")):
        code = "\n".join(re.sub(r"//.*", "", line) for line in read_lines(root, path))
        for found in re.finditer(names, code):
            number = code.count("\n", 0, found.start()) + 1
            findings.append(f"{path}:{number}: refers to a part of error(), which is a copy; "
                            "copy the Error first")


def check_dropped_results(root, findings):
    """Statements that are only a co_await of a function that returns Async.

    Functions of different classes share a name. Those count that the file or one of its includes
    declares; if these differ, or there are none, those of the whole tree.
    """
    code = {path: "\n".join(re.sub(r"//.*", "", line) for line in read_lines(root, path))
            for path in walk(root, (".cc", ".h"))}
    declared = {path: declared_coroutines(text) for path, text in code.items()}
    whole = {}
    for names in declared.values():
        for name, kinds in names.items():
            whole.setdefault(name, set()).update(kinds)
    for path, text in code.items():
        near = [path, path.replace(".cc", ".h")]
        near += [header for file in near for header in
                 re.findall(r'#include "([^"]+)"', code.get(file, ""))]
        statement = r"(?:[;{}):]|\belse)\s*\bco_await\s+[^;]*?(\w+)\([^;]*(?=;)"
        for found in re.finditer(statement, text):
            name = found[1]
            kinds = set().union(*(declared.get(file, {}).get(name, ()) for file in near))
            if len(kinds) != 1:
                kinds = whole.get(name, set())
            if kinds == {"Result"}:
                number = text.count("\n", 0, found.start(1)) + 1
                findings.append(f"{path}:{number}: drops the Result of {name}(); handle it or "
                                "pass it to IgnoreError()")


def declared_coroutines(text):
    """The functions that return a coroutine: name -> what it yields, "Result" or "other"."""
    names = {}
    for found in re.finditer(r"\b(Async<|awaitable<)", text):
        at, depth = found.end(), 1
        while depth > 0 and at < len(text):
            depth += {"<": 1, ">": -1}.get(text[at], 0)
            at += 1
        name = re.match(r"\s+(?:\w+::)*(\w+)\(", text[at:at + 200])
        if name:
            kind = "Result" if found[1] == "Async<" else "other"
            names.setdefault(name[1], set()).add(kind)
    return names


def check_json_text(root, findings):
    for path in walk(root, (".cc", ".h")):
        if path.startswith(("fuzz/", "third_party/")) or path == "kube/types/unstructured.cc":
            continue
        for number, line in enumerate(read_lines(root, path), 1):
            found = re.search(r"(\.|->)dump\(|\bjson::parse\(|\bJson::parse\(|\b(to|from)_cbor\(",
                              line)
            if found:
                findings.append(f"{path}:{number}: JSON text outside kube/types/unstructured.cc; "
                                "call DumpJson(), MustParseJson() or another of its functions")


def check_co_await(path, lines, findings):
    code = "\n".join(re.sub(r"//.*", "", line) for line in lines)
    for found in re.finditer(r"\bco_await\b", code):
        # Up to the end of the statement, or of the condition that it stands in.
        depth = 0
        for at in range(found.end(), len(code)):
            depth += {"(": 1, ")": -1}.get(code[at], 0)
            if code[at] == ";" or depth < 0:
                break
            if code[at] in '{"?':
                number = code.count("\n", 0, found.start()) + 1
                findings.append(f"{path}:{number}: a temporary ({code[at]}) in a co_await "
                                "expression; name it first")
                break


def check_invariants(root, findings):
    defined = set()
    for line in read_lines(root, "CONTRIBUTING.md"):
        defined.update(re.findall(r"^\| (I[0-9]+) \|", line))
    for path in walk(root, CITING):
        for number, line in enumerate(read_lines(root, path), 1):
            for cited in re.findall(r"\bI[0-9]+\b", line):
                if cited not in defined:
                    findings.append(f"{path}:{number}: {cited} is not defined in CONTRIBUTING.md")


CHECKS = (
    check_includes,
    check_folder_cycles,
    check_files,
    check_columns,
    check_markdown,
    check_links,
    check_paths,
    check_flags,
    check_runbooks,
    check_kubernetes_versions,
    check_supported_versions,
    check_format,
    check_coroutines,
    check_error_references,
    check_dropped_results,
    check_json_text,
    check_invariants,
)


def main():
    findings = []
    for check in CHECKS:
        check(ROOT, findings)
    print("\n".join(findings) if findings else "lint: nothing found")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
