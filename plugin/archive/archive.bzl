# SPDX-License-Identifier: Apache-2.0
"""portable_archive: a program with its shared libraries, for machines of any distribution."""

load("//bazel:cross_root.bzl", "cross_root")
load("//bazel:linked_packages.bzl", "linked_packages")

def portable_archive(name, out, binary, files):
    """Packs a program with the licence texts of what is in it (pack.py).

    Args:
      name: the target.
      out: the tar.gz.
      binary: the cc_binary.
      files: other files, by their labels: their names in the archive.
    """
    linked = name + ".linked"
    linked_packages(name = linked, binary = binary)
    arguments = [
        "PYTHONPATH=bazel/images python3 $(location pack.py)",
        "--binary=$(location {})".format(binary),
        "--linked-packages=$(location {})".format(linked),
        "--archive=$@",
    ] + ["--file=$(location {})={}".format(file, path) for file, path in files.items()]

    root_files, root_argument = cross_root()
    native.genrule(
        name = name,
        srcs = [binary, linked] + files.keys() + root_files,
        outs = [out],
        cmd = " ".join(arguments) + root_argument,
        tools = ["pack.py", "//bazel/images:modules"],
    )
