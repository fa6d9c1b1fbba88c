# SPDX-License-Identifier: Apache-2.0
"""House macros: the only place with compiler options. BUILD files only name files and deps."""

load(":precompiled_header.bzl", "precompiled_header")

_COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-missing-field-initializers",
    # GCC 12 reports these wrongly for coroutine frames and std::string at -O2.
    "-Wno-maybe-uninitialized",
    "-Wno-dangling-pointer",
    "-Wno-restrict",
    "-Wno-stringop-overread",
    "-Wno-free-nonheap-object",
    "-Wno-mismatched-new-delete",
    "-fvisibility-inlines-hidden",
    # Most files need 0.5 GB: collecting garbage below 1 GB costs a tenth of the time.
    "--param=ggc-min-expand=300",
    "--param=ggc-min-heapsize=1000000",
]

# The memory of an idle process is mostly its own text. -Os makes the text 40 % smaller than -O2, at
# the same CPU per pod. -fPIE instead of --force_pic's -fPIC, which adds indirections for shared
# libraries. Tests do not need it.
_SMALL = select({
    "//bazel:debug": [],
    "//bazel:sanitizer": [],
    "//conditions:default": [
        "-Os",
        "-fPIE",
        "-fvisibility=hidden",
    ],
})

# Tests are compiled once and run once.
_UNOPTIMIZED = select({
    "//bazel:sanitizer": [],
    "//conditions:default": [
        "-O0",
        "-U_FORTIFY_SOURCE",
    ],
})

# The defines of //third_party/boost:asio.
ASIO_DEFINES = [
    "BOOST_ASIO_SEPARATE_COMPILATION",
    "BOOST_ASIO_NO_DEPRECATED",
    "BOOST_BEAST_SEPARATE_COMPILATION",
]

# What all translation units include of the libraries, in two sets (third_party/precompiled).
# --define=precompiled=off compiles without, and so finds a missing #include.
_PRECOMPILED = "third_party/precompiled"

def _include_precompiled(name):
    return select({
        "//bazel:precompiled_off": [],
        "//conditions:default": ["-include", "$(BINDIR)/{}/{}.h".format(_PRECOMPILED, name)],
    })

def _precompiled_dep(name):
    return select({
        "//bazel:precompiled_off": [],
        "//conditions:default": ["//{}:{}".format(_PRECOMPILED, name)],
    })

def placement_precompiled_headers():
    """The precompiled headers of libraries and programs, and of tests."""
    precompiled_header(
        name = "library",
        src = "library_headers.h",
        copts = _COPTS + _SMALL,
        optional_defines = ASIO_DEFINES,
        visibility = ["//visibility:public"],
    )
    precompiled_header(
        name = "test",
        testonly = True,
        src = "test_headers.h",
        hdrs = ["library_headers.h"],
        copts = _COPTS + _UNOPTIMIZED,
        optional_defines = ASIO_DEFINES,
        visibility = ["//visibility:public"],
    )

# --build-id=none and sorted inputs make builds reproducible to the byte. --icf=safe merges
# identical functions, such as those of templates; it needs gold, which Bazel uses if it is
# installed.
_LINKOPTS = ["-Wl,--build-id=none", "-Wl,--as-needed", "-Wl,--icf=safe", "-lpthread"]

def placement_cc_library(name, srcs = [], hdrs = [], deps = [], copts = [], **kwargs):
    """A library, private by default."""
    native.cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        copts = _COPTS + _SMALL + _include_precompiled("library") + copts,
        linkstatic = True,
        deps = deps + _precompiled_dep("library"),
        **kwargs
    )

def placement_cc_binary(name, srcs = [], deps = [], copts = [], **kwargs):
    """A program; the project's code and Debian's archives are linked in, the rest stays shared."""
    native.cc_binary(
        name = name,
        srcs = srcs,
        copts = _COPTS + _SMALL + _include_precompiled("library") + copts,
        linkopts = _LINKOPTS,
        linkstatic = True,
        deps = deps + _precompiled_dep("library"),
        **kwargs
    )

def placement_cc_program(name, srcs, deps, visibility):
    """A program that is shipped.

    NAME_main is all of it but the link, which e2e/old_release repeats with another version.
    """
    placement_cc_library(
        name = name + "_main",
        srcs = srcs,
        visibility = ["//e2e/old_release:__pkg__"],
        deps = deps,
        alwayslink = True,
    )
    placement_cc_binary(
        name = name,
        visibility = visibility,
        deps = [
            name + "_main",
            "//kube/base:aligned_alloc",
        ],
    )

def placement_cc_test(name, srcs = [], deps = [], size = "small", copts = [], **kwargs):
    """A GoogleTest suite with its own main()."""
    native.cc_test(
        name = name,
        srcs = srcs,
        size = size,
        copts = _COPTS + _UNOPTIMIZED + _include_precompiled("test") + copts,
        linkopts = _LINKOPTS,
        linkstatic = True,
        deps = deps + ["@system//:gtest_main"] + _precompiled_dep("test"),
        **kwargs
    )

def placement_cc_test_library(name, srcs = [], hdrs = [], deps = [], copts = [], **kwargs):
    """A library of tests, such as fixtures and flows: compiled as tests are."""
    native.cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        copts = _COPTS + _UNOPTIMIZED + _include_precompiled("test") + copts,
        linkstatic = True,
        testonly = True,
        deps = deps + _precompiled_dep("test"),
        **kwargs
    )

def placement_cc_benchmark(name, srcs = [], deps = [], **kwargs):
    """A Google Benchmark program: built by CI, run manually."""
    native.cc_binary(
        name = name,
        srcs = srcs,
        copts = _COPTS,
        linkopts = _LINKOPTS + ["-lbenchmark_main"],
        linkstatic = True,
        testonly = True,
        deps = deps + ["@system//:benchmark"],
        **kwargs
    )

def placement_proto_library(name, srcs, deps = [], visibility = None):
    """NAME_proto and NAME_cc_proto, for the lite runtime."""
    native.proto_library(
        name = name + "_proto",
        srcs = srcs,
        visibility = visibility,
        deps = [d + "_proto" for d in deps],
    )
    native.cc_proto_library(
        name = name + "_cc_proto",
        visibility = visibility,
        deps = [":" + name + "_proto"],
    )
