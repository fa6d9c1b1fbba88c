// SPDX-License-Identifier: Apache-2.0
#include "e2e/soak/soak_log.h"

#include <cmath>
#include <cstdio>

namespace e2e {

using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

SoakLog::SoakLog(const std::string& path, kube::Clock& clock)
    : path_(path), clock_(clock), file_(path, std::ios::trunc), start_(clock.Now()) {}

void SoakLog::Write(std::string_view kind, Json line) {
  line["kind"] = kind;
  double now = Seconds(clock_.Now());
  if (!line.contains("t")) line["t"] = std::round(now * 100) / 100;
  file_ << kube::DumpJson(line) << std::endl;
}

void SoakLog::Fail(const std::string& what) {
  failures_.push_back(what);
  std::fprintf(stderr, "%7.1f FAILURE: %s\n", Seconds(clock_.Now()), what.c_str());
  Write("failure", {{"what", what}});
}

Result<> SoakLog::Check() const {
  return file_ ? Ok() : Result<>(Error::Unavailable("cannot write " + path_));
}

}  // namespace e2e
