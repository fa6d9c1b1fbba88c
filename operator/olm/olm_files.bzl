# SPDX-License-Identifier: Apache-2.0
"""What OLM installs the operator from."""

load("//deploy:packer.bzl", "packer")

_CATALOG_IN_IMAGE = "configs/multiarch-tuning-operator/catalog.yaml"
_VISIBILITY = ["//operator:__subpackages__"]

def _image(name, repository, srcs, arguments):
    native.genrule(
        name = name,
        srcs = srcs + ["//:VERSION"],
        outs = [name + ".tar", name + ".ref"],
        cmd = " ".join([
            "PYTHONPATH=deploy:bazel/images python3 $(location pack_image.py)",
            "--repository=" + repository,
            "--title=multiarch-tuning-operator-" + repository.split("/")[-1],
            "--version-file=$(location //:VERSION)",
            "--archive=$(location {}.tar)".format(name),
            "--reference=$(location {}.ref)".format(name),
        ] + arguments),
        tools = [
            "pack_image.py",
            "//bazel/images:modules",
            "//deploy:references.py",
        ],
        visibility = _VISIBILITY,
    )

def olm_files(references, prefix = "", registry = None):
    """Makes four targets, whose names begin with `prefix`:

      bundle: bundle.tgz, the bundle as files
      bundle_image: bundle_image.tar, an OCI archive of the bundle, and .ref, its reference
      catalog: catalog.yaml, a file-based catalog with the bundle
      catalog_image: catalog_image.tar, an OCI archive of the catalog, and .ref

    Args:
      references: the .ref files of the images.
      prefix: of the names.
      registry: see packer.bzl; also that of the bundle's image.
    """
    bundle, catalog = prefix + "bundle", prefix + "catalog"
    packer(
        name = bundle,
        arguments = [
            "--component=openshift",
            "--manifests=$(location //operator/manifests)",
            "--version-file=$(location //:VERSION)",
        ] + [
            "--{0}=$(location {0}.yaml)".format(file)
            for file in ["annotations", "csv", "examples", "scorecard"]
        ],
        output = bundle + ".tgz",
        references = references,
        registry = registry,
        srcs = [
            "annotations.yaml",
            "csv.yaml",
            "examples.yaml",
            "scorecard.yaml",
            "//:VERSION",
            "//operator/manifests",
        ],
        tool = "build_bundle.py",
        tools = ["upgrade_graph.py"],
        visibility = _VISIBILITY,
    )
    _image(
        name = bundle + "_image",
        arguments = [
            "--bundle=$(location {}.tgz)".format(bundle),
            "--annotations=$(location annotations.yaml)",
        ],
        repository = "pod-placement/bundle",
        srcs = ["annotations.yaml", bundle + ".tgz"],
    )
    packer(
        name = catalog,
        arguments = ["--bundle=$(location {}.tgz)".format(bundle)],
        output = catalog + ".yaml",
        references = [bundle + "_image.ref"],
        registry = registry,
        srcs = [bundle + ".tgz"],
        tool = "build_catalog.py",
        tools = ["upgrade_graph.py"],
        visibility = _VISIBILITY,
    )
    _image(
        name = catalog + "_image",
        arguments = [
            "--file=$(location {}.yaml)={}".format(catalog, _CATALOG_IN_IMAGE),
            "--label=operators.operatorframework.io.index.configs.v1=/configs",
        ],
        repository = "pod-placement/catalog",
        srcs = [catalog + ".yaml"],
    )
