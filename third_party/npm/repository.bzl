# SPDX-License-Identifier: Apache-2.0
"""The npm packages of a folder as a Bazel repository, pinned by its package-lock.json.

Nothing is fetched before a build of what uses them; `make setup` fills the cache that it reads.
"""

_BUILD = """# SPDX-License-Identifier: Apache-2.0
package(default_visibility = ["//visibility:public"])

# npm writes this file last; its folder is the node_modules of the packages.
exports_files(["node_modules/.package-lock.json"])

filegroup(
    name = "node_modules",
    srcs = glob(
        ["node_modules/**"],
        exclude = ["node_modules/.bin/**"],
    ),
)
"""

def _npm_packages_impl(ctx):
    # A changed file makes the repository anew.
    package_json, lock_file = ctx.path(ctx.attr.package_json), ctx.path(ctx.attr.lock_file)
    if package_json.dirname != lock_file.dirname:
        fail("package_json and lock_file are in different folders")
    script = ctx.path(Label("//third_party/npm:install.sh"))
    made = ctx.execute([script, package_json.dirname], timeout = 3600, quiet = False)
    if made.return_code != 0:
        fail("third_party/npm/install.sh failed:\n" + made.stderr)
    ctx.symlink(made.stdout.strip() + "/node_modules", "node_modules")
    ctx.file("BUILD.bazel", _BUILD)

npm_packages = repository_rule(
    implementation = _npm_packages_impl,
    attrs = {
        "package_json": attr.label(mandatory = True, doc = "package.json"),
        "lock_file": attr.label(mandatory = True, doc = "package-lock.json, in the same folder"),
    },
    environ = ["HOME", "PATH", "POD_PLACEMENT_CACHE"],
    doc = "node_modules, with all packages of the lock file that are for this machine.",
)
