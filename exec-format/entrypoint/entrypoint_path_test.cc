// SPDX-License-Identifier: Apache-2.0
#include "exec-format/entrypoint/entrypoint_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/matchers.h"

namespace exec_format {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<std::string> Paths(const std::string& config, ContainerCommand container = {}) {
  auto image = ParseImageCommand(R"({"config":)" + config + "}");
  EXPECT_THAT(image, IsOk());
  auto paths = EntrypointPaths(*image, container);
  return paths ? *paths : std::vector<std::string>{"error: " + paths.error().message()};
}

TEST(EntrypointPathTest, Table) {
  struct Row {
    const char* config;
    ContainerCommand container;
    std::vector<std::string> paths;
  };
  const std::string no_command = "error: the image names no command";
  for (const Row& row : {
           Row{R"({"Entrypoint":["/app"]})", {}, {"/app"}},
           Row{R"({"Entrypoint":["/app"],"Cmd":["/other"]})", {}, {"/app"}},
           Row{R"({"Cmd":["/run","-x"]})", {}, {"/run"}},
           Row{R"({"Entrypoint":null,"Cmd":["/run"]})", {}, {"/run"}},
           Row{R"({"Entrypoint":["/app"]})", {.command = {"/bin/sh", "-c"}}, {"/bin/sh"}},
           Row{R"({"Entrypoint":["/app"]})", {.args = {"/x"}}, {"/app"}},
           Row{R"({"Cmd":["/run"]})", {.args = {"/x"}}, {"/x"}},
           Row{R"({"Entrypoint":["./app"]})", {}, {"/./app"}},
           Row{R"({"Entrypoint":["bin/app"],"WorkingDir":"/srv"})", {}, {"/srv/bin/app"}},
           Row{R"({"Entrypoint":["./app"],"WorkingDir":"srv/"})", {}, {"/srv/./app"}},
           Row{R"({"Entrypoint":["./app"],"WorkingDir":"/a"})",
               {.working_dir = "/b"},
               {"/b/./app"}},
           Row{R"({"Cmd":["app"],"Env":["A=B","PATH=/a:/b/"]})", {}, {"/a/app", "/b/app"}},
           Row{R"({"Cmd":["app"],"Env":["PATH=/a","PATH=/b"]})", {}, {"/b/app"}},
           Row{R"({"Cmd":["app"],"Env":["PATH=/a"]})", {.path = "/c"}, {"/c/app"}},
           Row{R"({"Cmd":["app"],"Env":["PATH=:bin:/a:"],"WorkingDir":"/w"})",
               {},
               {"/w/app", "/w/bin/app", "/a/app", "/w/app"}},
           Row{R"({"Cmd":["app"],"Env":["PATH="]})", {}, {"error: PATH is empty"}},
           Row{"{}", {}, {no_command}},
           Row{"null", {}, {no_command}},
           Row{R"({"Entrypoint":[],"Cmd":[]})", {}, {no_command}},
           Row{R"({"Entrypoint":[1],"Cmd":"x"})", {}, {no_command}},
           Row{R"({"Entrypoint":[""]})", {}, {no_command}},
           Row{R"({"Entrypoint":["a\u0000b"]})", {}, {"error: the command is not a path"}},
           Row{"{}", {.command = {"$(HOME)/run"}}, {"error: the command depends on variables"}},
       })
    EXPECT_EQ(Paths(row.config, row.container), row.paths) << row.config;
  EXPECT_THAT(Paths(R"({"Cmd":["app"]})"),
              ElementsAre("/usr/local/sbin/app", "/usr/local/bin/app", "/usr/sbin/app",
                          "/usr/bin/app", "/sbin/app", "/bin/app"));
}

TEST(EntrypointPathTest, IsBounded) {
  std::string path = "PATH=";
  for (int i = 0; i < 1000; ++i) path += "/p:";
  EXPECT_THAT(Paths(R"({"Cmd":["app"],"Env":[")" + path + R"("]})"), SizeIs(kMaxPathFolders));
  EXPECT_THAT(Paths(R"({"Cmd":[")" + std::string(5000, 'x') + R"("]})"),
              ElementsAre(HasSubstr("not a path")));
}

TEST(EntrypointPathTest, WhatIsNoConfig) {
  EXPECT_THAT(ParseImageCommand("[]"), FailsWith(Code::kInvalid));
  EXPECT_THAT(ParseImageCommand(""), FailsWith(Code::kInvalid));
}

TEST(EntrypointPathTest, Interpreters) {
  EXPECT_EQ(InterpreterPath({.working_dir = "/w"}, {}, "/bin/sh"), "/bin/sh");
  EXPECT_EQ(InterpreterPath({.working_dir = "/w"}, {}, "sh"), "/w/sh");
}

}  // namespace
}  // namespace exec_format
