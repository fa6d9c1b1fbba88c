# SPDX-License-Identifier: Apache-2.0
"""helm_chart: a Helm chart of manifests that kustomize reads too."""

def helm_chart(
        name,
        chart,
        components,
        files,
        manifests,
        references,
        visibility,
        templates = []):
    """NAME.tgz: the chart.

    Args:
      name: the name of the chart in Chart.yaml.
      chart: folder of the chart's own files, from the root of the repository.
      components: folder of the components of the manifests, from there too.
      files: the chart's own files.
      manifests: filegroups of manifests and CRDs.
      references: the .ref files of the images.
      visibility: of the chart.
      templates: more files for templates/, besides _manifests.tpl.
    """
    arguments = [
        "python3 $(location //deploy/helm:build_chart.py)",
        "--output=$@",
        "--chart={}/".format(chart),
        "--components={}/".format(components),
        "--version-file=$(location //:VERSION)",
    ]
    templates = templates + ["//deploy/helm:_manifests.tpl"]
    arguments += ["--template=$(location {})".format(template) for template in templates]
    arguments += ["--reference=$(location {})".format(reference) for reference in references]
    arguments += ["$(location {})".format(file) for file in files]
    arguments += ["$(locations {})".format(group) for group in manifests]
    native.genrule(
        name = name,
        srcs = files + manifests + references + templates + ["//:VERSION"],
        outs = [name + ".tgz"],
        cmd = " ".join(arguments),
        tools = ["//deploy/helm:build_chart.py"],
        visibility = visibility,
    )
