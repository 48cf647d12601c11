#ifndef BREGMAN_PJRT_HOOK_H
#define BREGMAN_PJRT_HOOK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "abi.h"

enum {
  most_plugins = 8,
  most_in_flight = 32,  // XLA itself lets no more run
};

typedef struct program program;
typedef struct range_error range_error;

// plugin is a plugin whose table was copied.
typedef struct {
  const table* real;
  table* copy;
  atomic_int in_flight;  // how many executions of a program may be unfinished when Execute returns

  pthread_mutex_t compile_mu;  // held while a program is compiled, so that who asks for the same one finds it
  pthread_mutex_t programs_mu;
  program* programs;

  pthread_mutex_t errors_mu;
  range_error* errors;
} plugin;

// table.c: bregman_pjrt_open copies the table of the plugin at path and puts entries of ours into the copy. It returns
// NULL for a plugin that the entries do not fit, and writes why. At first each execution is awaited.
plugin* bregman_pjrt_open(const char* path, char* why, size_t why_size);
void bregman_pjrt_set_in_flight(plugin* p, int n);

// queue.c: the entries that let executions run without waiting, and compile equal programs once.
void* bregman_queue_compile(plugin* p, compile_args* args);
void* bregman_queue_execute(plugin* p, execute_args* args);
void* bregman_queue_executable_destroy(plugin* p, object_args* args);
void* bregman_queue_client_destroy(plugin* p, object_args* args);

// compile.go: a program with the kernels that it calls, to be freed; NULL if it calls none.
char* bregmanRewrite(char* code, size_t size, size_t* new_size);

// signals.c: handlers of signals run on stacks of their own, as Go needs them to, whatever libraries do. The first is
// called before a plugin is loaded, the second repairs what was changed, the third does so while an entry runs, and
// gives Go the signals back that stop a program.
void bregman_signals_remember(void);
void bregman_signals_repair(void);
void* bregman_signals_guard(entry f, void* args);

// error.c: errors of ours, which name the executions they can belong to, and the entries that read them.
void* bregman_error_in_range(plugin* p, void* inner, unsigned long first, unsigned long last);
void bregman_error_drop(plugin* p, void* error);
void* bregman_error_destroy(plugin* p, object_args* args);
void* bregman_error_message(plugin* p, message_args* args);
void* bregman_error_get_code(plugin* p, object_args* args);
void* bregman_error_for_each_payload(plugin* p, object_args* args);

#endif
