// SPDX-License-Identifier: Apache-2.0
// FairShare: something scarce (bytes of memory, workers) that pods take for a while, so that no
// namespace takes it all.
//
//   if (!memory.Enter(pod)) co_return Later();       // in line; `wake` is called with `pod` when
//   it is its turn memory.Take(pod, bytes);                         // what it needs, once that is
//   known
//   ...
//   memory.Leave(pod);                               // with whatever it has, or out of the line
//
// A pod in line costs its key. Namespaces take turns, the pods of one go in order. A pod that was
// woken has its place until it leaves. Thread: one.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "kube/types/resource.h"

namespace kube {

struct FairShareOptions {
  // A pod enters while less than this is taken: by its namespace, by all.
  size_t per_namespace = 0;
  size_t total = 0;
  // Whether a namespace that has nothing enters even where all is taken.
  bool first_always_enters = false;
};

class FairShare {
 public:
  explicit FairShare(FairShareOptions options) : options_(options) {}

  void OnTurn(std::function<void(const ObjectKey&)> wake) { wake_ = std::move(wake); }

  // True if the pod may go on: it has 1 then, or what it had before. Else it is in line.
  bool Enter(const ObjectKey& pod);
  // What a pod that has entered has from now on.
  void Take(const ObjectKey& pod, size_t amount);
  void Leave(const ObjectKey& pod);

  size_t taken() const { return taken_; }
  size_t in_line() const { return in_line_.size(); }

 private:
  struct Namespace {
    size_t taken = 0;
    std::list<ObjectKey> line;
    bool in_turn = false;
  };

  bool HasRoom(const Namespace& ns) const;
  void Set(const ObjectKey& pod, size_t amount);
  void TakeTurn(const std::string& name, Namespace& ns);
  void ForgetIdle(const std::string& name);
  void WakeNext();

  FairShareOptions options_;
  std::function<void(const ObjectKey&)> wake_;
  std::unordered_map<ObjectKey, size_t> has_;
  std::unordered_map<ObjectKey, std::list<ObjectKey>::iterator> in_line_;
  std::unordered_map<std::string, Namespace> namespaces_;
  std::list<std::string> turns_;  // namespaces with a line
  size_t taken_ = 0;
};

}  // namespace kube
