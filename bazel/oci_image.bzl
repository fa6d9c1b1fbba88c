# SPDX-License-Identifier: Apache-2.0
"""oci_image: a program and its shared libraries as an OCI image archive."""

load("//bazel:cross_root.bzl", "cross_root")
load("//bazel:linked_packages.bzl", "linked_packages")

_CA_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"

def oci_image(
        name,
        binary,
        repository,
        ca_certificates = False,
        go_programs = {},
        compiled_in = {},
        visibility = None):
    """Makes the image of the architecture that is built for, and an index of all architectures.

    NAME.tar: OCI archive with the image of one architecture
    NAME.ref: its name, tag, digest, version and architecture
    NAME.spdx.json: the packages in it
    index.tar, index.ref: the same with all architectures whose images `make images` has built

    Args:
      name: the target, usually "image".
      binary: the cc_binary that becomes the entry point.
      repository: image name without host and tag, "pod-placement/shard".
      ca_certificates: adds the public certificate authorities, which public registries need.
      go_programs: programs that the binary starts: placement_go_program (go.bzl) as
        "//package:name" -> name in the image, where they are beside the binary.
      compiled_in: packages whose modules.json and licenses.txt say what is compiled into the
        binary beside Debian's packages -> name of the folder with the texts in the image.
      visibility: of the targets.
    """
    archive, reference, sbom = name + ".tar", name + ".ref", name + ".spdx.json"
    linked = name + ".linked"
    linked_packages(name = linked, binary = binary)
    arguments = [
        "python3 $(location //bazel/images:oci_image.py)",
        "--binary=$(location {})".format(binary),
        "--license=$(location //:LICENSE)",
        "--linked-packages=$(location {})".format(linked),
        "--version-file=$(location //:VERSION)",
        "--repository={}".format(repository),
        "--archive=$(location {})".format(archive),
        "--reference=$(location {})".format(reference),
        "--sbom=$(location {})".format(sbom),
    ]
    if ca_certificates:
        arguments.append("--file={0}={0} --package=ca-certificates".format(_CA_BUNDLE))
    go_files = []
    for program, name_in_image in go_programs.items():
        files = [program, program + ".modules.json", program + ".licenses.txt"]
        locations = ["$(location {})".format(file) for file in files]
        arguments.append("--go-program=" + "=".join([name_in_image] + locations))
        go_files += files
    compiled_in_files = []
    for package, name_in_image in compiled_in.items():
        files = [package + ":modules.json", package + ":licenses.txt"]
        locations = ["$(location {})".format(file) for file in files]
        arguments.append("--compiled-in=" + "=".join([name_in_image] + locations))
        compiled_in_files += files

    root_files, root_argument = cross_root()
    native.genrule(
        name = name,
        srcs = [binary, linked, "//:LICENSE", "//:VERSION"] + go_files +
               compiled_in_files + root_files,
        outs = [archive, reference, sbom],
        cmd = " ".join(arguments) + root_argument,
        tools = ["//bazel/images:modules", "//bazel/images:oci_image.py"],
        visibility = visibility,
    )

    others = "//images:" + repository.split("/")[-1]
    native.genrule(
        name = "index",
        srcs = [archive, reference, others],
        outs = ["index.tar", "index.ref"],
        cmd = " ".join([
            "python3 $(location //bazel/images:oci_index.py)",
            "--image=$(location {})".format(archive),
            "--image-reference=$(location {})".format(reference),
            "--archive=$(location index.tar)",
            "--reference=$(location index.ref)",
            "$(locations {})".format(others),
        ]),
        tools = ["//bazel/images:modules", "//bazel/images:oci_index.py"],
        visibility = visibility,
    )
