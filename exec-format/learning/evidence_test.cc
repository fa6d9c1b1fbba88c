// SPDX-License-Identifier: Apache-2.0
#include "exec-format/learning/evidence.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "exec-format/entrypoint/image_file.h"
#include "exec-format/testing/make_elf.h"
#include "kube/types/unstructured.h"

namespace exec_format {
namespace {

using kube::Json;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kIndex[] = "sha256:1111";
constexpr char kManifest[] = "sha256:2222";

Json Pod(const Json& container = Json::object()) {
  Json merged = {{"name", "app"}, {"image", "r.io/app:1"}};
  merged.update(container);
  return {{"metadata", {{"namespace", "team-a"}, {"name", "web"}, {"uid", "u1"}}},
          {"spec",
           {{"serviceAccountName", "runner"},
            {"imagePullSecrets", {{{"name", "key"}}, {{"name", "NOT A NAME"}}}},
            {"containers", {merged}},
            {"initContainers", {{{"name", "prepare"}, {"image", "r.io/init:1"}}}}}},
          {"status",
           {{"containerStatuses",
             {{{"name", "app"}, {"imageID", "r.io/app@" + std::string(kIndex)}}}}}}};
}
FailedContainer Failed(const Json& container, const std::string& path = "/app") {
  auto failed = FailedContainerOf(Pod(container), "app", path);
  EXPECT_TRUE(failed);
  return failed.value_or(FailedContainer());
}

ImageFile File(const std::string& content, std::vector<std::string> candidates = {"/app"}) {
  ImageFile file;
  file.candidates = std::move(candidates);
  file.manifest = kManifest;
  file.files.push_back({"/app", "sha256:3333", ReadBinaryFormat(content, content.size())});
  return file;
}
ImageFile Outcome(FileOutcome outcome) {
  ImageFile file;
  file.outcome = outcome;
  file.candidates = {"/bin/app", "/app"};
  file.manifest = kManifest;
  return file;
}
const std::string kArm64 = MakeElf({.machine = EM_AARCH64});
const std::string kAmd64 = MakeElf({.machine = EM_X86_64});
const Json kNone = Json::object();
const Json kCommand = {{"command", {"/app"}}};

Verdict JudgeOnAmd64(const FailedContainer& container, const ImageFile& file) {
  return Judge(container, file, kIndex, "amd64");
}

TEST(Evidence, IsOfTheContainerThatFailed) {
  FailedContainer failed = Failed(kNone);
  EXPECT_EQ(failed.pod.ToString(), "team-a/web");
  EXPECT_EQ(failed.uid, "u1");
  EXPECT_EQ(failed.account, "runner");
  EXPECT_THAT(failed.pull_secrets, ElementsAre("key"));
  EXPECT_EQ(failed.image, "r.io/app:1");
  EXPECT_EQ(failed.image_id, "r.io/app@sha256:1111");
  EXPECT_EQ(FailedContainerOf(Pod(), "prepare", "/x")->image, "r.io/init:1");
  EXPECT_FALSE(FailedContainerOf(Pod(), "other", "/x"));
  EXPECT_FALSE(FailedContainerOf(Pod(), "", "/x"));
  EXPECT_FALSE(FailedContainerOf(Json::array(), "app", "/x"));
  EXPECT_FALSE(
      FailedContainerOf(Pod({{"command", {std::string(kMaxCommandBytes, 'x')}}}), "app", "/x"));
}

// Arguments, PATH and a working folder of the pod do not change what the image itself says.
TEST(Evidence, AnImageIsAskedForItsOwnProgram) {
  FailedContainer failed = Failed({{"args", {"/data/evil"}},
                                   {"workingDir", "/data"},
                                   {"env", {{{"name", "PATH"}, {"value", "/data"}}}}});
  EXPECT_THAT(failed.command.args, IsEmpty());
  EXPECT_FALSE(failed.command.path);
  EXPECT_EQ(failed.command.working_dir, "");
  failed = Failed({{"command", {"run"}}, {"env", {{{"name", "PATH"}, {"value", "/opt"}}}}});
  EXPECT_THAT(failed.command.command, ElementsAre("run"));
  EXPECT_EQ(failed.command.path, "/opt");
}

TEST(Evidence, TheImagesOwnProgramCountsForAll) {
  EXPECT_EQ(JudgeOnAmd64(Failed(kNone), File(kArm64)), Verdict::kWrong);
  // Whatever the node says has failed.
  EXPECT_EQ(JudgeOnAmd64(Failed(kNone, "/tmp/other"), File(kArm64)), Verdict::kWrong);
}

// A file that was written at run time over the program, or a node that lies.
TEST(Evidence, AProgramForTheNodeProvesNothing) {
  EXPECT_EQ(JudgeOnAmd64(Failed(kNone), File(kAmd64)), Verdict::kNothing);
  EXPECT_EQ(JudgeOnAmd64(Failed(kCommand), File(kAmd64)), Verdict::kNothing);
}

TEST(Evidence, WhatIsNoProgramFailsEverywhere) {
  for (const char* content : {"", "echo hello\n", "MZ and more"}) {
    EXPECT_EQ(JudgeOnAmd64(Failed(kNone), File(content)), Verdict::kNothing) << content;
    EXPECT_EQ(JudgeOnAmd64(Failed(kCommand), File(content)), Verdict::kNothing) << content;
  }
  // A kernel of arm64 may run it.
  EXPECT_EQ(Judge(Failed(kNone), File(MakeElf({.machine = EM_ARM, .bits = 32})), kIndex, "arm64"),
            Verdict::kNothing);
}

// An image may have files of other machines for good reasons: an SDK, firmware. Executing one of
// them must not keep the pods of others from the architecture.
TEST(Evidence, ACommandCountsInItsNamespace) {
  EXPECT_EQ(JudgeOnAmd64(Failed(kCommand), File(kArm64)), Verdict::kWrongCommand);
  EXPECT_EQ(JudgeOnAmd64(Failed(kCommand, "/usr/lib/../../app"), File(kArm64)),
            Verdict::kWrongCommand);
  EXPECT_EQ(JudgeOnAmd64(Failed(kCommand, "/tmp/other"), File(kArm64)), Verdict::kNothing);
}

TEST(Evidence, FilesOnVolumesNeverCount) {
  for (const char* mount : {"/app", "/", "//app/", "/x/../app"}) {
    Json container = kCommand;
    container["volumeMounts"] = {{{"name", "v"}, {"mountPath", mount}}};
    EXPECT_EQ(JudgeOnAmd64(Failed(container), File(kArm64)), Verdict::kNothing) << mount;
    EXPECT_EQ(JudgeOnAmd64(Failed(container), Outcome(FileOutcome::kTooManyBytes)),
              Verdict::kNothing)
        << mount;
    container.erase("command");
    EXPECT_EQ(JudgeOnAmd64(Failed(container), Outcome(FileOutcome::kTooManyBytes)),
              Verdict::kNothing)
        << mount;
    EXPECT_EQ(JudgeOnAmd64(Failed(container), File(kArm64)), Verdict::kWrong)
        << "the image itself has it too";
  }
  Json beside = kCommand;
  beside["volumeMounts"] = {{{"name", "v"}, {"mountPath", "/ap"}}};
  EXPECT_EQ(JudgeOnAmd64(Failed(beside), File(kArm64)), Verdict::kWrongCommand);
}

TEST(Evidence, WhatCannotBeReadNeedsASecondPod) {
  for (FileOutcome outcome : {FileOutcome::kTooManyBytes, FileOutcome::kUnsupportedLayer}) {
    EXPECT_EQ(JudgeOnAmd64(Failed(kNone), Outcome(outcome)), Verdict::kNotRead);
    EXPECT_EQ(JudgeOnAmd64(Failed(kCommand), Outcome(outcome)), Verdict::kNotRead);
    EXPECT_EQ(JudgeOnAmd64(Failed(kNone, "/tmp/other"), Outcome(outcome)), Verdict::kNothing)
        << "not the program";
    EXPECT_EQ(JudgeOnAmd64(Failed(kNone, "app"), Outcome(outcome)), Verdict::kNothing)
        << "relative to a folder that is not known";
    EXPECT_EQ(Judge(Failed(kNone), Outcome(outcome), "sha256:9999", "amd64"), Verdict::kNothing)
        << "the tag has moved";
    FailedContainer by_manifest = Failed(kNone);
    by_manifest.image_id = "r.io/app@" + std::string(kManifest);
    EXPECT_EQ(JudgeOnAmd64(by_manifest, Outcome(outcome)), Verdict::kNotRead);
    by_manifest.image_id = "";
    EXPECT_EQ(JudgeOnAmd64(by_manifest, Outcome(outcome)), Verdict::kNothing);
  }
  for (FileOutcome outcome : {FileOutcome::kNoCommand, FileOutcome::kNotFound, FileOutcome::kHidden,
                              FileOutcome::kNotExecutable}) {
    EXPECT_EQ(JudgeOnAmd64(Failed(kNone), Outcome(outcome)), Verdict::kNothing);
  }
}

TEST(Evidence, BeforeAFailureOnlyTheImageCounts) {
  EXPECT_EQ(JudgeProgram(File(kArm64), "amd64"), Verdict::kWrong);
  EXPECT_EQ(JudgeProgram(File(kArm64), "arm64"), Verdict::kNothing);
  EXPECT_EQ(JudgeProgram(Outcome(FileOutcome::kTooManyBytes), "amd64"), Verdict::kNothing);
  const ImageFile needs_v3 = File(MakeElf({.machine = EM_X86_64, .amd64_level = 3}));
  EXPECT_EQ(JudgeProgram(needs_v3, "amd64"), Verdict::kNeedsLevel);
  EXPECT_EQ(JudgeProgram(needs_v3, "arm64"), Verdict::kWrong);
  EXPECT_EQ(JudgeOnAmd64(Failed(kNone), needs_v3), Verdict::kNeedsLevel);
  EXPECT_EQ(JudgeOnAmd64(Failed(kCommand), needs_v3), Verdict::kNothing)
      << "the image's own program may not need it";
  EXPECT_EQ(JudgeProgram(File(MakeElf({.machine = EM_X86_64, .amd64_level = 1})), "amd64"),
            Verdict::kNothing);
}

}  // namespace
}  // namespace exec_format
