//go:build cgo && linux

// Executions that are not waited for. Each program has a queue of the events of its unfinished executions; when there
// are more than may be, the oldest is awaited.
#include <stdlib.h>
#include <string.h>

#include "hook.h"

typedef struct {
  void* event;
  unsigned long number;
} execution;

// program is an executable that a client of the plugin compiled, with its queue. Equal programs of a client share one:
// runs side by side then compile once.
struct program {
  program* next;
  void *client, *executable;
  int users;  // how many were given the executable and have not destroyed it
  char* text; // code, format and options; NULL: it is not shared
  size_t text_size;
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

// drain awaits the executions of a program. Their errors are dropped: whoever reads what such an execution computed
// gets the error there.
static void drain(plugin* p, program* g) {
  for (execution x; pop(g, 0, &x);) bregman_error_drop(p, finish(p, x.event));
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

// text_of_program returns all that makes a program, to compare and to free; NULL if there is no memory for it.
static char* text_of_program(const compile_args* args, size_t* size) {
  const program_text* t = args->program;
  size_t sizes[3] = {t->code_size, t->format_size, args->options_size};
  const char* parts[3] = {t->code, t->format, args->options};
  *size = sizeof sizes + sizes[0] + sizes[1] + sizes[2];
  char *text = malloc(*size), *end = text;
  if (!text) return NULL;
  memcpy(end, sizes, sizeof sizes);
  end += sizeof sizes;
  for (int i = 0; i < 3; i++) {
    if (sizes[i]) memcpy(end, parts[i], sizes[i]);
    end += sizes[i];
  }
  return text;
}

// share returns the executable of an equal program that the client has, or NULL.
static void* share(plugin* p, void* client, const char* text, size_t size) {
  void* executable = NULL;
  pthread_mutex_lock(&p->programs_mu);
  for (program* g = p->programs; g && !executable; g = g->next) {
    if (g->client != client || !g->text || g->text_size != size || memcmp(g->text, text, size)) continue;
    g->users++;
    executable = g->executable;
  }
  pthread_mutex_unlock(&p->programs_mu);
  return executable;
}

// add makes a program of what was compiled. Without memory for it, its executions are waited for.
static void add(plugin* p, compile_args* args, size_t outputs, char* text, size_t size) {
  program* g = calloc(1, sizeof *g);
  if (!g) {
    free(text);
    return;
  }
  *g = (program){.client = args->client, .executable = args->executable, .num_outputs = outputs, .users = 1,
                 .text = text, .text_size = size};
  pthread_mutex_init(&g->mu, NULL);
  pthread_mutex_lock(&p->programs_mu);
  g->next = p->programs;
  p->programs = g;
  pthread_mutex_unlock(&p->programs_mu);
}

// compile_with_kernels compiles a program, with calls of kernels in place of the functions that stand for them.
static void* compile_with_kernels(plugin* p, compile_args* args) {
  const program_text* given = args->program;
  program_text rewritten = *given;
  char* code = bregmanRewrite((char*)given->code, given->code_size, &rewritten.code_size);
  if (code) {
    rewritten.code = code;
    args->program = &rewritten;
  }
  void* error = bregman_signals_guard(p->real->entries[Client_Compile], args);
  args->program = given;
  free(code);
  return error;
}

void* bregman_queue_compile(plugin* p, compile_args* args) {
  size_t size = 0, outputs;
  char* text = text_of_program(args, &size);
  pthread_mutex_lock(&p->compile_mu);
  void *error = NULL, *shared = text ? share(p, args->client, text, size) : NULL;
  if (shared) {
    args->executable = shared;
    free(text);
  } else if ((error = compile_with_kernels(p, args)) || !count_outputs(p, args->executable, &outputs)) {
    free(text);
  } else {
    add(p, args, outputs, text, size);
  }
  pthread_mutex_unlock(&p->compile_mu);
  return error;
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

// release gives an executable back. It returns its program, off the plugin's list, if nobody else has it; others says
// whether somebody has.
static program* release(plugin* p, void* executable, int* others) {
  pthread_mutex_lock(&p->programs_mu);
  program** at = &p->programs;
  while (*at && (*at)->executable != executable) at = &(*at)->next;
  program* g = *at;
  *others = g && --g->users > 0;
  if (g && !*others) *at = g->next;
  pthread_mutex_unlock(&p->programs_mu);
  return *others ? NULL : g;
}

void* bregman_queue_executable_destroy(plugin* p, object_args* args) {
  int others;
  program* g = release(p, args->object, &others);
  if (others) return NULL;
  if (g) {
    drain(p, g);
    pthread_mutex_destroy(&g->mu);
    free(g->text);
    free(g);
  }
  return p->real->entries[LoadedExecutable_Destroy](args);
}

// of_client returns a program of a client, and takes it from the client, or NULL. Its users may destroy it later.
static program* of_client(plugin* p, void* client) {
  pthread_mutex_lock(&p->programs_mu);
  program* g = p->programs;
  while (g && g->client != client) g = g->next;
  if (g) g->client = NULL;
  pthread_mutex_unlock(&p->programs_mu);
  return g;
}

void* bregman_queue_client_destroy(plugin* p, object_args* args) {
  for (program* g; (g = of_client(p, args->object));) drain(p, g);
  return p->real->entries[Client_Destroy](args);
}
