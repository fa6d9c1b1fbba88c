# SPDX-License-Identifier: Apache-2.0
"""portable_archive: a program with its shared libraries, for machines of any distribution."""

_ARCHITECTURES = ["arm64", "ppc64le", "s390x"]

def portable_archive(name, out, binary, files):
    """Packs a program (pack.py).

    Args:
      name: the target.
      out: the tar.gz.
      binary: the cc_binary.
      files: other files, by their labels: their names in the archive.
    """
    arguments = [
        "PYTHONPATH=bazel/images python3 $(location pack.py)",
        "--binary=$(location {})".format(binary),
        "--archive=$@",
    ] + ["--file=$(location {})={}".format(file, path) for file, path in files.items()]

    # The root folder of the libraries: / unless the program is for another architecture.
    root_files, root_argument = {"//conditions:default": []}, {"//conditions:default": ""}
    for architecture in _ARCHITECTURES:
        root = "@cross_{}//:sysroot.path".format(architecture)
        root_files["//bazel:" + architecture] = [root]
        root_argument["//bazel:" + architecture] = " --root=$$(cat $(location {}))".format(root)
    native.genrule(
        name = name,
        srcs = [binary] + files.keys() + select(root_files),
        outs = [out],
        cmd = " ".join(arguments) + select(root_argument),
        tools = ["pack.py", "//bazel/images:modules"],
    )
