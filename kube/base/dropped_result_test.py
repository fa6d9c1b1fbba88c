#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A dropped Result, or a coroutine that is not awaited, does not compile.

GCC 12 does not see that `co_await Foo();` drops a value: bazel/lint.py finds that one.
"""

import subprocess
import unittest

HEAD = """
#include "kube/base/async.h"
using namespace kube;
Result<> Write();
Result<int> Count();
Async<> Send();
"""


def compile_errors(body):
    done = subprocess.run(
        ["g++", "-x", "c++", "-std=c++20", "-Wall", "-Werror", "-fsyntax-only", "-I.",
         "-DBOOST_ASIO_SEPARATE_COMPILATION", "-"],
        input=HEAD + body, text=True, capture_output=True, check=False)
    return done.stderr if done.returncode != 0 else ""


class DroppedResultTest(unittest.TestCase):
    def test_a_result_that_is_used_compiles(self):
        self.assertEqual(compile_errors("""
            Async<> Foo() {
              if (!Write()) co_return Error::Unavailable("disk");
              IgnoreError(Count(), "a test");
              Result<> sent = co_await Send();
              co_return sent;
            }"""), "")

    def test_a_dropped_result_is_an_error(self):
        for body in ("void Foo() { Write(); }", "void Foo() { Count(); }",
                     "void Foo() { Error::NotFound(\"a\").Prefix(\"b\"); }"):
            self.assertIn("[-Werror=unused-result]", compile_errors(body), body)

    def test_a_coroutine_without_co_await_is_an_error(self):
        self.assertIn("[-Werror=unused-result]", compile_errors("void Foo() { Send(); }"))


if __name__ == "__main__":
    unittest.main()
