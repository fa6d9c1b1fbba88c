#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the checker: each deliberate defect of this folder must be found by a simulation.

  find.py                    all defects; writes the table of README.md
  find.py NAME...            these; the other rows of the table stay

A defect is a patch of the product, whose first lines say what it breaks and which rule should find
that. For each, the tree is copied, patched and built, and the seeds 1 to --seeds run until one
fails. The copy is kept, so only what a patch changes is compiled again.

The exit code is 1 if a defect is not found, does not apply or does not build.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
CACHE = os.environ.get("POD_PLACEMENT_CACHE") or os.path.expanduser("~/.cache/pod-placement")
PAGE = os.path.join(FOLDER, "README.md")
HEAD = "| defect | what it breaks | rule | seed | seconds |"
NOT_FOUND = "**not found**"


class Defect:
    """One patch of this folder."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path).removesuffix(".patch")
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.breaks = self.line_of("Breaks").removesuffix(".")
        self.rule = self.line_of("Rule")

    def line_of(self, key):
        found = re.search(rf"^# {key}: (.+)$", self.text, re.MULTILINE)
        if not found:
            raise ValueError(f"{self.path}: no line '# {key}: ...'")
        return found[1]

    def files(self):
        """The files that it changes, from the root of the tree."""
        return re.findall(r"^\+\+\+ b/(\S+)", self.text, re.MULTILINE)

    def apply(self, tree, check_only=False):
        """Returns: why it does not apply; "" if it does."""
        command = ["git", "apply"] + (["--check"] if check_only else []) + [self.path]
        # A tree inside of another repository is none of its folders.
        env = dict(os.environ, GIT_CEILING_DIRECTORIES=os.path.dirname(tree))
        done = subprocess.run(command, cwd=tree, env=env, check=False, capture_output=True,
                              text=True)
        return done.stderr.strip() if done.returncode else ""


def read_defects(folder=FOLDER):
    names = sorted(name for name in os.listdir(folder) if name.endswith(".patch"))
    return [Defect(os.path.join(folder, name)) for name in names]


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def copy_tree(source, target):
    """Makes `target` the files of the checkout `source`; what is the same stays untouched."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=source, check=True, capture_output=True).stdout.decode()
    paths = {path for path in listed.split("\0")
             if path and os.path.lexists(os.path.join(source, path))}
    for folder, folders, files in os.walk(target):
        folders[:] = [name for name in folders if not name.startswith("bazel-")]
        for name in files:
            path = os.path.join(folder, name)
            if os.path.relpath(path, target) not in paths:
                os.remove(path)
    for path in paths:
        old, new = os.path.join(target, path), os.path.join(source, path)
        if os.path.exists(old) and not os.path.islink(new) and read_bytes(old) == read_bytes(new):
            continue
        os.makedirs(os.path.dirname(old), exist_ok=True)
        if os.path.lexists(old):
            os.remove(old)
        shutil.copy2(new, old, follow_symlinks=False)


def build(tree, jobs):
    """Returns: the end of the output if it fails, else ""."""
    command = ["bazel", "build", "//sim", "--noshow_progress"]
    command += [f"--jobs={jobs}"] if jobs else []
    done = subprocess.run(command, cwd=tree, check=False, capture_output=True, text=True)
    return "\n".join(done.stderr.splitlines()[-20:]) if done.returncode else ""


def run_seeds(tree, seeds, jobs):
    """Returns: the first seed that fails and the rule that it breaks; None if none does."""
    with tempfile.TemporaryDirectory() as plans:
        command = ["bazel-bin/sim/sim", "--minloglevel=3", "--stop", f"--seeds={seeds}",
                   f"--failures={plans}"] + ([f"--jobs={jobs}"] if jobs else [])
        done = subprocess.run(command, cwd=tree, check=False, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"the simulation ended with {done.returncode}: {done.stderr[-2000:]}")
    return first_failure(done.stdout)


def first_failure(output):
    """The seed and the rule of the first violation in the output of //sim."""
    found = re.search(r"^seed (\d+): .* violations\n  (\S+) (.*)$", output, re.MULTILINE)
    return (int(found[1]), found[2], found[3]) if found else None


def find(defect, tree, options):
    """Builds and runs a defect. Returns: its row, and whether it was found."""
    copy_tree(ROOT, tree)
    if error := defect.apply(tree):
        print(f"{defect.name}: does not apply: {error}", flush=True)
        return row_of(defect, NOT_FOUND, "does not apply", ""), False
    if error := build(tree, options.jobs):
        print(f"{defect.name}: does not build: {error}", flush=True)
        return row_of(defect, NOT_FOUND, "does not build", ""), False
    begin = time.monotonic()
    failure = run_seeds(tree, options.seeds, options.jobs)
    seconds = round(time.monotonic() - begin)
    if failure is None:
        print(f"{defect.name}: not found in {options.seeds} seeds, {seconds} s", flush=True)
        return row_of(defect, NOT_FOUND, options.seeds, seconds), False
    seed, rule, what = failure
    print(f"{defect.name}: seed {seed}, {seconds} s: {rule} {what}", flush=True)
    return row_of(defect, rule, seed, seconds), True


def row_of(defect, rule, seed, seconds):
    name = f"[{defect.name}]({defect.name}.patch)"
    return f"| {name} | {defect.breaks} | {rule} | {seed} | {seconds} |"


def read_rows(page):
    """The rows of the table by the name of their defect."""
    found = re.finditer(r"^\| \[([\w-]+)\]\(.*$", page, re.MULTILINE)
    return {row[1]: row[0] for row in found}


def with_rows(page, rows):
    """`page` with `rows` as its table, which is its end."""
    table = [HEAD, "|---|---|---|---|---|"] + [rows[name] for name in sorted(rows)]
    return page[:page.index(HEAD)] + "\n".join(table) + "\n"


def write_table(measured, names):
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    rows = {name: row for name, row in (read_rows(page) | measured).items() if name in names}
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(with_rows(page, rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="the defects; all by default")
    parser.add_argument("--seeds", type=int, default=500, help="the seeds that may find a defect")
    parser.add_argument("--jobs", type=int, help="of Bazel, and concurrent runs")
    parser.add_argument("--tree", default=os.path.join(CACHE, "sim-defects"),
                        help="the folder for the copy of the tree")
    options = parser.parse_args()
    defects = read_defects()
    known = {defect.name for defect in defects}
    if unknown := set(options.names) - known:
        parser.error("no such defect: " + ", ".join(sorted(unknown)))
    tree = os.path.realpath(options.tree)
    os.makedirs(tree, exist_ok=True)
    all_found = True
    for defect in defects:
        if options.names and defect.name not in options.names:
            continue
        row, found = find(defect, tree, options)
        all_found = all_found and found
        # A run over all of them takes long: what is known is written at once.
        write_table({defect.name: row}, known)
    copy_tree(ROOT, tree)
    return 0 if all_found else 1


if __name__ == "__main__":
    sys.exit(main())
