# SPDX-License-Identifier: Apache-2.0
"""oci_image: a program and its shared libraries as an OCI image archive."""

_CA_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"

def oci_image(name, binary, repository, ca_certificates = False, visibility = None):
    """Makes NAME.tar (OCI archive) and NAME.ref (its name, tag and digest).

    Args:
      name: the target, usually "image".
      binary: the cc_binary that becomes the entry point.
      repository: image name without host and tag, "pod-placement/shard".
      ca_certificates: adds the public certificate authorities, which public registries need.
      visibility: of the target.
    """
    extra = "--file={0}={0}".format(_CA_BUNDLE) if ca_certificates else ""
    native.genrule(
        name = name,
        srcs = [binary],
        outs = [name + ".tar", name + ".ref"],
        cmd = " ".join([
            "python3 $(location //bazel:oci_image.py)",
            "--binary=$(location {binary})",
            "--repository={repository}",
            "--archive=$(location {name}.tar)",
            "--reference=$(location {name}.ref)",
            "{extra}",
        ]).format(
            binary = binary,
            repository = repository,
            extra = extra,
            name = name,
        ),
        tools = ["//bazel:oci_image.py"],
        visibility = visibility,
    )
