//go:build cgo && linux

// Errors that name the executions they can belong to. To the caller they are errors of the plugin: the entries that
// read errors know both.
#include <stdio.h>
#include <stdlib.h>

#include "hook.h"

struct range_error {
  range_error* next;
  void* inner;  // the plugin's
  char* text;
  size_t size;
};

static message_args text_of(plugin* p, void* error) {
  message_args m = {.struct_size = sizeof m, .error = error};
  p->real->entries[Error_Message](&m);
  return m;
}

// bregman_error_drop destroys an error of the plugin that nobody is to hear of; it may be NULL.
void bregman_error_drop(plugin* p, void* error) {
  if (!error) return;
  object_args d = {.struct_size = sizeof d, .object = error};
  p->real->entries[Error_Destroy](&d);
}

// bregman_error_in_range returns an error of the plugin with the range of executions, counted from 1, it can belong to.
// An error that can belong to one only stays as it is.
void* bregman_error_in_range(plugin* p, void* inner, unsigned long first, unsigned long last) {
  if (first >= last) return inner;
  range_error* e = calloc(1, sizeof *e);
  if (!e) return inner;
  message_args m = text_of(p, inner);
  const char* format =
      "executions %lu to %lu of this program were in flight and one of them failed "
      "(BREGMAN_GPU_INFLIGHT=0 waits for each and tells which): %.*s";
  int n = snprintf(NULL, 0, format, first, last, (int)m.message_size, m.message);
  if (n < 0 || !(e->text = malloc(n + 1))) {
    free(e);
    return inner;
  }
  snprintf(e->text, n + 1, format, first, last, (int)m.message_size, m.message);
  e->size = n;
  e->inner = inner;
  pthread_mutex_lock(&p->errors_mu);
  e->next = p->errors;
  p->errors = e;
  pthread_mutex_unlock(&p->errors_mu);
  return e;
}

// ours returns the error if it is one of ours, and takes it off the list if asked to.
static range_error* ours(plugin* p, void* error, int take) {
  pthread_mutex_lock(&p->errors_mu);
  range_error** at = &p->errors;
  while (*at && *at != error) at = &(*at)->next;
  range_error* e = *at;
  if (e && take) *at = e->next;
  pthread_mutex_unlock(&p->errors_mu);
  return e;
}

void* bregman_error_destroy(plugin* p, object_args* args) {
  range_error* e = ours(p, args->object, 1);
  if (!e) return p->real->entries[Error_Destroy](args);
  bregman_error_drop(p, e->inner);
  free(e->text);
  free(e);
  return NULL;
}

void* bregman_error_message(plugin* p, message_args* args) {
  range_error* e = ours(p, args->error, 0);
  if (!e) return p->real->entries[Error_Message](args);
  args->message = e->text;
  args->message_size = e->size;
  return NULL;
}

// with_inner calls an entry for the plugin's error in the place of ours.
static void* with_inner(plugin* p, int at, object_args* args) {
  void* given = args->object;
  range_error* e = ours(p, given, 0);
  if (e) args->object = e->inner;
  void* error = p->real->entries[at](args);
  args->object = given;
  return error;
}

void* bregman_error_get_code(plugin* p, object_args* args) { return with_inner(p, Error_GetCode, args); }
void* bregman_error_for_each_payload(plugin* p, object_args* args) { return with_inner(p, Error_ForEachPayload, args); }
