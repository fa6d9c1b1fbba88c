# SPDX-License-Identifier: Apache-2.0
"""Files that install a product with kubectl alone."""

load("//deploy:packer.bzl", "packer")

def install_yaml(name, manifests, references, registry = None, visibility = None):
    """NAME.yaml: the objects, for `kubectl apply --server-side --filename`.

    Args:
      name: of the target.
      manifests: rendered by rendered_manifests().
      references: the .ref files of the images.
      registry: see packer.bzl.
      visibility: of the target.
    """
    packer(
        name = name,
        arguments = ["--manifests=$(location {})".format(manifests)],
        output = name + ".yaml",
        references = references,
        registry = registry,
        srcs = [manifests],
        tool = "//deploy:build_install.py",
        visibility = visibility,
    )

def kustomize_archive(
        name,
        product,
        folder,
        files,
        references,
        registry = None,
        visibility = None):
    """PRODUCT-NAME.tar.gz: a folder for `kubectl apply --server-side --kustomize`, without a clone.

    Args:
      name: of the target.
      product: the name of the folder in the archive, before the version.
      folder: has base/ and components/, from the root of the repository.
      files: all files of `folder`, and the folders that their kustomizations name.
      references: the .ref files of the images.
      registry: see packer.bzl.
      visibility: of the target.
    """
    packer(
        name = name,
        arguments = [
            "--name=" + product,
            "--folder=" + folder,
            "--version-file=$(location //:VERSION)",
            "$(locations {})".format(files),
        ],
        output = "{}-{}.tar.gz".format(product, name),
        references = references,
        registry = registry,
        srcs = [files, "//:VERSION"],
        tool = "//deploy:build_kustomize.py",
        visibility = visibility,
    )
