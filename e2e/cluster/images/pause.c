/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits until it is told to end. What the node needs to hold a pod together, and all that a demo
 * container does. As process 1 of a pod it also collects the processes that others leave behind.
 */
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static void finish(int signal_number) {
  (void)signal_number;
  _exit(0);
}

static void reap(int signal_number) {
  (void)signal_number;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

int main(void) {
  signal(SIGINT, finish);
  signal(SIGTERM, finish);
  signal(SIGCHLD, reap);
  for (;;) {
    pause();
  }
}
