# SPDX-License-Identifier: Apache-2.0
"""linked_packages: the Debian packages that are compiled into a program.

Targets of third_party name the package of their headers or static archive in a tag,
"debian=libyaml-cpp-dev".
"""

_PREFIX = "debian="

_Packages = provider(doc = "Names of packages.", fields = ["names"])

def _aspect_impl(_, ctx):
    own = [tag[len(_PREFIX):] for tag in ctx.rule.attr.tags if tag.startswith(_PREFIX)]
    inherited = []
    for attribute in _EDGES:
        deps = getattr(ctx.rule.attr, attribute, None) or []
        for dep in deps if type(deps) == "list" else [deps]:
            if type(dep) == "Target" and _Packages in dep:
                inherited.append(dep[_Packages].names)
    return [_Packages(names = depset(own, transitive = inherited))]

_EDGES = ["deps", "actual"]

# A cc_proto_library depends on the runtime through its toolchain.
_aspect = aspect(
    implementation = _aspect_impl,
    attr_aspects = _EDGES + ["_cc_proto_toolchain"],
)

def _impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".txt")
    names = sorted(ctx.attr.binary[_Packages].names.to_list())
    ctx.actions.write(out, "".join([name + "\n" for name in names]))
    return [DefaultInfo(files = depset([out]))]

linked_packages = rule(
    implementation = _impl,
    attrs = {"binary": attr.label(mandatory = True, aspects = [_aspect])},
    doc = "A file with a name on each line.",
)
