# SPDX-License-Identifier: Apache-2.0
"""helm_chart: a Helm chart of manifests that kustomize reads too."""

load("//deploy:packer.bzl", "packer")

_TEMPLATES = [
    "//deploy/helm:_values.tpl",
    "//deploy/helm:objects.yaml",
]
_TEXTS = {
    "changelog": "//:CHANGELOG.md",
    "license": "//:LICENSE",
    "version-file": "//:VERSION",
}

def helm_chart(
        name,
        chart,
        files,
        manifests,
        references,
        visibility,
        examples = None,
        registry = None):
    """NAME.tgz: the chart.

    The chart's signature is made after the build. For Artifact Hub, a chart that will be signed
    with PGP names the key: --define=SIGN_KEY_FINGERPRINT=... --define=SIGN_KEY_URL=https://...

    Args:
      name: of the target; for what is published, the name of the chart in Chart.yaml.
      chart: folder of the chart's own files, from the root of the repository.
      files: the chart's own files.
      manifests: the manifests, rendered by rendered_manifests().
      references: the .ref files of the images.
      visibility: of the chart.
      examples: a file with objects of the chart's kinds, for Artifact Hub.
      registry: see packer.bzl.
    """
    texts = dict(_TEXTS, manifests = manifests)
    if examples:
        texts["examples"] = examples
    arguments = [
        "--chart={}/".format(chart),
        "--sign-key-fingerprint='$(SIGN_KEY_FINGERPRINT)'",
        "--sign-key-url='$(SIGN_KEY_URL)'",
    ]
    arguments += ["--{}=$(location {})".format(option, file) for option, file in texts.items()]
    arguments += ["--template=$(location {})".format(template) for template in _TEMPLATES]
    arguments += ["$(location {})".format(file) for file in files]
    packer(
        name = name,
        arguments = arguments,
        output = name + ".tgz",
        references = references,
        registry = registry,
        srcs = files + texts.values() + _TEMPLATES,
        tool = "//deploy/helm:build_chart.py",
        tools = ["//deploy/helm:modules"],
        visibility = visibility,
    )
