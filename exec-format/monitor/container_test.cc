// SPDX-License-Identifier: Apache-2.0
#include "exec-format/monitor/container.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace exec_format {
namespace {

const std::string kId(64, 'a');
const std::string kOther(64, 'b');
constexpr char kUid[] = "15778196-6e1f-4b5d-8012-12c7bf5c04b3";
constexpr char kUidOfSystemd[] = "15778196_6e1f_4b5d_8012_12c7bf5c04b3";

std::string Slice(const std::string& before) { return before + "pod" + kUidOfSystemd + ".slice"; }

// "ID of POD", or "none". `path`: from the innermost cgroup to the outermost one.
std::string Found(std::vector<std::string> path, bool whole = true) {
  auto container = ContainerOf({.path = "/a", .cgroups = std::move(path), .whole = whole});
  return container ? container->id + " of " + container->pod_uid : "none";
}

TEST(ContainerOfTest, NamesOfEachRuntime) {
  const std::string pod = std::string(" of ") + kUid;
  const std::string slice = Slice("kubepods-besteffort-");
  EXPECT_EQ(Found({"cri-containerd-" + kId + ".scope", slice, "kubepods-besteffort.slice",
                   "kubepods.slice"}),
            "containerd://" + kId + pod);
  EXPECT_EQ(Found({"crio-" + kId + ".scope", slice}), "cri-o://" + kId + pod);
  EXPECT_EQ(Found({"docker-" + kId + ".scope", slice}), "docker://" + kId + pod);
  // Without systemd, and a pod of the class Guaranteed.
  EXPECT_EQ(Found({kId, std::string("pod") + kUid, "burstable", "kubepods"}), "cri://" + kId + pod);
  EXPECT_EQ(Found({"cri-containerd-" + kId + ".scope", Slice("kubepods-")}),
            "containerd://" + kId + pod);
}

TEST(ContainerOfTest, ANodeThatIsAContainerItself) {
  EXPECT_EQ(Found({"cri-containerd-" + kId + ".scope", Slice("kubelet-kubepods-besteffort-"),
                   "kubelet-kubepods-besteffort.slice", "kubelet-kubepods.slice", "kubelet.slice",
                   kOther, "docker"}),
            "containerd://" + kId + " of " + kUid);
}

TEST(ContainerOfTest, CgroupsInsideOfTheContainer) {
  EXPECT_EQ(Found({"init.scope", "system.slice", "crio-" + kId + ".scope", Slice("kubepods-")}),
            "cri-o://" + kId + " of " + kUid);
}

// A container that may make cgroups cannot pass for another one.
TEST(ContainerOfTest, TheOutermostCounts) {
  const std::string forged = "podaaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa";
  std::vector<std::string> path = {kOther, forged, "cri-containerd-" + kId + ".scope",
                                   Slice("kubepods-")};
  EXPECT_EQ(Found(path), "containerd://" + kId + " of " + kUid);
  EXPECT_EQ(Found(path, /*whole=*/false), "none");
}

TEST(ContainerOfTest, OtherProcessesAreInNone) {
  const std::string slice = Slice("kubepods-");
  EXPECT_EQ(Found({}), "none");
  EXPECT_EQ(Found({"containerd.service", "system.slice"}), "none");
  EXPECT_EQ(Found({kId, "docker"}), "none");
  EXPECT_EQ(Found({"cri-containerd-" + kId + ".scope"}), "none");
  // CRI-O's monitor of a container is no part of it.
  EXPECT_EQ(Found({"crio-conmon-" + kId + ".scope", slice}), "none");
  // The kubelet's pods from files have no UID of the API.
  EXPECT_EQ(Found({kId, "pod" + std::string(32, 'c')}), "none");
}

TEST(ContainerOfTest, NamesThatOnlyLookLikeThem) {
  const std::string slice = Slice("kubepods-");
  std::string upper = kId;
  upper[5] = 'A';
  EXPECT_EQ(Found({upper, slice}), "none");
  EXPECT_EQ(Found({kId + "0", slice}), "none");
  EXPECT_EQ(Found({kId.substr(1), slice}), "none");
  EXPECT_EQ(Found({"evil-" + kId + ".scope", slice}), "none");
  EXPECT_EQ(Found({kId, Slice("kubepods")}), "none");
  EXPECT_EQ(Found({kId, std::string("pod") + kUid + "0"}), "none");
  EXPECT_EQ(Found({kId, "pod15778196-6e1f-4b5d-8012012c7bf5c04b3"}), "none");
  EXPECT_EQ(Found({"", ""}), "none");
}

}  // namespace
}  // namespace exec_format
