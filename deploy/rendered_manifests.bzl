# SPDX-License-Identifier: Apache-2.0
"""rendered_manifests: manifests as one file, for all that reads them but kustomize."""

def rendered_manifests(name, folder, srcs, visibility = None):
    """NAME.json, as deploy/kustomization.py describes it.

    Args:
      name: of the target.
      folder: has base/ and components/, from the root of the repository.
      srcs: all files of `folder`, and the folders that their kustomizations name.
      visibility: of the target.
    """
    native.genrule(
        name = name,
        srcs = srcs,
        outs = [name + ".json"],
        cmd = "python3 $(location //deploy:kustomization.py) {} >$@".format(folder),
        tools = ["//deploy:kustomization.py"],
        visibility = visibility,
    )
