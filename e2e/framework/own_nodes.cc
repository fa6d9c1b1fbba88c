// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/own_nodes.h"

#include <gtest/gtest.h>

#include <utility>

#include "e2e/framework/cluster.h"
#include "e2e/framework/resources.h"
#include "kube/client/typed.h"

namespace e2e {

OwnNodes::~OwnNodes() {
  for (const std::string& name : names_) {
    Cluster& cluster = TheCluster();
    auto deleted = cluster.Run(kube::DeleteObject(cluster.client(), kNodes, {"", name}));
    EXPECT_TRUE(deleted || IsNotFound(deleted)) << name << ": " << deleted.error();
  }
}

Step OwnNodes::Add(Json node) {
  names_.push_back(kube::StringAt(node, "metadata.name"));
  return Create(kNodes, std::move(node));
}

}  // namespace e2e
