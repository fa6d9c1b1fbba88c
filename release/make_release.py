#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a release of this tree in a new folder, without pushing anything.

  make_release.py --version 0.2.0 --out dist [--registry HOST/PATH] [--architectures LIST]

The folder has:
  release.json  version, registry, commit; repository, tag and digest of each artifact
  NOTES.md      the release notes
  oci/          OCI layouts by repository: images, charts, the OLM's bundle and catalog, SBOMs
  files/        what users download, with SHA256SUMS

The tree must be clean and of that version (VERSION, CHANGELOG.md). --snapshot makes one of any
tree.
"""

import argparse
import datetime
import hashlib
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
sys.path.append(f"{ROOT}/bazel/images")
# pylint: disable=wrong-import-position
import chart_signature
import notes
import oci_store
import provenance

ALL_ARCHITECTURES = ["amd64", "arm64", "ppc64le", "s390x"]
CHARTS = ["operator/helm/multiarch-tuning-operator", "fleet/helm/multiarch-fleet-hub",
          "fleet/helm/multiarch-fleet-agent"]
OLM = {"bundle": "operator/olm/bundle_image", "catalog": "operator/olm/catalog_image"}
MANIFESTS = {"install.yaml": "operator/manifests/install.yaml",
             "multiarch-tuning-operator-kustomize.tar.gz":
                 "operator/manifests/multiarch-tuning-operator-kustomize.tar.gz"}
SOURCE = "https://github.com/OWNER/REPOSITORY"


def run(*command, env=None):
    print("+ " + " ".join(command), flush=True)
    done = subprocess.run(command, check=False, env={**os.environ, **(env or {})})
    if done.returncode != 0:
        raise SystemExit(f"release: `{command[0]}` failed, see above")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def read(path, mode="r"):
    with open(path, mode, encoding=None if "b" in mode else "utf-8") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def changes_of(version, snapshot):
    """The section of the changelog, after the checks of the tree."""
    if not snapshot and output_of("git", "status", "--porcelain"):
        raise SystemExit("release: the tree has changes that are not committed (git status)")
    own = read("VERSION").strip()
    if version != own:
        raise SystemExit(f"release: this tree is version {own} (file VERSION), not {version}")
    try:
        return notes.section_of(read("CHANGELOG.md"), version, snapshot)
    except notes.NoSuchSection as error:
        raise SystemExit(f"release: {error}") from error


class Release:
    """What is made, in its folder."""

    def __init__(self, args):
        self.out, self.version, self.registry = args.partial, args.version, args.registry
        self.architectures, self.pgp_key = args.architectures, args.pgp_key
        self.artifacts = []
        os.makedirs(f"{self.out}/files")

    def layout(self, repository):
        return oci_store.Layout(f"{self.out}/oci/{repository}")

    def record(self, repository, tag, digest, platforms=()):
        self.artifacts.append({
            "repository": repository, "tag": tag, "digest": digest,
            "platforms": [{"architecture": architecture, "digest": descriptor["digest"]}
                          for architecture, descriptor in platforms]})

    def add_program(self, package):
        """The index of a program, and the SBOM of each of its images."""
        archive = f"bazel-bin/{package}/index.tar"
        repository = fields_of(f"bazel-bin/{package}/index.ref")["NAME"]
        layout = self.layout(repository)
        digest, platforms = oci_store.add_image(layout, archive, self.version)
        found = sorted(architecture for architecture, _ in platforms)
        if found != self.architectures:
            raise SystemExit(f"release: {repository} is for {found}, not {self.architectures}")
        for architecture, descriptor in platforms:
            document = read(sbom_of(package, architecture), "rb")
            name = f"{os.path.basename(repository)}_linux_{architecture}.spdx.json"
            oci_store.add_referrer(layout, descriptor, oci_store.SPDX, name, document)
            write(f"{self.out}/files/{name}", document)
        self.record(repository, self.version, digest, platforms)

    def add_chart(self, target):
        archive = read(f"bazel-bin/{target}.tgz", "rb")
        name = oci_store.chart_metadata(archive)["name"]
        file, signature = f"{name}-{self.version}.tgz", None
        write(f"{self.out}/files/{file}", archive)
        if self.pgp_key:
            signature = chart_signature.sign(archive, file, self.pgp_key)
            write(f"{self.out}/files/{file}.prov", signature)
        digest = oci_store.add_chart(self.layout(f"charts/{name}"), archive, signature,
                                     self.version)
        self.record(f"charts/{name}", self.version, digest)

    def add_olm(self, name, target):
        repository = f"pod-placement/{name}"
        tag = f"v{self.version}"
        digest, platforms = oci_store.add_image(
            self.layout(repository), f"bazel-bin/{target}.tar", tag)
        self.record(repository, tag, digest, platforms)

    def add_files(self, paths):
        for name, path in paths.items():
            shutil.copyfile(path, f"{self.out}/files/{name}")

    def finish(self, commit, parameters, section, times):
        """Provenance, checksums, notes and release.json."""
        files = f"{self.out}/files"
        sums = {name: hashlib.sha256(read(f"{files}/{name}", "rb")).hexdigest()
                for name in sorted(os.listdir(files))}
        subjects = {**sums, **{
            f'{self.registry}/{item["repository"]}': item["digest"].removeprefix("sha256:")
            for item in self.artifacts}}
        builder = os.environ.get("BUILDER_ID", f"{SOURCE}/blob/main/docs/release.md#by-hand")
        statement = json.dumps(provenance.statement(subjects, provenance.predicate(
            SOURCE, commit, parameters, builder, times)), indent=1) + "\n"
        write(f"{files}/provenance.intoto.json", statement)
        sums["provenance.intoto.json"] = hashlib.sha256(statement.encode()).hexdigest()
        write(f"{files}/SHA256SUMS",
              "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())))
        release = {"version": self.version, "registry": self.registry, "commit": commit,
                   "artifacts": self.artifacts}
        write(f"{self.out}/release.json", json.dumps(release, indent=1) + "\n")
        template = read(f"{ROOT}/release/notes_template.md")
        write(f"{self.out}/NOTES.md",
              notes.notes(template, release, section, f"{SOURCE}/blob/v{self.version}"))


def fields_of(reference):
    return dict(line.split("=", 1) for line in read(reference).splitlines())


def sbom_of(package, architecture):
    if architecture == "amd64":
        return f"bazel-bin/{package}/image.spdx.json"
    return f"images/{package.replace('/', '-')}/{architecture}.spdx.json"


def build(args):
    """Builds all that the release contains, each image a second time to compare the digests."""
    run("bazel/images/build.sh", *args.architectures)
    if args.reproduce != "no":
        # OBJECTS=cached: links and packs again; with `full`, compiles again, too.
        cached = {"OBJECTS": "cached"} if args.reproduce == "links" else {}
        run("bazel/images/compare_builds.sh", "all", *args.architectures, env=cached)
    targets = [*CHARTS, *OLM.values(), *MANIFESTS.values()]
    defines = [f"--define=REGISTRY={args.registry}"]
    if args.pgp_key:
        defines += [f"--define=SIGN_KEY_FINGERPRINT={chart_signature.fingerprint_of(args.pgp_key)}",
                    f"--define=SIGN_KEY_URL={args.pgp_key_url}"]
    run("bazel", "build", *defines,
        *(f"//{os.path.dirname(target)}:{os.path.basename(target)}" for target in targets))
    run("plugin/archive/build.sh", *args.architectures,
        env={"DIST": f"{args.partial}/plugin", "RELEASE_URI": args.uri})


def make(args):
    section = changes_of(args.version, args.snapshot)
    begin = now()
    shutil.rmtree(args.partial, ignore_errors=True)
    build(args)
    release = Release(args)
    for package in output_of("bash", "-c", ". bazel/images/programs.sh; all_programs").split():
        release.add_program(package)
    for name, target in OLM.items():
        release.add_olm(name, target)
    for target in CHARTS:
        release.add_chart(target)
    plugin = f"{args.partial}/plugin"
    release.add_files({**{name: f"bazel-bin/{path}" for name, path in MANIFESTS.items()},
                       **{name: f"{plugin}/{name}" for name in os.listdir(plugin)}})
    shutil.rmtree(plugin)
    parameters = {"version": args.version, "registry": args.registry,
                  "architectures": args.architectures}
    release.finish(output_of("git", "rev-parse", "HEAD"), parameters, section, (begin, now()))
    os.rename(args.partial, args.out)
    print(f"release {args.version} is in {args.out}: {len(release.artifacts)} artifacts and "
          f"{len(os.listdir(args.out + '/files'))} files; push it with `make release-push`")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", required=True, help="a folder that does not exist")
    parser.add_argument("--registry", default="registry.example.com/placement",
                        help="where the release will be pushed to; its files name it")
    parser.add_argument("--architectures", default=",".join(ALL_ARCHITECTURES),
                        help="of the images and the plugin, comma-separated; always amd64")
    parser.add_argument("--reproduce", choices=("links", "full", "no"), default="links",
                        help="how much is built a second time, to compare the digests")
    parser.add_argument("--uri", help="the folder that will serve the files, for krew")
    parser.add_argument("--pgp-key", help="a key of gpg that signs the charts, for helm --verify")
    parser.add_argument("--pgp-key-url", help="where users get the public key")
    parser.add_argument("--snapshot", action="store_true",
                        help="of a tree that is not clean, or that has unreleased changes")
    args = parser.parse_args()
    if bool(args.pgp_key) != bool(args.pgp_key_url):
        parser.error("--pgp-key and --pgp-key-url belong together")
    args.out = os.path.abspath(args.out)
    # What is not complete has another name.
    args.partial = args.out + ".partial"
    args.architectures = sorted({"amd64", *args.architectures.split(",")})
    unknown = set(args.architectures) - set(ALL_ARCHITECTURES)
    if unknown:
        raise SystemExit(f"release: unknown architectures: {', '.join(sorted(unknown))}")
    if os.path.exists(args.out):
        raise SystemExit(f"release: {args.out} exists; a release is made in a new folder")
    args.uri = args.uri or f"{SOURCE}/releases/download/v{args.version}"
    os.chdir(ROOT)
    make(args)


if __name__ == "__main__":
    sys.exit(main())
