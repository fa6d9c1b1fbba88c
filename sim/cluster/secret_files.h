// SPDX-License-Identifier: Apache-2.0
// SecretFiles: the certificates of Secrets as the kubelets of pods show them in files: a pod starts
// with what is stored, and sees changes late.
//
//   SecretFiles files(loop, random.Fork());
//   store.Observe([&](const kube::StoreCommit& commit) { files.OnCommit(commit); });
//   SecretFiles::Mount mount = files.NewMount({"shop", "pod-placement-shard-web-hook"});
//   std::string pem = files.Certificate(mount);
//
// Thread: the Loop's.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "kube/base/clock.h"
#include "kube/testing/store_commit.h"
#include "kube/types/resource.h"
#include "sim/base/loop.h"
#include "sim/base/random.h"

namespace sim {

class SecretFiles {
 public:
  // Kubelets look every minute, and the program reads its files every two seconds.
  static constexpr std::chrono::seconds kLatest{62};

  // The volume of one pod.
  struct Mount {
    kube::ObjectKey secret;
    kube::TimePoint from;
    // How late it shows a change.
    kube::Duration delay;
  };

  // `loop` outlives it.
  SecretFiles(const Loop& loop, Random random) : loop_(loop), random_(random) {}

  void OnCommit(const kube::StoreCommit& commit);

  // Whether the Secret is stored: without it, no pod starts.
  bool Exists(const kube::ObjectKey& secret) const;
  // For a pod that starts now.
  Mount NewMount(const kube::ObjectKey& secret);
  // tls.crt. A mount keeps its files when the Secret is deleted.
  std::string Certificate(const Mount& mount) const;

 private:
  struct Version {
    kube::TimePoint stored;
    std::string certificate_pem;
  };
  struct History {
    bool exists = false;
    std::deque<Version> versions;
  };

  const Loop& loop_;
  Random random_;
  std::map<kube::ObjectKey, History> secrets_;
};

}  // namespace sim
