#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pushes the demo images, of several architectures and manifest kinds, to a registry.

All images hold the same program, built for this machine. In an image for another architecture only
the ELF header names that architecture: fake nodes never run the program, and a real node that gets
it by mistake fails with "exec format error", as with a real image. Pushing again changes nothing.
"""

import argparse
import urllib.error
import urllib.parse
import urllib.request

import oci

# The restricted Pod Security Standard requires a numeric user that is not 0.
USER = "65532"
PLATFORMS = {
    "amd64": {"architecture": "amd64", "os": "linux"},
    "arm64": {"architecture": "arm64", "os": "linux", "variant": "v8"},
    "ppc64le": {"architecture": "ppc64le", "os": "linux"},
    "s390x": {"architecture": "s390x", "os": "linux"},
}

# e_machine of the ELF header (elf.h).
MACHINES = {"amd64": 62, "arm64": 183, "ppc64le": 21, "s390x": 22}
E_MACHINE_OFFSET = 18


class Registry:
    """The calls of the OCI distribution API that a push needs, anonymous and over plain HTTP."""

    def __init__(self, address):
        self._base = f"http://{address}/v2/"

    def push(self, repository, tag, top):
        """Pushes the manifest or index `top` after its parts, which registries require first."""
        self._push_parts(repository, top)
        self._put_manifest(repository, tag, top)

    def _push_parts(self, repository, blob):
        for part in blob.parts:
            if part.parts:
                self._push_parts(repository, part)
                self._put_manifest(repository, part.digest, part)
            else:
                self._put_blob(repository, part)

    def _put_manifest(self, repository, reference, blob):
        self._call("PUT", f"{repository}/manifests/{reference}", blob.data, blob.media_type)

    def _put_blob(self, repository, blob):
        try:
            self._call("HEAD", f"{repository}/blobs/{blob.digest}")
            return
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
        upload = self._call("POST", f"{repository}/blobs/uploads/", b"").headers["Location"]
        separator = "&" if "?" in upload else "?"
        query = urllib.parse.urlencode({"digest": blob.digest})
        self._call("PUT", upload + separator + query, blob.data, "application/octet-stream")

    def _call(self, method, path, data=None, content_type=None):
        headers = {"Content-Type": content_type} if content_type else {}
        url = urllib.parse.urljoin(self._base, path)
        # The registry is local: a proxy of the environment does not reach it.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(url, data, headers, method=method)
        with opener.open(request, timeout=30) as answer:
            answer.read()
            return answer


def program_for(architecture, program):
    """`program` (bytes), as if built for `architecture`."""
    machine = MACHINES[architecture].to_bytes(2, "little")
    return program[:E_MACHINE_OFFSET] + machine + program[E_MACHINE_OFFSET + 2:]


def single(program, architecture, kind=oci.OCI):
    """The manifest of an image for one architecture."""
    return of_file(program_for(architecture, program), architecture, kind)


def of_file(content, architecture, kind=oci.OCI):
    """The manifest of an image for one architecture whose entrypoint is this file."""
    layer = oci.layer([(content, "/pause")], kind=kind)
    config = oci.config(layer, architecture, ["/pause"], USER, kind)
    return oci.manifest(config, [layer], kind)


def wrong(files):
    """An index of images whose entrypoint is the file of their architecture in `files`."""
    return oci.index([(of_file(content, name), PLATFORMS[name]) for name, content in files.items()])


def attestation(subject):
    """The manifest without image and platform that `docker buildx` adds for each image."""
    statement = oci.json_blob("application/vnd.in-toto+json", {
        "_type": "https://in-toto.io/Statement/v0.1",
        "predicateType": "https://slsa.dev/provenance/v0.2",
        "subject": [{"name": "demo", "digest": {"sha256": subject.digest.removeprefix("sha256:")}}],
        "predicate": {},
    })
    config = oci.json_blob(oci.OCI.config, {
        "architecture": "unknown",
        "os": "unknown",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [statement.digest]},
    })
    entry = {
        "vnd.docker.reference.digest": subject.digest,
        "vnd.docker.reference.type": "attestation-manifest",
    }
    return oci.manifest(config, [statement]), {"architecture": "unknown", "os": "unknown"}, entry


def multi(program, architectures, kind=oci.OCI, attested=False):
    """An index of images for several architectures."""
    entries = [(single(program, name, kind), PLATFORMS[name]) for name in architectures]
    if attested:
        entries += [attestation(image) for image, _ in entries]
    return oci.index(entries, kind)


def demo_images(program):
    return {
        "demo/multi": multi(program, PLATFORMS, attested=True),
        "demo/arm64-amd64": multi(program, ["amd64", "arm64"], oci.DOCKER),
        "demo/ppc64le-s390x": multi(program, ["ppc64le", "s390x"]),
        "demo/amd64": single(program, "amd64"),
        "demo/arm64": single(program, "arm64", oci.DOCKER),
        "demo/ppc64le": single(program, "ppc64le"),
        "demo/s390x": single(program, "s390x"),
        # Its index is wrong: for amd64, it has a program for arm64.
        "demo/wrong-program": wrong({"amd64": program_for("arm64", program),
                                     "arm64": program_for("arm64", program)}),
        # No program for any architecture.
        "demo/no-program": wrong({name: b"echo without an interpreter\n" for name in PLATFORMS}),
        "demo/empty": wrong({name: b"" for name in PLATFORMS}),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("registry", help="host:port, plain HTTP")
    parser.add_argument("program", help="a static program that takes no arguments")
    args = parser.parse_args()

    registry = Registry(args.registry)
    with open(args.program, "rb") as file:
        images = demo_images(file.read())
    for repository, image in images.items():
        registry.push(repository, "1", image)
        print(f"{args.registry}/{repository}:1  {image.digest}  {image.media_type}")


if __name__ == "__main__":
    main()
