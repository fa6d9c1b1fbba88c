// SPDX-License-Identifier: Apache-2.0
// Trust: whether an API server accepts the certificate of a webhook: what kube::IsTrusted() says
// now. Answers are kept, because a simulation asks for each pod: an accepted certificate until one
// of the certificates ends, another one for a second.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "kube/base/clock.h"
#include "sim/base/loop.h"

namespace sim {

class Trust {
 public:
  // `loop` outlives it.
  explicit Trust(const Loop& loop) : loop_(loop) {}

  bool Accepts(const std::string& certificate_pem, const std::string& authorities_pem,
               const std::string& dns_name);

  // How many answers were not known.
  int checks() const { return checks_; }

 private:
  // Certificate, authorities, name.
  using Question = std::tuple<std::string, std::string, std::string>;
  struct Answer {
    bool accepted;
    kube::WallTime until;
  };

  Answer Check(const Question& question, kube::WallTime now) const;

  const Loop& loop_;
  std::map<Question, Answer> answers_;
  int checks_ = 0;
};

}  // namespace sim
