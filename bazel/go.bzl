# SPDX-License-Identifier: Apache-2.0
"""placement_go_program: a static program in Go, from pinned modules."""

_ARCHITECTURES = ["arm64", "ppc64le", "s390x"]

def placement_go_program(name, srcs, modules, visibility = None):
    """A program for the architecture that is built for, without cgo.

    NAME.modules.json, NAME.licenses.txt: the modules in it, for the image (oci_image.bzl).

    Args:
      name: the program.
      srcs: go.mod, go.sum and the sources of package main.
      modules: a repository of go_modules (third_party/go), such as "@evaluator_modules".
      visibility: of the program.
    """
    vendor, env = modules + "//:vendor.tar", modules + "//:go.env"
    target = {"//conditions:default": ""}
    for architecture in _ARCHITECTURES:
        target["//bazel:" + architecture] = "export GOARCH={}\n".format(architecture)

    # In a folder of its own: Go must find neither other files nor a module around them. The build
    # cache is the user's: without it, each change of a source compiles all modules again, for
    # minutes. Its entries are named by hashes of all that they are made from, so the program is the
    # same with any cache.
    steps = """
set -eu
out=$$PWD/$@
. ./$(location {env})
work=$$(mktemp -d)
trap 'rm -rf "$$work"' EXIT
mkdir $$work/module
for file in {srcs}; do cp -L $$file $$work/module; done
tar --extract --file=$(location {vendor}) --directory=$$work/module
cd $$work/module
mkdir -p "$$go_cache" 2>/dev/null && test -w "$$go_cache" || go_cache=$$work/cache
export HOME=$$work GOCACHE="$$go_cache" GOPATH=$$work/gopath GOENV=off GOFLAGS=-mod=vendor
export GOPROXY=off GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0 GOOS=linux
""".format(
        env = env,
        srcs = " ".join(["$(location {})".format(src) for src in srcs]),
        vendor = vendor,
    )
    native.genrule(
        name = name + "_program",
        srcs = srcs + [vendor, env],
        outs = [name],
        cmd = steps + select(target) +
              "$$go build -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o $$out .\n",
        executable = True,
        # The sandbox would make the cache read-only.
        tags = ["no-sandbox"],
        visibility = visibility,
    )

    legal, texts = name + ".modules.json", name + ".licenses.txt"
    license = modules + "//:go.LICENSE"
    native.genrule(
        name = name + "_modules",
        srcs = [vendor, env, license],
        outs = [legal, texts],
        cmd = ". ./$(location {})\n".format(env) + " ".join([
            "python3 $(location //bazel/images:go_modules.py)",
            "--vendor=$(location {})".format(vendor),
            "--go-version=$$go_version",
            "--go-license=$(location {})".format(license),
            "--modules=$(location {})".format(legal),
            "--licenses=$(location {})".format(texts),
        ]),
        tools = ["//bazel/images:go_modules.py"],
        visibility = visibility,
    )
