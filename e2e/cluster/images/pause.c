/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits until SIGTERM. The sandbox container of each pod on the node, and the program of the demo
 * images. As process 1 of a pod it also reaps orphaned processes.
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
