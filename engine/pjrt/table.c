//go:build cgo && linux

// A copy of a plugin's table with entries of ours. The plugin's own table is not touched.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hook.h"

static plugin plugins[most_plugins];
static int opened;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

// An entry is not told which table it was called through, so each plugin has functions of its own.
enum { replaced = 8 };
static const int places[replaced] = {
    Client_Compile, LoadedExecutable_Execute, LoadedExecutable_Destroy, Client_Destroy,
    Error_Destroy,  Error_Message,            Error_GetCode,            Error_ForEachPayload,
};
#define ENTRIES(i)                                                                                            \
  static void* compile_##i(void* a) { return bregman_queue_compile(&plugins[i], a); }                         \
  static void* execute_##i(void* a) { return bregman_queue_execute(&plugins[i], a); }                         \
  static void* executable_destroy_##i(void* a) { return bregman_queue_executable_destroy(&plugins[i], a); }   \
  static void* client_destroy_##i(void* a) { return bregman_queue_client_destroy(&plugins[i], a); }           \
  static void* error_destroy_##i(void* a) { return bregman_error_destroy(&plugins[i], a); }                   \
  static void* error_message_##i(void* a) { return bregman_error_message(&plugins[i], a); }                   \
  static void* error_get_code_##i(void* a) { return bregman_error_get_code(&plugins[i], a); }                 \
  static void* error_for_each_payload_##i(void* a) { return bregman_error_for_each_payload(&plugins[i], a); } \
  static const entry functions_##i[replaced] = {                                                              \
      compile_##i,       execute_##i,       executable_destroy_##i, client_destroy_##i,                       \
      error_destroy_##i, error_message_##i, error_get_code_##i,     error_for_each_payload_##i,               \
  };
ENTRIES(0) ENTRIES(1) ENTRIES(2) ENTRIES(3) ENTRIES(4) ENTRIES(5) ENTRIES(6) ENTRIES(7)
static const entry* const functions[most_plugins] = {functions_0, functions_1, functions_2, functions_3,
                                                     functions_4, functions_5, functions_6, functions_7};

// What a table must have. Errors without payloads are fine.
static const struct {
  int at;
  const char* name;
} needed[] = {
#define NEED(name) {name, #name}
    NEED(Error_Destroy),
    NEED(Error_Message),
    NEED(Error_GetCode),
    NEED(Event_Destroy),
    NEED(Event_Await),
    NEED(Client_Destroy),
    NEED(Client_Compile),
    NEED(Executable_Destroy),
    NEED(Executable_NumOutputs),
    NEED(LoadedExecutable_Destroy),
    NEED(LoadedExecutable_GetExecutable),
    NEED(LoadedExecutable_Execute),
    NEED(Buffer_Destroy),
};
enum { needs = sizeof needed / sizeof *needed };

// bytes is the size of a table that ends with this entry.
static size_t bytes(int last) { return sizeof(table) + (last + 1) * sizeof(entry); }

// fits says whether a table is one that our entries can stand in, or writes why not.
static int fits(const table* t, char* why, size_t why_size) {
  size_t least = bytes(needed[needs - 1].at);
  if (t->struct_size < least) {
    snprintf(why, why_size, "its PJRT table has %zu bytes, %zu are needed", t->struct_size, least);
    return 0;
  }
  if (t->version.major != 0) {
    snprintf(why, why_size, "its PJRT version is %d.%d, 0 is needed", t->version.major, t->version.minor);
    return 0;
  }
  for (int i = 0; i < needs; i++) {
    if (!t->entries[needed[i].at]) {
      snprintf(why, why_size, "it has no PJRT_%s", needed[i].name);
      return 0;
    }
  }
  return 1;
}

// load returns the plugin's own table. The library stays loaded: another loader may want it.
static const table* load(const char* path, char* why, size_t why_size) {
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (!library) {
    snprintf(why, why_size, "%s", dlerror());
    return NULL;
  }
  const table* (*get)(void);
  *(void**)&get = dlsym(library, "GetPjrtApi");
  const table* t = get ? get() : NULL;
  if (!t) snprintf(why, why_size, "it is no PJRT plugin");
  return t;
}

// copy makes a plugin of a table that fits.
static plugin* copy(const table* t, char* why, size_t why_size) {
  if (opened == most_plugins) {
    snprintf(why, why_size, "%d plugins are open already", most_plugins);
    return NULL;
  }
  // What a caller may know and an older plugin lacks is NULL.
  enum { enough = 4096 };
  table* c = calloc(1, t->struct_size > enough ? t->struct_size : enough);
  if (!c) {
    snprintf(why, why_size, "no memory");
    return NULL;
  }
  memcpy(c, t, t->struct_size);
  for (int i = 0; i < replaced; i++) {
    if (bytes(places[i]) <= t->struct_size && c->entries[places[i]]) c->entries[places[i]] = functions[opened][i];
  }
  plugin* p = &plugins[opened++];
  p->real = t;
  p->copy = c;
  pthread_mutex_init(&p->compile_mu, NULL);
  pthread_mutex_init(&p->programs_mu, NULL);
  pthread_mutex_init(&p->errors_mu, NULL);
  return p;
}

plugin* bregman_pjrt_open(const char* path, char* why, size_t why_size) {
  pthread_mutex_lock(&opening);
  bregman_signals_remember();
  const table* t = load(path, why, why_size);
  bregman_signals_repair();
  plugin* p = t && fits(t, why, why_size) ? copy(t, why, why_size) : NULL;
  pthread_mutex_unlock(&opening);
  return p;
}

void bregman_pjrt_set_in_flight(plugin* p, int n) { atomic_store(&p->in_flight, n); }
