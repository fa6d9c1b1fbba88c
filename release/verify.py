# SPDX-License-Identifier: Apache-2.0
"""Verifies artifacts of a release as a user does, by cosign and oras, with the current folder for
files. Everything raises AssertionError if it does not hold.
"""

import base64
import hashlib
import io
import json
import os
import tarfile

from cluster import run


class Verifier:
    """Who must have signed: `signer` are the flags of cosign that say it."""

    def __init__(self, registry, signer, insecure):
        self.registry = registry
        self._signer = signer
        self._cosign = ["--allow-http-registry", "--allow-insecure-registry"] if insecure else []
        self._oras = ["--plain-http"] if insecure else []

    def signature(self, reference):
        """The artifact is signed. Returns its digest."""
        payloads = json.loads(run("cosign", "verify", *self._signer, *self._cosign,
                                  "--output=json", reference))
        digests = {payload["critical"]["image"]["docker-manifest-digest"] for payload in payloads}
        assert len(digests) == 1, f"{reference}: {digests}"
        return digests.pop()

    def not_signed_by_another(self, reference):
        """A key that was just made has not signed the artifact: cosign does refuse."""
        os.environ["COSIGN_PASSWORD"] = ""
        run("cosign", "generate-key-pair", "--output-key-prefix=other")
        try:
            run("cosign", "verify", "--key=other.pub", "--insecure-ignore-tlog", *self._cosign,
                reference)
        except AssertionError as error:
            assert "signature" in str(error), error
        else:
            raise AssertionError(f"{reference} is signed by any key")

    def provenance(self, reference, version):
        """The artifact has a provenance, which is of this version. Returns the statement."""
        text = run("cosign", "verify-attestation", "--type=slsaprovenance1", *self._signer,
                   *self._cosign, reference)
        envelope = json.loads(text.splitlines()[0])
        statement = json.loads(base64.b64decode(envelope["payload"]))
        definition = statement["predicate"]["buildDefinition"]
        assert definition["externalParameters"]["version"] == version, definition
        return statement

    def checksums(self, folder):
        """The files are those that were signed."""
        run("cosign", "verify-blob", *self._signer, "--bundle=SHA256SUMS.sigstore.json",
            "SHA256SUMS", cwd=folder)
        run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=folder)

    def not_another_file(self, folder):
        """A file that was changed is found."""
        with open(f"{folder}/install.yaml", "r+b") as file:
            content = file.read()
            file.write(b"# more\n")
            file.flush()
            try:
                run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=folder)
            except AssertionError as error:
                assert "install.yaml: FAILED" in str(error), error
            else:
                raise AssertionError("a changed file is not found")
            finally:
                file.truncate(len(content))

    def pull(self, repository, tag, folder):
        """The files of an artifact, in a new folder."""
        run("oras", "pull", *self._oras, f"--output={folder}",
            f"{self.registry}/{repository}:{tag}")

    def manifest(self, reference):
        return json.loads(run("oras", "manifest", "fetch", *self._oras, reference))

    def sboms(self, repository, digest):
        """Every platform of an index has an SBOM that is of it."""
        platforms = self.manifest(f"{self.registry}/{repository}@{digest}")["manifests"]
        for platform in platforms:
            reference = f"{self.registry}/{repository}@{platform['digest']}"
            found = json.loads(run(
                "oras", "discover", *self._oras, "--format=json",
                "--artifact-type=application/spdx+json", reference))
            referrers = found.get("referrers") or found.get("manifests") or []
            assert len(referrers) == 1, f"{reference}: {found}"
            artifact = self.manifest(f"{self.registry}/{repository}@{referrers[0]['digest']}")
            document = json.loads(self.blob(repository, artifact["layers"][0]["digest"]))
            sums = [checksum["checksumValue"] for package in document["packages"]
                    for checksum in package.get("checksums", [])]
            assert sums == [platform["digest"].removeprefix("sha256:")], f"{reference}: {sums}"
        return len(platforms)

    def blob(self, repository, digest):
        path = os.path.abspath("blob")
        run("oras", "blob", "fetch", *self._oras, f"--output={path}",
            f"{self.registry}/{repository}@{digest}")
        with open(path, "rb") as file:
            data = file.read()
        assert hashlib.sha256(data).hexdigest() == digest.removeprefix("sha256:"), digest
        return data

    def files_of_image(self, repository, tag):
        """{path: content} of the layers of an image without a program."""
        reference = f"{self.registry}/{repository}:{tag}"
        manifest = self.manifest(reference)
        if "manifests" in manifest:
            digest = manifest["manifests"][0]["digest"]
            manifest = self.manifest(f"{self.registry}/{repository}@{digest}")
        files = {}
        for layer in manifest["layers"]:
            archive = io.BytesIO(self.blob(repository, layer["digest"]))
            with tarfile.open(fileobj=archive) as tar:
                files.update({member.name: tar.extractfile(member).read()
                              for member in tar.getmembers() if member.isfile()})
        return files
