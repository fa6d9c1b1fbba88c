# SPDX-License-Identifier: Apache-2.0
"""Debian's cross compiler of an architecture as a Bazel toolchain, with its sysroot.

Nothing is fetched before a build with --config=ARCHITECTURE uses the repository.
"""

def _cross_toolchain_impl(ctx):
    triple = ctx.attr.triple
    if ctx.which(triple + "-g++") == None:
        fail(("{0}-g++ is not installed: run " +
              "third_party/install.sh third_party/packages-cross.txt").format(triple))
    script = ctx.path(Label("//third_party/cross:sysroot.sh"))

    # A changed lock changes the folder.
    ctx.path(Label("//third_party/cross:{0}.lock".format(ctx.attr.architecture)))
    made = ctx.execute([script, ctx.attr.architecture], timeout = 3600, quiet = False)
    if made.return_code != 0:
        fail("third_party/cross/sysroot.sh {0} failed".format(ctx.attr.architecture))
    ctx.file("sysroot.path", made.stdout)
    ctx.template("BUILD.bazel", Label("//third_party/cross:toolchain.BUILD"), {
        "%{architecture}": ctx.attr.architecture,
        "%{sysroot}": made.stdout.strip(),
        "%{triple}": triple,
    })

cross_toolchain = repository_rule(
    implementation = _cross_toolchain_impl,
    attrs = {
        "architecture": attr.string(mandatory = True, doc = "As Kubernetes names it."),
        "triple": attr.string(mandatory = True, doc = "As the cross compiler names it."),
    },
    environ = ["DEBIAN_MIRROR", "HOME", "POD_PLACEMENT_CACHE"],
    doc = "The target :suite, for --crosstool_top.",
)
