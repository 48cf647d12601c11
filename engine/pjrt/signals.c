//go:build cgo && linux

// Libraries that come with a GPU put signal handlers back without the flag that Go needs: under NVIDIA's MPS, Ctrl-C then
// ended the process with "non-Go code set up signal handler without SA_ONSTACK flag" instead of stopping the run.
#include <signal.h>
#include <stddef.h>

#include "hook.h"

void bregman_keep_signal_stacks(void) {
  for (int s = 1; s < SIGRTMAX; s++) {
    struct sigaction now;
    if (sigaction(s, NULL, &now) || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) continue;
    if (now.sa_flags & SA_ONSTACK) continue;
    now.sa_flags |= SA_ONSTACK;
    sigaction(s, &now, NULL);
  }
}
