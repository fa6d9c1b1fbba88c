# SPDX-License-Identifier: Apache-2.0
"""Headers that GCC parses once for all translation units."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")

def _precompile(ctx, toolchain, features, header, output, defines):
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = header.path,
        output_file = output.path,
        preprocessor_defines = depset(defines),
        quote_include_directories = depset(["."]),
        use_pic = True,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts +
                             ctx.attr.copts + ["-x", "c++-header"],
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
        ),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        inputs = depset([header] + ctx.files.hdrs, transitive = [toolchain.all_files]),
        outputs = [output],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling %s" % output.short_path,
    )

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )

    # GCC looks for NAME.h.gch beside NAME.h. If that is a folder, it uses the file in it that was
    # compiled with the macros and options of the compilation.
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.expand_template(template = ctx.file.src, output = header, substitutions = {})
    outputs = []
    for name, defines in {"plain": [], "with_defines": ctx.attr.optional_defines}.items():
        output = ctx.actions.declare_file("{}.h.gch/{}".format(ctx.label.name, name))
        _precompile(ctx, toolchain, features, header, output, defines)
        outputs.append(output)
    context = cc_common.create_compilation_context(headers = depset([header] + outputs))
    return [CcInfo(compilation_context = context), DefaultInfo(files = depset(outputs))]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    doc = """Precompiles `src` as NAME.h.gch, without and with `optional_defines`.

    A target that depends on it and is compiled with `-include $(BINDIR)/PACKAGE/NAME.h` and the
    same `copts` does not parse `src` again. Apart from `hdrs`, `src` may include only system
    headers.""",
    attrs = {
        "src": attr.label(allow_single_file = [".h"], mandatory = True),
        "hdrs": attr.label_list(allow_files = [".h"], doc = "The headers that src includes."),
        "copts": attr.string_list(),
        "optional_defines": attr.string_list(doc = "What some of the targets are compiled with."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    incompatible_use_toolchain_transition = True,
)
