// SPDX-License-Identifier: Apache-2.0
#include "deploy/manifests.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace deploy {
namespace {

using kube::Code;

std::string WriteTemp(const std::string& name, const std::string& text) {
  std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
  std::ofstream(path) << text;
  return path;
}

class ManifestsTest : public testing::Test {
 protected:
  // The error of loading `component`, whose rendered form is the value of "shipped".
  std::string ErrorOf(const std::string& component, Code code, const std::string& shipped = "{}") {
    auto objects = Load(component, shipped);
    EXPECT_TRUE(FailedWith(objects, code)) << shipped;
    return objects ? "" : objects.error().message();
  }

  kube::Result<std::vector<kube::Unstructured>> Load(const std::string& component,
                                                     const std::string& shipped = "{}") {
    std::string file = WriteTemp("manifests.json", R"({"base": [
        {"kind": "Namespace", "metadata": {"name": "here"}},
        {"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "here"},
         "data": {"list": ["x"], "text": "not here"}}], "components": {"shipped": )" +
                                                       shipped + "}}");
    return LoadManifests({.file = file, .ns = "here"}, {.ns = "there", .components = {component}});
  }
};

TEST_F(ManifestsTest, AComponentAddsAndPatches) {
  auto objects = Load("shipped", R"({"objects": [{"kind": "Secret", "metadata": {"name": "s"}}],
      "patches": [{"target": {"kind": "ConfigMap", "name": "a"},
                   "operations": [{"op": "add", "path": "/data/list/-", "value": "here"}]}]})");
  ASSERT_TRUE(objects) << objects.error();
  ASSERT_EQ(objects->size(), 3u);
  EXPECT_EQ(objects->front().metadata().name(), "there");
  EXPECT_EQ(kube::DumpJson((*objects)[1].body()["data"]),
            R"({"list":["x","there"],"text":"not here"})");
  EXPECT_EQ(objects->back().metadata().name(), "s");
}

TEST_F(ManifestsTest, AFolderIsAComponentToo) {
  std::string folder = std::string(std::getenv("TEST_TMPDIR")) + "/it's a component";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/kustomization.yaml") << R"(
patches:
- target: {kind: ConfigMap, name: a}
  patch: "[{op: remove, path: /data/text}]"
)";
  auto objects = Load(folder);
  ASSERT_TRUE(objects) << objects.error();
  EXPECT_EQ(kube::DumpJson(objects->back().body()["data"]), R"({"list":["x"]})");
  std::ofstream(folder + "/kustomization.yaml") << "namePrefix: x-";
  EXPECT_NE(ErrorOf(folder, Code::kInvalid).find(folder), std::string::npos);
}

TEST_F(ManifestsTest, RefusesWhatCannotBeApplied) {
  auto patch = [](const std::string& name, const std::string& path) {
    return R"({"objects": [], "patches": [{"target": {"kind": "ConfigMap", "name": ")" + name +
           R"("}, "operations": [{"op": "replace", "path": ")" + path + R"(", "value": 1}]}]})";
  };
  EXPECT_NE(ErrorOf("shipped", Code::kInvalid, patch("c", "/data")).find("\"c\""),
            std::string::npos);
  ErrorOf("shipped", Code::kInvalid, patch("a", "/data/none"));
  EXPECT_NE(ErrorOf("no-such-thing", Code::kNotFound).find("no-such-thing"), std::string::npos);
  EXPECT_TRUE(FailedWith(LoadManifests({.file = "none.json", .ns = ""}, {}), Code::kNotFound));
}

TEST(ImageReferenceTest, RefusesAFileWithoutAnImage) {
  EXPECT_TRUE(FailedWith(ReadImageReference(WriteTemp("bad.ref", "NAME=x\n")), Code::kInvalid));
  auto reference = ReadImageReference(
      WriteTemp("good.ref", "NAME=p/x\nTAG=0123\nDIGEST=sha256:0123\nARCHITECTURES=amd64,arm64\n"));
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->digest, "sha256:0123");
  EXPECT_EQ(reference->architectures, "amd64,arm64");
}

}  // namespace
}  // namespace deploy
