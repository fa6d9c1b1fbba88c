# SPDX-License-Identifier: Apache-2.0
"""packer: a program in Python that packs an installation, with the references of the images."""

_MODULES = [
    "//deploy:archive.py",
    "//deploy:installation.py",
    "//deploy:kustomization.py",
    "//deploy:references.py",
    "//deploy:yaml_text.py",
]

def packer(
        name,
        tool,
        arguments,
        srcs,
        output,
        references,
        registry = None,
        tools = [],
        visibility = None):
    """Runs `tool` with --output, --registry, a --reference for each image, and `arguments`.

    Args:
      name: of the target.
      tool: the program. It may import the modules of deploy/.
      arguments: its other arguments.
      srcs: the files that these name.
      output: the file that it writes.
      references: the .ref files of the images.
      registry: host and path of the registry of the images. By default, the command line's:
        --define=REGISTRY=registry.example.com/placement; without it, localhost.
      tools: more files that it imports.
      visibility: of the target.
    """
    command = [
        "PYTHONPATH=deploy python3 $(location {})".format(tool),
        "--output=$@",
        "--registry=" + (registry or "$(REGISTRY)"),
    ]
    command += ["--reference=$(location {})".format(reference) for reference in references]
    native.genrule(
        name = name,
        srcs = srcs + references,
        outs = [output],
        cmd = " ".join(command + arguments),
        tools = [tool] + _MODULES + tools,
        visibility = visibility,
    )
