#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of lint.py: each check finds its violation in a small tree, and nothing in a clean one."""

import os
import tempfile
import unittest
from unittest import mock

import lint

LICENCE = "SPDX-License-Identifier: Apache-2.0"


class LintTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.add("CONTRIBUTING.md", "| | invariant |\n|---|---|\n| I1 | Gates. |\n")

    def add(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def findings(self, check):
        findings = []
        check(self.root, findings)
        return findings

    def test_finds_nothing_in_a_clean_tree(self):
        self.add("kube/BUILD.bazel", f"# {LICENCE}\n"
                 'placement_cc_library(name = "a", srcs = ["a.cc"], hdrs = ["a.h"])\n')
        self.add("kube/a.h", f"// {LICENCE}\n#pragma once\n")
        self.add("kube/a.cc", f'// {LICENCE}\n#include "kube/a.h"\n\nint main() {{ return 0; }}\n')
        for check in lint.CHECKS:
            self.assertEqual(self.findings(check), [], check.__name__)

    def test_finds_an_include_without_a_dependency(self):
        self.add("kube/BUILD.bazel", 'placement_cc_library(name = "a", hdrs = ["a.h"])\n'
                 'placement_cc_library(name = "b", srcs = ["b.cc"])\n')
        self.add("kube/a.h", "")
        self.add("kube/b.cc", '#include "kube/a.h"\n#include "kube/c.h"\n')
        self.assertEqual(self.findings(lint.check_includes), [
            "kube/b.cc:1: //kube:b includes kube/a.h without a dep on //kube:a",
            "kube/b.cc:2: no target has the header kube/c.h",
        ])

    def test_a_build_file_may_add_a_loaded_list_to_the_data(self):
        self.add("kube/BUILD.bazel", 'load("//bazel:lists.bzl", "LISTS")\n'
                 'placement_cc_library(name = "b", srcs = ["b.cc"], data = LISTS + ["x"])\n')
        self.add("kube/b.cc", '#include "kube/c.h"\n')
        self.assertEqual(self.findings(lint.check_includes),
                         ["kube/b.cc:1: no target has the header kube/c.h"])

    def test_finds_a_folder_that_must_not_be_used(self):
        self.add("api/BUILD.bazel", 'placement_cc_library(name = "a", hdrs = ["a.h"])\n')
        self.add("api/a.h", "")
        self.add("kube/BUILD.bazel",
                 'placement_cc_library(name = "b", srcs = ["b.cc"], deps = ["//api:a"])\n')
        self.add("kube/b.cc", '#include "api/a.h"\n')
        self.assertEqual(self.findings(lint.check_includes),
                         ["kube/b.cc:1: kube/ must not use api/"])

    def test_only_main_may_use_what_it_registers(self):
        self.add("api/BUILD.bazel", 'placement_cc_library(name = "a", hdrs = ["a.h"])\n')
        self.add("api/a.h", "")
        self.add("kube/BUILD.bazel", "".join(
            f'placement_cc_library(name = "{name}", srcs = ["{name}.cc"], deps = ["//api:a"])\n'
            for name in ("main", "main_test", "sub/main")))
        for name in ("main", "main_test", "sub/main"):
            self.add(f"kube/{name}.cc", '#include "api/a.h"\n')
        with mock.patch.object(lint, "MAIN_ALLOWED", {"kube": {"api"}}):
            self.assertEqual(self.findings(lint.check_includes), [
                "kube/main_test.cc:1: kube/ must not use api/",
                "kube/sub/main.cc:1: kube/ must not use api/",
            ])

    def test_the_checker_of_the_simulation_shares_no_decisions(self):
        for header in ("placement/a.h", "sim/a.h", "api/a.h", "sim/checker/a.h"):
            folder = os.path.dirname(header)
            self.add(f"{folder}/BUILD.bazel",
                     'placement_cc_library(name = "a", hdrs = ["a.h"])\n')
            self.add(header, "")
        self.add("sim/checker/testing/BUILD.bazel",
                 'placement_cc_library(name = "b", srcs = ["b.cc"], deps = '
                 '["//placement:a", "//sim:a", "//api:a", "//sim/checker:a"])\n')
        self.add("sim/checker/testing/b.cc",
                 '#include "api/a.h"\n#include "placement/a.h"\n#include "sim/a.h"\n'
                 '#include "sim/checker/a.h"\n')
        self.assertEqual(self.findings(lint.check_includes),
                         ["sim/checker/testing/b.cc:2: sim/checker/ must not use placement/",
                          "sim/checker/testing/b.cc:3: sim/checker/ must not use sim/"])

    def test_the_tests_of_a_slice_may_use_the_cluster_of_tests(self):
        self.add("e2e/BUILD.bazel", 'placement_cc_library(name = "a", hdrs = ["a.h"])\n')
        self.add("e2e/a.h", "")
        for folder in ("fleet/e2e", "fleet/hub"):
            self.add(f"{folder}/BUILD.bazel",
                     'placement_cc_library(name = "b", srcs = ["b.cc"], deps = ["//e2e:a"])\n')
            self.add(f"{folder}/b.cc", '#include "e2e/a.h"\n')
        self.assertEqual(self.findings(lint.check_includes),
                         ["fleet/hub/b.cc:1: fleet/ must not use e2e/"])

    def test_finds_include_cycles_of_folders(self):
        self.add("a/x.h", '#include "b/y.h"\n')
        self.add("b/y.h", '#include "b/c/z.h"\n')
        self.add("b/c/z.h", '#include "b/testing/t.h"\n#include "a/w.h"\n')
        self.assertEqual(self.findings(lint.check_folder_cycles), [
            "include cycle a -> b -> b/c -> a: a/x.h:1, b/y.h:1, b/c/z.h:2",
        ])

    def test_accepts_cycles_of_tests_and_mains(self):
        self.add("a/x.h", '#include "b/y.h"\n')
        self.add("b/y_test.cc", '#include "a/x.h"\n')
        self.add("b/main.cc", '#include "a/x.h"\n')
        self.add("b/testing/t.h", '#include "a/x.h"\n')
        self.assertEqual(self.findings(lint.check_folder_cycles), [])

    def test_finds_a_file_without_licence_and_a_long_one(self):
        self.add("a.py", "pass\n")
        self.add("b.py", f"# {LICENCE}\n" + "pass\n" * 800)
        self.assertEqual(self.findings(lint.check_files), [
            "a.py: no SPDX-License-Identifier in the first lines",
            "b.py: 801 lines, more than 800",
        ])

    def test_finds_a_long_line_in_every_kind_of_source(self):
        for name in ("a.py", "a.sh", "a.bzl", "BUILD.bazel", "a.BUILD", "a.go", "a.proto", "a.c",
                     "a.cc", "a.h", "Makefile", "WORKSPACE"):
            self.add(f"{name}-folder/{name}", "x" * 100 + "\n" + "y" * 101 + "\n")
            self.assertIn(f"{name}-folder/{name}:2: 101 columns, more than 100",
                          self.findings(lint.check_columns))

    def test_counts_characters_and_not_bytes(self):
        self.add("a.py", "é" * 100 + "\n")
        self.assertEqual(self.findings(lint.check_columns), [])

    def test_accepts_long_lines_of_raw_strings(self):
        long = "x" * 101
        self.add("a.cc", f'auto a = R"({long}\n{long})";\nauto b = R"json({long})json";\n'
                 f'auto c = "{long}";\n')
        self.assertEqual(self.findings(lint.check_columns),
                         ["a.cc:4: 113 columns, more than 100"])

    def test_finds_long_prose_in_markdown(self):
        long = "x" * 101
        self.add("a.md", f"| {long} |\n```\n{long}\n```\n{long}\n- see https://{long}\n  {long}\n")
        self.assertEqual(self.findings(lint.check_markdown), [
            "a.md:5: 101 columns, more than 100",
            "a.md:7: 103 columns, more than 100",
        ])

    def test_finds_links_that_lead_nowhere(self):
        self.add("docs/b.md", "# One & `two`: three\n```\n# code\n```\n## Again\n## Again\n")
        self.add("a.md", "[b](docs/b.md) [b](docs/b.md#one--two-three) [b](docs/b.md#again-1)\n"
                 "[self](#here) [web](https://x.y/z#w) `[code](no.md)` [folder](docs)\n# Here\n"
                 "| [c](c.md) |\n[b](docs/b.md#code)\n```\n[d](d.md)\n```\n[text\nmore](#there)\n")
        self.add("docs/c.md", "[a](../a.md) [b](docs/b.md) ![image](a.svg#here)\n")
        self.add("docs/a.svg", "")
        self.assertEqual(self.findings(lint.check_links), [
            "a.md:4: c.md does not exist",
            "a.md:5: docs/b.md#code leads to no heading",
            "a.md:10: #there leads to no heading",
            "docs/c.md:1: docs/b.md does not exist",
            "docs/c.md:1: a.svg#here leads to no heading",
        ])

    def test_finds_paths_of_files_that_do_not_exist(self):
        self.add("kube/a.h", "// See kube/a.h and kube/b.h; x/kube/c.h and other/d.h are others.\n"
                 "auto path = \"kube/e.h\";\n")
        self.add("api/kube/i.h", "// kube/i.h\n")
        self.add("docs/a.md", "`kube/a.h`, `kube/f.cc`\n```\nkube/g.h\n```\n")
        self.add("CHANGELOG.md", "kube/h.h\n")
        self.assertEqual(self.findings(lint.check_paths), [
            "docs/a.md:1: kube/f.cc does not exist",
            "kube/a.h:1: kube/b.h does not exist",
        ])

    def test_finds_flags_that_no_program_has(self):
        self.add("a/a.cc", 'DEFINE_string(log_file, "", "");\n')
        self.add("a/b.py", 'parser.add_argument("--only-here")\n')
        self.add("a.md", "| flag | meaning |\n|---|---|\n| `--log-file`, `--only-here` | `--x` |\n"
                 "| `--log-files` | no |\nSee `--y`.\n```\n| `--z` |\n```\n")
        self.assertEqual(self.findings(lint.check_flags),
                         ["a.md:4: no program has the flag --log-files"])

    def test_finds_alerts_whose_link_is_no_url_of_their_page(self):
        def alert(name, url):
            return f"- alert: {name}\n  annotations:\n    runbook_url: {url}\n"
        self.add("docs/runbooks/Down.md", "")
        self.add("operator/rule.yaml",
                 alert("Down", "https://a.invalid/docs/runbooks/Down.md") +
                 alert("Down", "docs/runbooks/Down.md") +
                 alert("Down", "https://a.invalid/docs/runbooks/Up.md") +
                 alert("Up", "https://a.invalid/docs/runbooks/Up.md"))
        self.assertEqual(self.findings(lint.check_runbooks), [
            "operator/rule.yaml:6: docs/runbooks/Down.md is no URL of docs/runbooks/Down.md",
            "operator/rule.yaml:9: https://a.invalid/docs/runbooks/Up.md is no URL of "
            "docs/runbooks/Down.md",
            "operator/rule.yaml:12: docs/runbooks/Up.md does not exist",
        ])

    def test_finds_reasons_in_runbooks_of_shards_that_are_not_in_the_reference(self):
        self.add("docs/reference.md", "| `Gone` | x |\n## Reasons of Degraded\n"
                 "| `Quota`, `Pull` | `Word` |\n## Metrics\n| `After` | x |\n")
        self.add("docs/runbooks/ShardDown.md", "- `Quota`, `Pull`: x\n- `Gone`: x\n- `Pull`,\n")
        self.add("docs/runbooks/Down.md", "- `OOMKilled`: x\n")
        self.assertEqual(self.findings(lint.check_runbooks),
                         ["docs/runbooks/ShardDown.md:2: docs/reference.md has no reason Gone"])

    def test_finds_files_without_a_licence_in_the_folder_of_github(self):
        self.add(".github/workflows/a.yml", "name: a\n")
        self.add(".git/b.yml", "name: b\n")
        self.assertEqual(self.findings(lint.check_files), [
            ".github/workflows/a.yml: no SPDX-License-Identifier in the first lines"])

    def test_finds_other_versions_of_kubernetes_than_the_promised_ones(self):
        rows = (("oldest", "a.yaml", r"^kubeVersion: ([\d.]+)$"),
                ("newest", "b.sh", r"^VERSION=v([\d.]+)$"))
        self.add("docs/versions.md", "| oldest | 1.30 | x |\n| newest | 1.36.3 | x |\n")
        self.add("a.yaml", "kubeVersion: 1.30\n")
        self.add("b.sh", "VERSION=v1.36.3\n")
        with mock.patch.object(lint, "KUBERNETES_VERSIONS", rows):
            self.assertEqual(self.findings(lint.check_kubernetes_versions), [])
            self.add("a.yaml", "kubeVersion: 1.31\n")
            self.add("b.sh", "OTHER=v1.36.3\n")
            self.assertEqual(self.findings(lint.check_kubernetes_versions), [
                "a.yaml: the oldest version of Kubernetes is 1.31, and in docs/versions.md 1.30",
                "b.sh: the newest version of Kubernetes is None, and in docs/versions.md 1.36.3"])

    def test_finds_releases_without_a_date_of_their_support(self):
        self.add("VERSION", "0.3.0\n")
        self.add("CHANGELOG.md", "## Unreleased\n## 0.2.1 - 2026-02-01\n## 0.2.0 - 2026-01-01\n")
        self.add("SUPPORT.md", "| 0.3 | not yet | x |\n| 0.2 | 2026-01-01 | x |\n| 0.1 | | |\n")
        self.assertEqual(self.findings(lint.check_supported_versions), [])
        self.add("SUPPORT.md", "| 0.2 | not yet | x |\n")
        self.assertEqual(self.findings(lint.check_supported_versions), [
            "SUPPORT.md: says not yet about the release of 0.2, and CHANGELOG.md 2026-01-01",
            "SUPPORT.md: says None about the release of 0.3, and CHANGELOG.md not yet"])

    def test_finds_code_that_is_not_formatted(self):
        self.add("a.cc", "int  a;\nint b;\nint *  c;\n")
        found = self.findings(lint.check_format)
        self.assertEqual([finding.split(": ")[0] for finding in found], ["a.cc:1", "a.cc:3"])

    def test_names_the_cure_when_clang_format_is_missing(self):
        with mock.patch.object(lint, "CLANG_FORMAT", "no-such-program"):
            self.assertEqual(self.findings(lint.check_format),
                             ["no-such-program is missing: `make setup` installs it"])

    def test_refuses_another_clang_format(self):
        with mock.patch.object(lint, "CLANG_FORMAT_VERSION", 99):
            found = self.findings(lint.check_format)
        self.assertEqual(len(found), 1)
        self.assertIn("clang-format 99 is needed", found[0])

    def test_finds_detached_coroutines(self):
        self.add("a.cc", "// asio::detached\nco_spawn(io, Run(), asio::detached);\n")
        self.assertEqual(self.findings(lint.check_coroutines),
                         ["a.cc:2: asio::detached; spawn it in a TaskGroup"])

    def test_finds_temporaries_in_a_co_await_statement(self):
        self.add("a.cc", "auto a = co_await Get(key);\nauto b = co_await Get({key});\n"
                 'auto c = co_await\n    Get("key");\nif (co_await Ready()) { Run("it"); }\n')
        self.assertEqual([f.split(":")[1] for f in self.findings(lint.check_coroutines)],
                         ["2", "3"])

    def test_finds_a_dropped_result_of_a_coroutine(self):
        self.add("a.h", "Async<> Stop();\nAsync<std::vector<int>> List(int a);\n"
                 "asio::awaitable<void> Run();\n")
        self.add("b.h", "asio::awaitable<void> Stop();\n")
        self.add("a.cc", '#include "a.h"\nvoid F() {\n  co_await Stop();\n  co_await Run();\n'
                 "  Result<> stopped = co_await Stop();\n  if (x) co_await parts_->List(1);\n"
                 "  co_return co_await Stop();\n  // co_await Stop();\n}\n")
        self.add("b.cc", '#include "b.h"\nvoid F() { co_await Stop(); }\n')
        self.assertEqual(self.findings(lint.check_dropped_results), [
            "a.cc:3: drops the Result of Stop(); handle it or pass it to IgnoreError()",
            "a.cc:6: drops the Result of List(); handle it or pass it to IgnoreError()",
        ])

    def test_finds_a_reference_into_the_error_of_a_result(self):
        self.add("a.cc", "const std::string& a = read.error().message();\n"
                 "std::string_view b =\n    read.error().reason();\n"
                 "std::string c = read.error().message();\n"
                 "const Error& d = read.error();\n"
                 "for (const Cause& cause : read.error().causes()) Use(cause);\n")
        self.assertEqual([f.split(": ")[0] for f in self.findings(lint.check_error_references)],
                         ["a.cc:1", "a.cc:2", "a.cc:6"])

    def test_finds_json_text_in_other_files(self):
        text = 'a = json.dump(2);\nb = Json::parse("{}");\nc = DumpJson(json);\n'
        self.add("a.cc", text)
        self.add("kube/types/unstructured.cc", text)
        self.add("fuzz/a.cc", text)
        self.assertEqual([f.split(": ")[0] for f in self.findings(lint.check_json_text)],
                         ["a.cc:1", "a.cc:2"])

    def test_finds_an_invariant_that_is_not_defined(self):
        undefined = "I" + "77"  # In two parts, because the lint reads this file too.
        self.add("a.cc", f"// I1 and {undefined}\n")
        self.add("docs/a.md", f"Why: ({undefined}).\n")
        self.assertEqual(self.findings(lint.check_invariants), [
            f"a.cc:1: {undefined} is not defined in CONTRIBUTING.md",
            f"docs/a.md:1: {undefined} is not defined in CONTRIBUTING.md",
        ])


if __name__ == "__main__":
    unittest.main()
