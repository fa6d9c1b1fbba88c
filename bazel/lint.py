#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what the compiler does not, over the whole tree; prints one line a finding and exits 1 if there is any.

- Every `#include "..."` of ours is a header of the target itself or of a direct dependency (layering_check needs clang).
- Folders use only the folders that the architecture allows (ALLOWED below; see CONTRIBUTING.md).
- No asio::detached: every coroutine belongs to a TaskGroup.
- No brace, string literal or ?: between a co_await and the end of its statement: GCC 12 destroys such a temporary twice.
- Every source file names its licence; none is longer than 800 lines.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = (".cc", ".h", ".proto", ".bzl", ".bazel", ".py", ".sh", ".go", ".c")
MAX_LINES = 800

# Which top-level folders a folder's code may include from, besides itself.
ALLOWED = {
    "kube": {"third_party"},
    "api": {"kube"},
    "placement": {"kube", "api"},
    "watches": {"kube", "api"},
    "inspection": {"kube", "api", "placement"},
    "webhook": {"kube", "api", "placement"},
    "shard": {"kube", "api", "placement", "watches"},
    "cluster-controller": {"kube", "api", "placement", "watches", "inspection"},
    "operator": {"kube", "api", "placement", "watches", "inspection"},
}


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
    """Runs a BUILD file with macros that only record; BUILD files are valid Python as far as we use them."""
    targets = {}

    def record(name=None, srcs=(), hdrs=(), deps=(), **_):
        targets[f"//{package}:{name}"] = Target(package, name, list(srcs), list(hdrs), [label(package, d) for d in deps])

    def record_proto(name, srcs, deps=(), **_):
        headers = [s.replace(".proto", ".pb.h") for s in srcs]
        targets[f"//{package}:{name}_cc_proto"] = Target(package, name, [], headers, [])

    def glob(patterns, **_):
        here = os.path.dirname(path)
        found = []
        for pattern in patterns:
            shape = re.compile("^" + re.escape(pattern).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*") + "$")
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
            return lambda *args, **kwargs: None

    rules = Rules(glob=glob, native=None)
    with open(path) as text:
        exec(compile(text.read(), path, "exec"), rules)  # pylint: disable=exec-used
    return targets


def walk(endings):
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if not f.startswith((".git", "bazel-"))]
        for file in sorted(files):
            if file.endswith(endings):
                yield os.path.relpath(os.path.join(folder, file), ROOT)


def check_includes(findings):
    targets = {}
    for path in walk(("BUILD.bazel",)):
        if path.startswith("third_party/"):
            continue
        targets.update(read_build_file(os.path.join(ROOT, path), os.path.dirname(path)))
    home = {}
    for name, target in targets.items():
        for header in target.hdrs:
            home[os.path.join(target.package, header)] = name
    for name, target in targets.items():
        for source in target.srcs + target.hdrs:
            path = os.path.join(target.package, source)
            if not source.endswith((".cc", ".h")) or not os.path.exists(os.path.join(ROOT, path)):
                continue
            for number, line in enumerate(open(os.path.join(ROOT, path)), 1):
                found = re.match(r'#include "([^"]+)"', line)
                if not found:
                    continue
                owner = home.get(found[1])
                if owner is None:
                    if found[1] not in [os.path.join(target.package, s) for s in target.srcs]:
                        findings.append(f"{path}:{number}: no target has the header {found[1]}")
                elif owner != name and owner not in target.deps:
                    findings.append(f"{path}:{number}: {name} includes {found[1]} without a dep on {owner}")
                top, other = path.split("/")[0], found[1].split("/")[0]
                if other != top and top in ALLOWED and other not in ALLOWED[top]:
                    findings.append(f"{path}:{number}: {top}/ must not use {other}/")


def check_files(findings):
    for path in walk(SOURCES):
        with open(os.path.join(ROOT, path)) as text:
            lines = text.read().splitlines()
        if lines and not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:3]):
            findings.append(f"{path}: no SPDX-License-Identifier in the first lines")
        if len(lines) > MAX_LINES:
            findings.append(f"{path}: {len(lines)} lines, more than {MAX_LINES}")
        if path.endswith((".cc", ".h")):
            for number, line in enumerate(lines, 1):
                if "asio::detached" in line and not line.lstrip().startswith("//"):
                    findings.append(f"{path}:{number}: asio::detached; spawn it in a TaskGroup")
            check_co_await(path, lines, findings)


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
                findings.append(f"{path}:{number}: a temporary ({code[at]}) in a co_await expression; name it first")
                break


def main():
    findings = []
    check_includes(findings)
    check_files(findings)
    print("\n".join(findings) if findings else "lint: nothing found")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
