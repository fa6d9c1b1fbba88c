# SPDX-License-Identifier: Apache-2.0
"""The Go modules of a program as a Bazel repository, pinned by its go.sum.

Nothing is fetched before a build of the program; `make setup` fills the cache that it reads.
"""

def _go_modules_impl(ctx):
    # A changed file makes the repository anew.
    files = [ctx.path(label) for label in ctx.attr.srcs]
    script = ctx.path(Label("//third_party/go:vendor.sh"))
    made = ctx.execute([script, files[0].dirname], timeout = 3600, quiet = False)
    if made.return_code != 0:
        fail("third_party/go/vendor.sh failed:\n" + made.stderr)
    folder, go, version, cache = made.stdout.strip().split("\n")
    for file in ["go.LICENSE", "vendor.tar"]:
        ctx.symlink(folder + "/" + file, file)
    ctx.file("go.env", "go={}\ngo_version={}\ngo_cache={}\n".format(go, version, cache))
    ctx.file("BUILD.bazel", 'exports_files(["go.LICENSE", "go.env", "vendor.tar"])\n')

go_modules = repository_rule(
    implementation = _go_modules_impl,
    attrs = {
        "srcs": attr.label_list(
            mandatory = True,
            doc = "go.mod, go.sum and the sources, in one folder.",
        ),
    },
    environ = ["GOCACHE", "GOMODCACHE", "GOPROXY", "HOME", "PATH", "POD_PLACEMENT_CACHE"],
    doc = "vendor.tar, a vendor folder; go.env, shell variables; go.LICENSE, that of Go itself.",
)
