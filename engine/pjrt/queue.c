//go:build cgo && linux

// Executions that are not waited for. Each program has a queue of the events of its unfinished executions; when there
// are more than may be, the oldest is awaited.
#include <stdlib.h>

#include "hook.h"

typedef struct {
  void* event;
  unsigned long number;
} execution;

// program is an executable that a client of the plugin compiled, with its queue.
struct program {
  program* next;
  void *client, *executable;
  size_t num_outputs;

  pthread_mutex_t mu;  // never held while something is awaited
  int ran;             // on device
  void* device;
  execution ring[most_in_flight + 1];
  int first, pending;
  unsigned long handed;   // executions that were handed over: their numbers are 1 to handed
  unsigned long settled;  // those up to this number are finished: a device finishes them in order
};

static void* call_object(plugin* p, int at, void* object) {
  object_args a = {.struct_size = sizeof a, .object = object};
  return p->real->entries[at](&a);
}

// finish awaits an event, destroys it and returns the execution's error.
static void* finish(plugin* p, void* event) {
  void* error = call_object(p, Event_Await, event);
  bregman_error_drop(p, call_object(p, Event_Destroy, event));
  return error;
}

// push adds an execution if there is room. There is none only if several threads run one program at once.
static int push(program* g, execution x) {
  if (g->pending > most_in_flight) return 0;
  g->ring[(g->first + g->pending++) % (most_in_flight + 1)] = x;
  return 1;
}

// pop takes the oldest execution if more than so many are pending.
static int pop(program* g, int more_than, execution* x) {
  pthread_mutex_lock(&g->mu);
  int any = g->pending > more_than;
  if (any) {
    *x = g->ring[g->first];
    g->first = (g->first + 1) % (most_in_flight + 1);
    g->pending--;
  }
  pthread_mutex_unlock(&g->mu);
  return any;
}

// drain_and_free ends a list of programs. Their errors are dropped: whoever reads what such an execution computed gets
// the error there.
static void drain_and_free(plugin* p, program* list) {
  while (list) {
    program* g = list;
    list = g->next;
    for (execution x; pop(g, 0, &x);) bregman_error_drop(p, finish(p, x.event));
    pthread_mutex_destroy(&g->mu);
    free(g);
  }
}

// take takes the programs of a client, or the one of an executable, off the plugin's list.
static program* take(plugin* p, void* client, void* executable) {
  program* taken = NULL;
  pthread_mutex_lock(&p->programs_mu);
  for (program** at = &p->programs; *at;) {
    program* g = *at;
    if (g->client != client && g->executable != executable) {
      at = &g->next;
      continue;
    }
    *at = g->next;
    g->next = taken;
    taken = g;
  }
  pthread_mutex_unlock(&p->programs_mu);
  return taken;
}

static program* find(plugin* p, void* executable) {
  pthread_mutex_lock(&p->programs_mu);
  program* g = p->programs;
  while (g && g->executable != executable) g = g->next;
  pthread_mutex_unlock(&p->programs_mu);
  return g;
}

// count_outputs asks how many buffers an execution returns. It returns 0 if the plugin does not say.
static int count_outputs(plugin* p, void* loaded, size_t* n) {
  executable_args x = {.struct_size = sizeof x, .loaded = loaded};
  void* error = p->real->entries[LoadedExecutable_GetExecutable](&x);
  if (error) {
    bregman_error_drop(p, error);
    return 0;
  }
  outputs_args o = {.struct_size = sizeof o, .executable = x.executable};
  error = p->real->entries[Executable_NumOutputs](&o);
  bregman_error_drop(p, call_object(p, Executable_Destroy, x.executable));
  bregman_error_drop(p, error);
  *n = o.num_outputs;
  return !error;
}

void* bregman_queue_compile(plugin* p, compile_args* args) {
  void* error = p->real->entries[Client_Compile](args);
  size_t outputs;
  if (error || !count_outputs(p, args->executable, &outputs)) return error;
  program* g = calloc(1, sizeof *g);
  if (!g) return NULL;  // its executions are waited for
  g->client = args->client;
  g->executable = args->executable;
  g->num_outputs = outputs;
  pthread_mutex_init(&g->mu, NULL);
  pthread_mutex_lock(&p->programs_mu);
  g->next = p->programs;
  p->programs = g;
  pthread_mutex_unlock(&p->programs_mu);
  return NULL;
}

// queued returns the program whose queue an execution belongs in, NULL if it has to be waited for: it runs on several
// devices or on another one than those before it, wants no event, or its program is not known.
static program* queued(plugin* p, execute_args* args) {
  if (args->num_devices != 1 || !args->device_complete_events || args->struct_size < sizeof *args) return NULL;
  program* g = find(p, args->executable);
  if (!g || (g->num_outputs && !args->output_lists)) return NULL;
  pthread_mutex_lock(&g->mu);
  if (!g->ran) {
    g->ran = 1;
    g->device = args->execute_device;
  }
  int same = g->device == args->execute_device;
  pthread_mutex_unlock(&g->mu);
  return same ? g : NULL;
}

static void destroy_outputs(plugin* p, program* g, execute_args* args) {
  for (size_t i = 0; i < g->num_outputs; i++) {
    bregman_error_drop(p, call_object(p, Buffer_Destroy, args->output_lists[0][i]));
    args->output_lists[0][i] = NULL;
  }
}

// bregman_queue_execute hands an execution over and keeps its event. The caller finds no events to wait for: go-xla
// looks for them after the call. An error is this execution's or that of one before it which is not settled; either way
// the caller has no outputs.
void* bregman_queue_execute(plugin* p, execute_args* args) {
  program* g = queued(p, args);
  if (!g) return p->real->entries[LoadedExecutable_Execute](args);
  void *event = NULL, **given = args->device_complete_events;
  args->device_complete_events = &event;
  void* error = p->real->entries[LoadedExecutable_Execute](args);
  args->device_complete_events = error ? given : NULL;

  pthread_mutex_lock(&g->mu);
  unsigned long number = ++g->handed, first = g->settled + 1;
  int waiting = !error && event && !push(g, (execution){event, number});
  pthread_mutex_unlock(&g->mu);
  if (error) return bregman_error_in_range(p, error, first, number);
  if (waiting && (error = finish(p, event))) {
    destroy_outputs(p, g, args);
    return bregman_error_in_range(p, error, first, number);
  }

  for (execution x; pop(g, atomic_load(&p->in_flight), &x);) {
    error = finish(p, x.event);
    pthread_mutex_lock(&g->mu);
    first = g->settled + 1;
    if (x.number > g->settled) g->settled = x.number;
    number = g->handed;
    pthread_mutex_unlock(&g->mu);
    if (error) {
      destroy_outputs(p, g, args);
      return bregman_error_in_range(p, error, first, number);
    }
  }
  return NULL;
}

void* bregman_queue_executable_destroy(plugin* p, object_args* args) {
  drain_and_free(p, take(p, NULL, args->object));
  return p->real->entries[LoadedExecutable_Destroy](args);
}

void* bregman_queue_client_destroy(plugin* p, object_args* args) {
  drain_and_free(p, take(p, args->object, NULL));
  return p->real->entries[Client_Destroy](args);
}
