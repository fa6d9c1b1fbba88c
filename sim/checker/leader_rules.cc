// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/leader_rules.h"

#include <chrono>
#include <string_view>

#include "api/names.h"

namespace sim::checker {
namespace {

constexpr std::string_view kOperatorLease = "multiarch-tuning-operator";
// A request that a leader sent in time may be stored so long after another one leads: the API
// server stores it late (docs/protocol.md, K6 and X10).
constexpr Time kStoredLate = std::chrono::seconds(10);
constexpr size_t kMostWritten = 64;

}  // namespace

void LeaderRules::Add(const Commit& commit, const Writer& writer) {
  if (IsOf(commit, "coordination.k8s.io", "leases") && commit.key.ns == facts_.operator_namespace &&
      (commit.key.name == kOperatorLease || commit.key.name == api::kControllerName)) {
    const std::string holder =
        commit.after ? kube::StringAt(*commit.after, "spec.holderIdentity") : "";
    if (holder.empty()) {
      terms_.erase(commit.key.name);
    } else if (Term& term = terms_[commit.key.name]; term.holder != holder) {
      term = {holder, commit.at};
    }
  }
  if (IsOf(commit, "", "namespaces") && commit.key.name == facts_.operator_namespace) {
    own_namespace_deleted_ =
        !commit.after || !kube::StringAt(*commit.after, "metadata.deletionTimestamp").empty();
  }
  if (!IsOfLeader(commit, writer)) return;
  written_.emplace(commit.version,
                   Written{writer.program, commit.plural + " " + commit.key.ToString(), commit.at});
  if (written_.size() > kMostWritten) written_.erase(written_.begin());
}

// Every replica of the operator announces, has a certificate, and removes everything when its
// namespace is deleted. Events are sent after the end of a term, too.
bool LeaderRules::IsOfLeader(const Commit& commit, const Writer& writer) const {
  if (IsOf(commit, "", "events") || IsOf(commit, "coordination.k8s.io", "leases")) return false;
  if (writer.Is(Program::kClusterController)) return true;
  return writer.Is(Program::kOperator) && !own_namespace_deleted_ && !IsOf(commit, "", "secrets");
}

const LeaderRules::Term* LeaderRules::TermOf(Program program) const {
  auto found = terms_.find(program == Program::kOperator ? std::string(kOperatorLease)
                                                         : std::string(api::kControllerName));
  return found == terms_.end() ? nullptr : &found->second;
}

void LeaderRules::Wrote(uint64_t version, const std::string& process, Violations& violations) {
  auto found = written_.find(version);
  if (found == written_.end()) return;
  const Written written = std::move(found->second);
  written_.erase(found);
  const Term* term = TermOf(written.program);
  if (term == nullptr || term->holder == process || written.at - term->since <= kStoredLate) return;
  violations.push_back({"leaders", written.object,
                        process + " wrote it, and " + term->holder + " has the Lease", version,
                        written.at});
}

}  // namespace sim::checker
