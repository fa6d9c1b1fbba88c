// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/cost.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <new>

namespace {

thread_local kube::Cost counted;

ssize_t CountReceive(ssize_t result) {
  ++counted.receives;
  if (result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) ++counted.empty_receives;
  return result;
}

ssize_t CountSend(ssize_t result) {
  ++counted.sends;
  return result;
}

#ifndef BUILT_WITH_SANITIZER
void* Allocate(std::size_t size) {
  ++counted.allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
#endif

}  // namespace

// Shared libraries use them too.
#pragma GCC visibility push(default)

extern "C" {

ssize_t recvfrom(int fd, void* buffer, size_t size, int flags, sockaddr* from, socklen_t* length) {
  return CountReceive(::syscall(SYS_recvfrom, fd, buffer, size, flags, from, length));
}
ssize_t recv(int fd, void* buffer, size_t size, int flags) {
  return recvfrom(fd, buffer, size, flags, nullptr, nullptr);
}
ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return CountReceive(::syscall(SYS_recvmsg, fd, message, flags));
}
ssize_t sendto(int fd, const void* buffer, size_t size, int flags, const sockaddr* to,
               socklen_t length) {
  return CountSend(::syscall(SYS_sendto, fd, buffer, size, flags, to, length));
}
ssize_t send(int fd, const void* buffer, size_t size, int flags) {
  return sendto(fd, buffer, size, flags, nullptr, 0);
}
ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return CountSend(::syscall(SYS_sendmsg, fd, message, flags));
}
int epoll_wait(int fd, epoll_event* events, int max, int timeout) {
  ++counted.waits;
  return static_cast<int>(::syscall(SYS_epoll_pwait, fd, events, max, timeout, nullptr, 0));
}
int epoll_ctl(int fd, int operation, int target, epoll_event* event) noexcept {
  ++counted.registrations;
  return static_cast<int>(::syscall(SYS_epoll_ctl, fd, operation, target, event));
}
int timerfd_settime(int fd, int flags, const itimerspec* time, itimerspec* old) noexcept {
  ++counted.timers;
  return static_cast<int>(::syscall(SYS_timerfd_settime, fd, flags, time, old));
}

}  // extern "C"

// Sanitizers need their own.
#ifndef BUILT_WITH_SANITIZER
void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
#endif

#pragma GCC visibility pop

namespace kube {

Cost CostOfThread() { return counted; }

Cost operator-(const Cost& a, const Cost& b) {
  return {.receives = a.receives - b.receives,
          .empty_receives = a.empty_receives - b.empty_receives,
          .sends = a.sends - b.sends,
          .waits = a.waits - b.waits,
          .registrations = a.registrations - b.registrations,
          .timers = a.timers - b.timers,
          .allocations = a.allocations - b.allocations};
}

bool CostPer::IsWithin(const Cost& bound) const {
  auto fits = [&](int64_t Cost::*count) {
    return cost.*count <= bound.*count * operations + operations / 20;
  };
  bool within = fits(&Cost::receives) && fits(&Cost::empty_receives) && fits(&Cost::sends) &&
                fits(&Cost::waits) && fits(&Cost::registrations) && fits(&Cost::timers);
#if defined(NDEBUG) && !defined(BUILT_WITH_SANITIZER)
  within = within && fits(&Cost::allocations);
#endif
  if (!within) std::cerr << "cost: " << *this << "\nbound: " << CostPer{bound} << "\n";
  return within;
}

std::ostream& operator<<(std::ostream& out, const CostPer& per) {
  auto each = [&](int64_t count) { return static_cast<double>(count) / per.operations; };
  return out << "receives=" << each(per.cost.receives) << " (" << each(per.cost.empty_receives)
             << " empty) sends=" << each(per.cost.sends) << " waits=" << each(per.cost.waits)
             << " registrations=" << each(per.cost.registrations)
             << " timers=" << each(per.cost.timers)
             << " allocations=" << each(per.cost.allocations);
}

}  // namespace kube
