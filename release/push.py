#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pushes a release that make_release.py has made to the registry that it names, and signs it.

Every artifact is pushed with what refers to it, then signed by its digest, with the provenance as
an attestation. The files for users come last: who finds them finds all of it. A second run goes on
where the first one ended. A tag that exists with other content is an error: what was released does
not change.

  push.py OUT [--key cosign.key] [--insecure] [--no-transparency-log]

Without --key, cosign signs without a key (keyless), by the identity of the user or the workflow.
Credentials of the registry are those of `oras login`. COSIGN_PASSWORD is the key's password.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

FILES = "pod-placement/release"
# Equal files give an equal manifest: oras would write the time.
CREATED = "org.opencontainers.image.created=1970-01-01T00:00:00Z"
ARTIFACT_TYPE = "application/vnd.pod-placement.release"


def run(*command, **options):
    print("+ " + " ".join(command), flush=True)
    done = subprocess.run(command, check=False, **options)
    if done.returncode != 0:
        raise SystemExit(f"push: `{command[0]}` failed, see above")


class Registry:
    """The registry of a release: what is there, and how to add to it."""

    def __init__(self, address, insecure):
        self.address, self._insecure = address, insecure

    def oras(self, option):
        """The option for oras if the registry has no TLS: `option` names the side of a copy."""
        return [option] if self._insecure else []

    def cosign(self):
        return ["--allow-http-registry", "--allow-insecure-registry"] if self._insecure else []

    def digest_of(self, reference):
        """The digest that a tag has, or None."""
        done = subprocess.run(["oras", "resolve", *self.oras("--plain-http"),
                               f"{self.address}/{reference}"],
                              check=False, capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.strip()
        # Only an absent tag is an absent tag: a registry that fails must not be taken for empty.
        if "not found" in done.stderr:
            return None
        raise SystemExit(f"push: {reference}: {done.stderr.strip()}")


class Signer:
    """Signs artifacts with cosign, each once."""

    def __init__(self, registry, key, transparency_log):
        self._registry = registry
        self._flags = ["--yes", f"--tlog-upload={'true' if transparency_log else 'false'}"]
        if key:
            self._flags.append(f"--key={key}")

    def _has(self, repository, digest, ending):
        return self._registry.digest_of(f"{repository}:{digest.replace(':', '-')}.{ending}")

    def sign(self, repository, digest):
        if not self._has(repository, digest, "sig"):
            run("cosign", "sign", *self._flags, *self._registry.cosign(),
                f"{self._registry.address}/{repository}@{digest}")

    def attest(self, repository, digest, predicate):
        if not self._has(repository, digest, "att"):
            run("cosign", "attest", *self._flags, *self._registry.cosign(),
                "--type=slsaprovenance1", f"--predicate={predicate}",
                f"{self._registry.address}/{repository}@{digest}")

    def sign_file(self, path, bundle):
        if not os.path.exists(bundle):
            run("cosign", "sign-blob", *self._flags, f"--bundle={bundle}.tmp", path,
                stdout=subprocess.DEVNULL)
            os.chmod(f"{bundle}.tmp", 0o644)  # cosign keeps it from other users
            os.rename(f"{bundle}.tmp", bundle)


def push_artifact(out, artifact, registry):
    repository, tag, digest = artifact["repository"], artifact["tag"], artifact["digest"]
    present = registry.digest_of(f"{repository}:{tag}")
    if present and present != digest:
        raise SystemExit(f"push: {registry.address}/{repository}:{tag} is released already, as "
                         f"{present}; this one is {digest}. Release another version")
    for reference in [*(f"@{platform['digest']}" for platform in artifact["platforms"]), f":{tag}"]:
        run("oras", "copy", "--recursive", "--from-oci-layout", *registry.oras("--to-plain-http"),
            f"{out}/oci/{repository}{reference}", f"{registry.address}/{repository}{reference}")


def sign_artifact(artifact, signer, predicate):
    repository = artifact["repository"]
    for digest in [artifact["digest"], *(p["digest"] for p in artifact["platforms"])]:
        signer.sign(repository, digest)
    signer.attest(repository, artifact["digest"], predicate)


def push_files(out, version, registry, signer):
    """The files for users, as one artifact."""
    folder = f"{out}/files"
    signer.sign_file(f"{folder}/SHA256SUMS", f"{folder}/SHA256SUMS.sigstore.json")
    names = sorted(os.listdir(folder))
    if not registry.digest_of(f"{FILES}:{version}"):
        run("oras", "push", *registry.oras("--plain-http"), f"--artifact-type={ARTIFACT_TYPE}",
            f"--annotation={CREATED}", f"{registry.address}/{FILES}:{version}",
            *(f"{name}:application/octet-stream" for name in names), cwd=folder)
    signer.sign(FILES, registry.digest_of(f"{FILES}:{version}"))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("--key", help="private key of cosign, as file or the URI of a KMS")
    parser.add_argument("--insecure", action="store_true", help="the registry has no TLS")
    parser.add_argument("--no-transparency-log", action="store_true",
                        help="do not record the signatures in the public log of sigstore")
    args = parser.parse_args()
    if args.no_transparency_log and not args.key:
        raise SystemExit("push: signatures without a key need the transparency log")
    with open(f"{args.out}/release.json", encoding="utf-8") as file:
        release = json.load(file)
    with open(f"{args.out}/files/provenance.intoto.json", encoding="utf-8") as file:
        predicate = json.load(file)["predicate"]
    registry = Registry(release["registry"], args.insecure)
    signer = Signer(registry, args.key, not args.no_transparency_log)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as predicate_file:
        json.dump(predicate, predicate_file)
        predicate_file.flush()
        for artifact in release["artifacts"]:
            push_artifact(args.out, artifact, registry)
            sign_artifact(artifact, signer, predicate_file.name)
    push_files(args.out, release["version"], registry, signer)
    print(f"pushed {release['version']} to {release['registry']}: "
          f"{len(release['artifacts'])} artifacts and {registry.address}/{FILES}")


if __name__ == "__main__":
    sys.exit(main())
