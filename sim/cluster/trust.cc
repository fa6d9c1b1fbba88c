// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/trust.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "kube/crypto/certificates.h"
#include "sim/base/process_clock.h"

namespace sim {
namespace {

using namespace std::chrono_literals;

// Certificates are renewed for ever.
constexpr size_t kMaxAnswers = 1'000;
// A certificate of a program whose clock is ahead becomes valid.
constexpr auto kRefusedFor = 1s;

}  // namespace

bool Trust::Accepts(const std::string& certificate_pem, const std::string& authorities_pem,
                    const std::string& dns_name) {
  const kube::WallTime now = WallTimeAt(loop_.now());
  Question question(certificate_pem, authorities_pem, dns_name);
  auto found = answers_.find(question);
  if (found != answers_.end() && now < found->second.until) return found->second.accepted;
  ++checks_;
  if (answers_.size() >= kMaxAnswers) answers_.clear();
  Answer answer = Check(question, now);
  answers_.insert_or_assign(std::move(question), answer);
  return answer.accepted;
}

Trust::Answer Trust::Check(const Question& question, kube::WallTime now) const {
  const auto& [certificate, authorities, dns_name] = question;
  if (!kube::IsTrusted(certificate, authorities, dns_name, now)) return {false, now + kRefusedFor};
  kube::WallTime until = kube::WallTime::max();
  for (const std::string* pem : {&certificate, &authorities}) {
    for (const std::string& one : kube::CertificatesIn(*pem)) {
      kube::Result<kube::WallTime> end = kube::NotAfter(one);
      if (end && *end > now) until = std::min(until, *end);
    }
  }
  return {true, until};
}

}  // namespace sim
