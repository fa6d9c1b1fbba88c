# SPDX-License-Identifier: Apache-2.0
"""System libraries as Bazel repositories, and shims for what Bazel would otherwise fetch."""

load("//third_party/cross:repository.bzl", "cross_toolchain")
load("//third_party/go:repository.bzl", "go_modules")
load("//third_party/npm:repository.bzl", "npm_packages")

def _system_library(name, build_file, path = "/usr"):
    native.new_local_repository(name = name, path = path, build_file = build_file)

def pod_placement_repositories():
    """Declares every external repository; Bazel downloads none."""

    # Libraries: headers and shared objects that Debian installed under /usr.
    _system_library("boost", "//third_party/boost:boost.BUILD")
    _system_library("boringssl", "//third_party/boringssl:boringssl.BUILD")
    _system_library("com_google_protobuf", "//third_party/protobuf:protobuf.BUILD")
    _system_library("system", "//third_party/system:system.BUILD")
    _system_library(
        "tomlplusplus",
        "//third_party/tomlplusplus:tomlplusplus.BUILD",
        path = "/usr/include/toml++",
    )

    # Cross compilers, with their libraries.
    cross_toolchain(name = "cross_arm64", architecture = "arm64", triple = "aarch64-linux-gnu")
    cross_toolchain(
        name = "cross_ppc64le",
        architecture = "ppc64le",
        triple = "powerpc64le-linux-gnu",
    )
    cross_toolchain(name = "cross_s390x", architecture = "s390x", triple = "s390x-linux-gnu")

    # The modules of programs in Go.
    go_modules(
        name = "evaluator_modules",
        srcs = ["//fleet/cel/evaluator:" + file for file in [
            "go.mod",
            "go.sum",
            "compile.go",
            "evaluate.go",
            "language.go",
            "main.go",
            "messages.go",
            "scores.go",
        ]],
    )

    # The packages of the console's pages.
    npm_packages(
        name = "console_npm",
        lock_file = "//console/web:package-lock.json",
        package_json = "//console/web:package.json",
    )

    # Bazel's own default repositories, which the WORKSPACE suffix would download.
    native.local_repository(name = "rules_cc", path = "third_party/rules_cc")
    native.local_repository(name = "remote_coverage_tools", path = "third_party/coverage_tools")
    native.local_repository(name = "rules_java", path = "/usr/share/bazel/rules/java")
    native.local_repository(name = "rules_proto", path = "/usr/share/bazel/rules/proto")
    native.local_repository(name = "bazel_skylib", path = "/usr/share/bazel/tools/skylib")
    native.local_repository(name = "platforms", path = "/usr/share/bazel/platforms")
