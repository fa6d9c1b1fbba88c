# SPDX-License-Identifier: Apache-2.0
"""cross_root: where a program's shared libraries are, for a genrule that packs them."""

_ARCHITECTURES = ["arm64", "ppc64le", "s390x"]

def cross_root():
    """The root folder of the libraries: / unless the program is for another architecture.

    Returns: the files for `srcs`, and the argument --root for the end of `cmd`; both are select()s.
    """
    files, argument = {"//conditions:default": []}, {"//conditions:default": ""}
    for architecture in _ARCHITECTURES:
        root = "@cross_{}//:sysroot.path".format(architecture)
        files["//bazel:" + architecture] = [root]
        argument["//bazel:" + architecture] = " --root=$$(cat $(location {}))".format(root)
    return select(files), select(argument)
