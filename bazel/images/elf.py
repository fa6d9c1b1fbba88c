# SPDX-License-Identifier: Apache-2.0
"""The shared libraries that glibc's loader maps for a program, found without running it.

Works for programs of every architecture: `root` is / for the native one, a sysroot for the others.
"""

import dataclasses
import os
import re
import subprocess


@dataclasses.dataclass(frozen=True)
class Machine:
    architecture: str  # as in Kubernetes and in images
    triple: str  # Debian's folder for libraries


# By the name that readelf prints.
MACHINES = {
    "Advanced Micro Devices X86-64": Machine("amd64", "x86_64-linux-gnu"),
    "AArch64": Machine("arm64", "aarch64-linux-gnu"),
    "PowerPC64": Machine("ppc64le", "powerpc64le-linux-gnu"),
    "IBM S/390": Machine("s390x", "s390x-linux-gnu"),
}


def _readelf(option, path):
    return subprocess.run(["readelf", "--wide", option, path], check=True, capture_output=True,
                          text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def machine_of(binary):
    name = re.search(r"^\s*Machine:\s*(.+?)\s*$", _readelf("--file-header", binary), re.MULTILINE)
    if name is None or name[1] not in MACHINES:
        raise SystemExit(f"{binary}: not a program of {', '.join(MACHINES)}")
    return MACHINES[name[1]]


def loader_of(binary):
    """The path of the dynamic loader, as the program names it."""
    found = re.search(r"Requesting program interpreter: (/[^]]+)]",
                      _readelf("--program-headers", binary))
    if found is None:
        raise SystemExit(f"{binary}: names no dynamic loader")
    return found[1]


def _needed(path):
    """(names of libraries, folders to search first) of a program or library."""
    dynamic = _readelf("--dynamic", path)
    folders = re.findall(r"\(R(?:UN)?PATH\)\s+Library r(?:un)?path: \[([^]]*)]", dynamic)
    return (re.findall(r"\(NEEDED\)\s+Shared library: \[([^]]*)]", dynamic),
            [folder for entry in folders for folder in entry.split(":") if folder])


def shared_libraries(binary, root="/"):
    """{name: file below `root`} of all libraries, without the dynamic loader."""
    machine = machine_of(binary)
    loader = os.path.basename(loader_of(binary))
    defaults = [f"/lib/{machine.triple}", f"/usr/lib/{machine.triple}", "/lib", "/usr/lib"]
    found, pending = {}, [binary]
    while pending:
        path = pending.pop()
        names, folders = _needed(path)
        for name in names:
            if name in found or name == loader:
                continue
            candidates = [os.path.join(root, folder.lstrip("/"), name)
                          for folder in folders + defaults]
            file = next((c for c in candidates if os.path.exists(c)), None)
            if file is None:
                raise SystemExit(f"{path}: needs {name}, which is not in {root}")
            found[name] = file
            pending.append(file)
    return found
