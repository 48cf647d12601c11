//go:build cgo && linux

// Go's handlers of signals must run on stacks of their own: a goroutine's is too small. Libraries that come with a GPU
// put handlers back without the flag that says so, as old = signal(SIGINT, mine); …; signal(SIGINT, old) does, and the
// next Ctrl-C ends the process with "non-Go code set up signal handler without SA_ONSTACK flag", and all its runs.
//
// To repair flags afterwards leaves a window, at every kernel that is compiled anew. So signal and sigaction are
// replaced: a library that is loaded finds those of the program first, and ours never leave a handler without its
// stack. What changes handlers otherwise, by a system call or another libc, is repaired: before and after each
// compilation, and every millisecond while it lasts. Neither blocks or ignores signals meanwhile: they would have to be
// blocked on threads that are Go's, or would be lost. A handler of ours in place of Go's would help nobody either:
// without a stack of its own, the kernel has overwritten what lies below a goroutine's stack before the handler begins.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "hook.h"

static struct sigaction go;  // what Go sets for each signal that it handles: all are the same
static atomic_int go_known;

static int handled(const struct sigaction* a) { return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN; }

static int by_go(const struct sigaction* a) { return atomic_load(&go_known) && a->sa_handler == go.sa_handler; }

// fit makes an action one that a Go program can have, and reports whether it was none. Go's handler gets all that Go
// gave it: signal also drops the flag by which it learns who sent the signal, and the mask that keeps others away.
static int fit(struct sigaction* a) {
  if (!handled(a)) return 0;
  int needed = SA_ONSTACK | (by_go(a) ? SA_SIGINFO : 0);
  if ((a->sa_flags & needed) == needed) return 0;
  if (by_go(a)) *a = go;
  a->sa_flags |= SA_ONSTACK;
  return 1;
}

// libc's own function. Go's runtime calls it before there are other threads.
static int set_action(int s, const struct sigaction* new, struct sigaction* old) {
  static int (*set)(int, const struct sigaction*, struct sigaction*);
  if (!set) *(void**)&set = dlsym(RTLD_NEXT, "sigaction");
  if (set) return set(s, new, old);
  errno = ENOSYS;
  return -1;
}

// Weak, so that a static libc, whose functions have the same names, can be linked as well.
__attribute__((weak, visibility("default"))) int sigaction(int s, const struct sigaction* new, struct sigaction* old) {
  if (!new) return set_action(s, NULL, old);
  struct sigaction fitting = *new;
  fit(&fitting);
  return set_action(s, &fitting, old);
}

__attribute__((weak, visibility("default"))) sighandler_t signal(int s, sighandler_t handler) {
  struct sigaction old, new = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigemptyset(&new.sa_mask);
  if (handler == SIG_ERR || sigaddset(&new.sa_mask, s)) {
    errno = EINVAL;
    return SIG_ERR;
  }
  return sigaction(s, &new, &old) ? SIG_ERR : old.sa_handler;
}

// repair makes a signal's action fit. If a library changed it between reading and writing, its change is kept.
static void repair(int s) {
  struct sigaction now, was;
  if (set_action(s, NULL, &now) || !fit(&now) || set_action(s, &now, &was) || was.sa_handler == now.sa_handler) return;
  fit(&was);
  set_action(s, &was, NULL);
}

void bregman_signals_repair(void) {
  for (int s = 1; s <= SIGRTMAX; s++) repair(s);
}

// Those by which people stop a program. They must reach Go; what else a library handles may be its own affair.
static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};
enum { stops = sizeof stopping / sizeof *stopping };
static int were_go[stops];  // before the first plugin was loaded

void bregman_signals_remember(void) {
  if (atomic_load(&go_known)) return;
  struct sigaction a;
  if (set_action(SIGURG, NULL, &a) || !handled(&a) || !(a.sa_flags & SA_ONSTACK) || !(a.sa_flags & SA_SIGINFO)) return;
  go = a;  // Go's own signal, by which it interrupts goroutines
  atomic_store(&go_known, 1);
  for (int i = 0; i < stops; i++) were_go[i] = !set_action(stopping[i], NULL, &a) && by_go(&a);
}

static void* watch(void* ended) {
  while (!atomic_load((atomic_int*)ended)) {
    usleep(1000);
    bregman_signals_repair();
  }
  return NULL;
}

void* bregman_signals_guard(entry f, void* args) {
  struct sigaction a;
  int caught[stops];  // not those that the program ignores meanwhile, as under nohup
  for (int i = 0; i < stops; i++) caught[i] = were_go[i] && !set_action(stopping[i], NULL, &a) && handled(&a);
  bregman_signals_repair();

  atomic_int ended = 0;
  pthread_t watcher;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the watcher's: no signal is for it
  int watched = !pthread_create(&watcher, NULL, watch, &ended);
  pthread_sigmask(SIG_SETMASK, &before, NULL);

  void* error = f(args);

  atomic_store(&ended, 1);
  if (watched) pthread_join(watcher, NULL);
  for (int i = 0; i < stops; i++) {
    if (caught[i] && !set_action(stopping[i], NULL, &a) && !by_go(&a)) set_action(stopping[i], &go, NULL);
  }
  bregman_signals_repair();
  return error;
}
