// SPDX-License-Identifier: Apache-2.0
#include "sim/world/world.h"

#include <glog/logging.h>

#include <utility>

#include "kube/base/random.h"
#include "kube/types/core.pb.h"

namespace sim {
namespace {

Random* seeds = nullptr;

uint32_t NextSeed() { return static_cast<uint32_t>(seeds->Below(uint64_t{1} << 32)); }

}  // namespace

World::World(uint64_t seed)
    : random_(seed),
      loop_(random_.Fork()),
      lane_(loop_.NewLane()),
      clock_(loop_, *lane_),
      store_(clock_, {.pod_rules = true, .namespace_rules = true}),
      api_server_(loop_, store_),
      faults_(random_.Fork()),
      registries_(random_.Fork()),
      services_(loop_, store_, faults_, random_.Fork()),
      secret_files_(loop_, random_.Fork()),
      admission_(loop_, api_server_, store_, services_, random_.Fork()),
      admin_(store_, "admin") {
  CHECK(seeds == nullptr) << "two worlds at a time";
  seeds = new Random(random_.Fork());
  kube::SetSeedSource(NextSeed);
  store_.Observe([this](const kube::StoreCommit& commit) {
    secret_files_.OnCommit(commit);
    admission_.OnCommit(commit);
    api_server_.Wake();
  });
  store_.Admit([this](kube::AdmissionAttributes asked) { return Admit(std::move(asked)); });
}

World::~World() {
  kube::SetSeedSource(nullptr);
  delete std::exchange(seeds, nullptr);
}

kube::Async<kube::Admitted> World::Admit(kube::AdmissionAttributes asked) {
  kube::Result<void> allowed = guard_ ? guard_(asked) : kube::Ok();
  if (!allowed) co_return allowed.error();
  kube::Result<kube::Admitted> admitted = co_await admission_.Admit(std::move(asked));
  co_return admitted;
}

void World::CreateNamespaces(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    kube::core::Namespace ns;
    ns.mutable_metadata()->set_name(name);
    (*ns.mutable_metadata()->mutable_labels())["kubernetes.io/metadata.name"] = name;
    admin_.Create(ns);
  }
}

std::vector<Life*> World::Lives() const {
  std::vector<Life*> lives;
  for (const auto& process : processes_)
    lives.insert(lives.end(), process->lives().begin(), process->lives().end());
  return lives;
}

Process& World::AddProcess(ClientIdentity identity, Process::Main main) {
  std::string name = identity.process;
  auto new_client = [this, identity = std::move(identity)](Life& life) {
    return std::make_unique<ApiClient>(loop_, life, api_server_, faults_, identity);
  };
  processes_.push_back(
      std::make_unique<Process>(loop_, std::move(name), std::move(main), std::move(new_client)));
  return *processes_.back();
}

}  // namespace sim
