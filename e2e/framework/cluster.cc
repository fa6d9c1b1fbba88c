// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/cluster.h"

#include <glog/logging.h>

namespace e2e {
namespace {

std::unique_ptr<Cluster>& Slot() {
  static std::unique_ptr<Cluster> cluster;
  return cluster;
}

}  // namespace

void Cluster::Pause(std::chrono::milliseconds time) {
  if (io_->stopped()) io_->restart();
  io_->run_for(time);
}

Cluster& TheCluster() {
  CHECK(Slot() != nullptr) << "SetTheCluster() was not called";
  return *Slot();
}

void SetTheCluster(std::unique_ptr<Cluster> cluster) { Slot() = std::move(cluster); }

}  // namespace e2e
