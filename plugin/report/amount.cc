// SPDX-License-Identifier: Apache-2.0
#include "plugin/report/amount.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "kube/codec/codec.h"
#include "kube/types/quantity.h"
#include "plugin/report/resources.pb.h"

namespace plugin {
namespace {

using Resources = google::protobuf::Map<std::string, resources::Quantity>;

double ValueOf(const Resources& resources, const char* name) {
  auto found = resources.find(name);
  if (found == resources.end()) return 0;
  return std::max(kube::ParseQuantity(found->second.string()).value_or(0), 0.0);
}

Amount AmountOf(const Resources& resources) {
  return {ValueOf(resources, "cpu"), ValueOf(resources, "memory")};
}

Amount MaxOf(const Amount& a, const Amount& b) {
  return {std::max(a.cpu, b.cpu), std::max(a.memory, b.memory)};
}

std::string Text(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

}  // namespace

kube::Result<Amount> RequestsOf(std::string_view pod) {
  auto decoded = kube::DecodeBare<resources::Pod>(pod);
  if (!decoded) return decoded.error();
  const resources::PodSpec& spec = decoded->spec();
  Amount running, sidecars, starting;
  for (const resources::Container& container : spec.containers())
    running += AmountOf(container.resources().requests());
  for (const resources::Container& container : spec.init_containers()) {
    Amount own = AmountOf(container.resources().requests());
    if (container.restart_policy() == "Always") {
      sidecars += own;
      starting = MaxOf(starting, sidecars);
    } else {
      own += sidecars;
      starting = MaxOf(starting, own);
    }
  }
  running += sidecars;
  Amount all = MaxOf(running, starting);
  all += AmountOf(spec.overhead());
  return all;
}

kube::Result<Amount> AllocatableOf(std::string_view node) {
  auto decoded = kube::DecodeBare<resources::Node>(node);
  if (!decoded) return decoded.error();
  return AmountOf(decoded->status().allocatable());
}

std::string DescribeCpu(double cpu) { return Text(cpu < 10 ? "%.2f" : "%.1f", cpu); }

std::string DescribeMemory(double memory) {
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  return Text("%.1f", memory / kGiB);
}

}  // namespace plugin
