# SPDX-License-Identifier: Apache-2.0
"""helm_chart: a Helm chart of manifests that kustomize reads too."""

_TEMPLATES = [
    "//deploy/helm:_values.tpl",
    "//deploy/helm:objects.yaml",
]
_TOOLS = [
    "//deploy:kustomization.py",
    "//deploy/helm:build_chart.py",
]

def helm_chart(name, chart, files, manifests, references, visibility):
    """NAME.tgz: the chart.

    Args:
      name: the name of the chart in Chart.yaml.
      chart: folder of the chart's own files, from the root of the repository.
      files: the chart's own files.
      manifests: the manifests, rendered by rendered_manifests().
      references: the .ref files of the images.
      visibility: of the chart.
    """
    arguments = [
        "PYTHONPATH=deploy python3 $(location //deploy/helm:build_chart.py)",
        "--output=$@",
        "--chart={}/".format(chart),
        "--manifests=$(location {})".format(manifests),
        "--version-file=$(location //:VERSION)",
    ]
    arguments += ["--template=$(location {})".format(template) for template in _TEMPLATES]
    arguments += ["--reference=$(location {})".format(reference) for reference in references]
    arguments += ["$(location {})".format(file) for file in files]
    native.genrule(
        name = name,
        srcs = files + [manifests] + references + _TEMPLATES + ["//:VERSION"],
        outs = [name + ".tgz"],
        cmd = " ".join(arguments),
        tools = _TOOLS,
        visibility = visibility,
    )
