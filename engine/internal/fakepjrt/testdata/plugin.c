// A PJRT plugin without a device. Its executions compute nothing: they end at once, or when a test says so, and fail
// where a test says so. It counts what is alive, keeps a log of what was called, and notes what no caller may do.
//
// Macros make it another plugin: MAJOR and MINOR are its version, TABLE_SIZE is the size of its table, WITHOUT an entry
// that it lacks, UNSTARTABLE one that does not start, NO_TABLE one without a table. STRIPS takes a signal's handler its
// own stack. The environment's FAKE_SIGNALS says what a compilation does to the handler of SIGINT.
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pjrt_c_api.h"

#ifndef MAJOR
#define MAJOR PJRT_API_MAJOR
#endif
#ifndef MINOR
#define MINOR PJRT_API_MINOR
#endif
#ifndef TABLE_SIZE
#define TABLE_SIZE sizeof(PJRT_Api)
#endif

struct PJRT_Error {
  char text[200];
};
struct PJRT_Client {
  int unused;
};
struct PJRT_Device {
  int id;
};
struct PJRT_LoadedExecutable {
  PJRT_Client* client;
  int name;     // programs are named 1, 2, …
  int outputs;  // of an execution
  int executions;
  int unfinished;
  int failing;      // the execution that fails, 0 for none
  int in_the_call;  // it fails in the call of Execute, not later
};
struct PJRT_Executable {
  PJRT_LoadedExecutable* of;
};
struct PJRT_Event {
  PJRT_LoadedExecutable* of;  // NULL: a copy to the host
  int number;
  int done, failed;
};
struct PJRT_Buffer {
  int unused;
};

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static PJRT_Device devices[2] = {{0}, {1}};
static PJRT_Device* addressable[2] = {&devices[0], &devices[1]};
static int programs, held, waiting, misuses;
static struct {
  int errors, clients, loaded, executables, events, buffers;
} alive;
static PJRT_Event* events[4096];  // those alive
static char record[1 << 16];
static size_t recorded;

static void note(const char* format, ...) {
  va_list args;
  va_start(args, format);
  size_t left = sizeof record - recorded;
  int n = vsnprintf(record + recorded, left, format, args);
  if (n > 0 && (size_t)n < left) recorded += n;
  va_end(args);
}

static void misuse(const char* what) {
  misuses++;
  note("misuse: %s\n", what);
}

static PJRT_Error* fail(const char* format, ...) {
  PJRT_Error* e = calloc(1, sizeof *e);
  va_list args;
  va_start(args, format);
  vsnprintf(e->text, sizeof e->text, format, args);
  va_end(args);
  alive.errors++;
  return e;
}

// ---- errors

static void error_destroy(PJRT_Error_Destroy_Args* a) {
  pthread_mutex_lock(&mu);
  if (a->error) alive.errors--;
  pthread_mutex_unlock(&mu);
  free(a->error);
}
static void error_message(PJRT_Error_Message_Args* a) {
  a->message = a->error->text;
  a->message_size = strlen(a->error->text);
}
static PJRT_Error* error_get_code(PJRT_Error_GetCode_Args* a) {
  a->code = a->error->text[0] ? PJRT_Error_Code_INTERNAL : PJRT_Error_Code_OK;
  return NULL;
}
static PJRT_Error* error_for_each_payload(PJRT_Error_ForEachPayload_Args* a) {
  a->visitor("text", 4, a->error->text, strlen(a->error->text), a->user_arg);
  return NULL;
}

// ---- signals

// stack takes a handler its own stack if it is to, without libc, and reports whether it has one.
static int stack(int s, int strip) {
  struct {
    void* handler;
    unsigned long flags;
    void* restorer;
    unsigned long mask;
  } a;
  syscall(SYS_rt_sigaction, s, NULL, &a, sizeof a.mask);
  if (strip) {
    a.flags &= ~(unsigned long)SA_ONSTACK;
    syscall(SYS_rt_sigaction, s, &a, NULL, sizeof a.mask);
  }
  return (a.flags & SA_ONSTACK) != 0;
}

static void own_handler(int s) { (void)s; }

// meddle does what FAKE_SIGNALS says, as libraries for GPUs do: "libc" handles SIGINT and puts the handler back without
// its stack, "kernel" takes the stack by a system call, "keeps" and "ignores" do not put the handler back. It then says
// so on the standard output and takes its time, for signals to come in.
static void meddle(void) {
  const char* how = getenv("FAKE_SIGNALS");
  if (!how || !*how) return;
  if (!strcmp(how, "libc")) {
    void (*old)(int) = signal(SIGINT, own_handler);
    int kept = stack(SIGINT, 0);
    signal(SIGINT, old);
    if (!kept || !stack(SIGINT, 0)) misuse("a handler lost its stack for a moment");
  } else if (!strcmp(how, "kernel")) {
    stack(SIGINT, 1);
    usleep(100 * 1000);  // in which it is found
  } else if (!strcmp(how, "keeps")) {
    signal(SIGINT, own_handler);
  } else if (!strcmp(how, "ignores")) {
    signal(SIGINT, SIG_IGN);
  }
  if (getenv("FAKE_WAITS") && write(1, "compiling\n", 10)) usleep(300 * 1000);
}

// ---- plugin, clients, devices

static PJRT_Error* plugin_initialize(PJRT_Plugin_Initialize_Args* a) {
  (void)a;
#ifdef UNSTARTABLE
  return fail("no device");
#else
  return NULL;
#endif
}
static PJRT_Error* plugin_attributes(PJRT_Plugin_Attributes_Args* a) {
  a->attributes = NULL;
  a->num_attributes = 0;
  return NULL;
}
static PJRT_Error* client_create(PJRT_Client_Create_Args* a) {
#ifdef STRIPS
  stack(SIGUSR2, 1);
#endif
  pthread_mutex_lock(&mu);
  a->client = calloc(1, sizeof *a->client);
  alive.clients++;
  pthread_mutex_unlock(&mu);
  return NULL;
}
static PJRT_Error* client_destroy(PJRT_Client_Destroy_Args* a) {
  pthread_mutex_lock(&mu);
  note("destroy client\n");
  for (int i = 0; i < alive.events; i++) {
    if (events[i]->of && events[i]->of->client == a->client) misuse("a client is destroyed before its events");
  }
  alive.clients--;
  pthread_mutex_unlock(&mu);
  free(a->client);
  return NULL;
}
static PJRT_Error* client_platform_name(PJRT_Client_PlatformName_Args* a) {
  a->platform_name = "fake";
  a->platform_name_size = 4;
  return NULL;
}
static PJRT_Error* client_platform_version(PJRT_Client_PlatformVersion_Args* a) {
  a->platform_version = "1";
  a->platform_version_size = 1;
  return NULL;
}
static PJRT_Error* client_process_index(PJRT_Client_ProcessIndex_Args* a) {
  a->process_index = 0;
  return NULL;
}
static PJRT_Error* client_addressable_devices(PJRT_Client_AddressableDevices_Args* a) {
  a->addressable_devices = addressable;
  a->num_addressable_devices = 2;
  return NULL;
}
static PJRT_Error* device_local_hardware_id(PJRT_Device_LocalHardwareId_Args* a) {
  a->local_hardware_id = a->device->id;
  return NULL;
}
static PJRT_Error* device_is_addressable(PJRT_Device_IsAddressable_Args* a) {
  a->is_addressable = true;
  return NULL;
}

// ---- programs

// A program's text has two words that count: outputs=N and, if an execution is to fail, fails=K.
static PJRT_Error* client_compile(PJRT_Client_Compile_Args* a) {
  meddle();
  char text[200] = {0};
  size_t n = a->program->code_size < sizeof text - 1 ? a->program->code_size : sizeof text - 1;
  memcpy(text, a->program->code, n);
  char *outputs = strstr(text, "outputs="), *fails = strstr(text, "fails=");
  pthread_mutex_lock(&mu);
  PJRT_Error* e = NULL;
  if (!outputs) {
    e = fail("no program");
  } else {
    PJRT_LoadedExecutable* x = calloc(1, sizeof *x);
    x->client = a->client;
    x->name = ++programs;
    x->outputs = atoi(outputs + strlen("outputs="));
    if (fails) x->failing = atoi(fails + strlen("fails="));
    a->executable = x;
    alive.loaded++;
  }
  pthread_mutex_unlock(&mu);
  return e;
}
static PJRT_Error* loaded_destroy(PJRT_LoadedExecutable_Destroy_Args* a) {
  pthread_mutex_lock(&mu);
  note("destroy program %d\n", a->executable->name);
  for (int i = 0; i < alive.events; i++) {
    if (events[i]->of == a->executable) misuse("a program is destroyed before its events");
  }
  alive.loaded--;
  pthread_mutex_unlock(&mu);
  free(a->executable);
  return NULL;
}
static PJRT_Error* loaded_get_executable(PJRT_LoadedExecutable_GetExecutable_Args* a) {
  a->executable = calloc(1, sizeof *a->executable);
  a->executable->of = a->loaded_executable;
  pthread_mutex_lock(&mu);
  alive.executables++;
  pthread_mutex_unlock(&mu);
  return NULL;
}
static PJRT_Error* executable_destroy(PJRT_Executable_Destroy_Args* a) {
  pthread_mutex_lock(&mu);
  alive.executables--;
  pthread_mutex_unlock(&mu);
  free(a->executable);
  return NULL;
}
static PJRT_Error* executable_name(PJRT_Executable_Name_Args* a) {
  a->executable_name = "fake";
  a->executable_name_size = 4;
  return NULL;
}
static PJRT_Error* executable_num_outputs(PJRT_Executable_NumOutputs_Args* a) {
  a->num_outputs = a->executable->of->outputs;
  return NULL;
}
static PJRT_Error* executable_memory(PJRT_Executable_GetCompiledMemoryStats_Args* a) {
  (void)a;
  return NULL;
}

static PJRT_Event* new_event(PJRT_LoadedExecutable* of, int done) {
  PJRT_Event* e = calloc(1, sizeof *e);
  e->of = of;
  e->number = of ? of->executions : 0;
  e->done = done;
  e->failed = of && !of->in_the_call && of->failing && of->failing == of->executions;
  if (of && !done) of->unfinished++;
  events[alive.events++] = e;
  return e;
}

static PJRT_Error* execute(PJRT_LoadedExecutable_Execute_Args* a) {
  PJRT_LoadedExecutable* x = a->executable;
  pthread_mutex_lock(&mu);
  x->executions++;
  note("execute %d.%d\n", x->name, x->executions);
  PJRT_Error* e = NULL;
  if (x->in_the_call && x->failing == x->executions) {
    e = fail("program %d: call %d failed", x->name, x->executions);
  } else {
    for (size_t d = 0; d < a->num_devices; d++) {
      for (int i = 0; i < x->outputs; i++) a->output_lists[d][i] = calloc(1, sizeof(PJRT_Buffer));
      alive.buffers += x->outputs;
      if (a->device_complete_events) a->device_complete_events[d] = new_event(x, !held);
    }
  }
  pthread_mutex_unlock(&mu);
  return e;
}

// ---- events

static PJRT_Error* event_await(PJRT_Event_Await_Args* a) {
  PJRT_Event* v = a->event;
  pthread_mutex_lock(&mu);
  if (v->of) note("await %d.%d\n", v->of->name, v->number);
  waiting++;
  pthread_cond_broadcast(&changed);
  while (!v->done) pthread_cond_wait(&changed, &mu);
  waiting--;
  PJRT_Error* e = v->failed ? fail("program %d: execution %d failed", v->of->name, v->number) : NULL;
  pthread_mutex_unlock(&mu);
  return e;
}
static PJRT_Error* event_destroy(PJRT_Event_Destroy_Args* a) {
  pthread_mutex_lock(&mu);
  int i = 0;
  while (i < alive.events && events[i] != a->event) i++;
  if (i == alive.events) {
    misuse("an event is destroyed twice");
  } else {
    if (!a->event->done) misuse("an event is destroyed before it is done");
    events[i] = events[--alive.events];
    free(a->event);
  }
  pthread_mutex_unlock(&mu);
  return NULL;
}

// ---- buffers

static PJRT_Error* buffer_destroy(PJRT_Buffer_Destroy_Args* a) {
  pthread_mutex_lock(&mu);
  alive.buffers--;
  pthread_mutex_unlock(&mu);
  free(a->buffer);
  return NULL;
}
static PJRT_Error* buffer_element_type(PJRT_Buffer_ElementType_Args* a) {
  a->type = PJRT_Buffer_Type_F32;
  return NULL;
}
static PJRT_Error* buffer_dimensions(PJRT_Buffer_Dimensions_Args* a) {
  a->dims = NULL;
  a->num_dims = 0;
  return NULL;
}
static PJRT_Error* buffer_device(PJRT_Buffer_Device_Args* a) {
  a->device = &devices[0];
  return NULL;
}

// ---- the table

static PJRT_Api entries = {
    .struct_size = TABLE_SIZE,
    .pjrt_api_version = {.struct_size = PJRT_Api_Version_STRUCT_SIZE, .major_version = MAJOR, .minor_version = MINOR},
    .PJRT_Error_Destroy = error_destroy,
    .PJRT_Error_Message = error_message,
    .PJRT_Error_GetCode = error_get_code,
    .PJRT_Error_ForEachPayload = error_for_each_payload,
    .PJRT_Plugin_Initialize = plugin_initialize,
    .PJRT_Plugin_Attributes = plugin_attributes,
    .PJRT_Event_Destroy = event_destroy,
    .PJRT_Event_Await = event_await,
    .PJRT_Client_Create = client_create,
    .PJRT_Client_Destroy = client_destroy,
    .PJRT_Client_PlatformName = client_platform_name,
    .PJRT_Client_PlatformVersion = client_platform_version,
    .PJRT_Client_ProcessIndex = client_process_index,
    .PJRT_Client_AddressableDevices = client_addressable_devices,
    .PJRT_Client_Compile = client_compile,
    .PJRT_Device_LocalHardwareId = device_local_hardware_id,
    .PJRT_Device_IsAddressable = device_is_addressable,
    .PJRT_Executable_Destroy = executable_destroy,
    .PJRT_Executable_Name = executable_name,
    .PJRT_Executable_NumOutputs = executable_num_outputs,
    .PJRT_Executable_GetCompiledMemoryStats = executable_memory,
    .PJRT_LoadedExecutable_Destroy = loaded_destroy,
    .PJRT_LoadedExecutable_GetExecutable = loaded_get_executable,
    .PJRT_LoadedExecutable_Execute = execute,
    .PJRT_Buffer_Destroy = buffer_destroy,
    .PJRT_Buffer_ElementType = buffer_element_type,
    .PJRT_Buffer_Dimensions = buffer_dimensions,
    .PJRT_Buffer_Device = buffer_device,
};

// The table has exactly the size it says: who reads more reads another's memory. What this header does not know is 1.
const PJRT_Api* GetPjrtApi(void) {
#ifdef NO_TABLE
  return NULL;
#endif
  static PJRT_Api* given;
  pthread_mutex_lock(&mu);
  if (!given) {
#ifdef WITHOUT
    entries.WITHOUT = NULL;
#endif
    given = malloc(TABLE_SIZE);
    memset(given, 1, TABLE_SIZE);
    memcpy(given, &entries, (TABLE_SIZE) < sizeof entries ? (TABLE_SIZE) : sizeof entries);
  }
  pthread_mutex_unlock(&mu);
  return given;
}

// ---- what a test commands and asks

void fake_hold(long on) {
  pthread_mutex_lock(&mu);
  held = on;
  pthread_mutex_unlock(&mu);
}
// fake_finish ends an execution; number 0 ends all of the program, and without a program all there are.
void fake_finish(PJRT_LoadedExecutable* x, long number) {
  pthread_mutex_lock(&mu);
  for (int i = 0; i < alive.events; i++) {
    PJRT_Event* v = events[i];
    if (v->of && !v->done && (!x || v->of == x) && (!number || v->number == number)) {
      v->done = 1;
      v->of->unfinished--;
    }
  }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mu);
}
void fake_fail(PJRT_LoadedExecutable* x, long number, long in_the_call) {
  pthread_mutex_lock(&mu);
  x->failing = number;
  x->in_the_call = in_the_call;
  pthread_mutex_unlock(&mu);
}
long fake_name(PJRT_LoadedExecutable* x) { return x->name; }
long fake_unfinished(PJRT_LoadedExecutable* x) {
  pthread_mutex_lock(&mu);
  long n = x->unfinished;
  pthread_mutex_unlock(&mu);
  return n;
}
// fake_waiting returns 1 when so many threads wait for an event, or 0 after half a minute.
long fake_waiting(long threads) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 30;
  pthread_mutex_lock(&mu);
  while (waiting != threads && !pthread_cond_timedwait(&changed, &mu, &end)) {
  }
  long ok = waiting == threads;
  pthread_mutex_unlock(&mu);
  return ok;
}
// fake_left says what is alive besides clients and programs, or nothing.
char* fake_left(void) {
  char text[200] = "";
  pthread_mutex_lock(&mu);
  if (alive.events || alive.buffers || alive.errors || alive.executables || misuses) {
    snprintf(text, sizeof text, "%d events, %d buffers, %d errors, %d executables; %d misuses", alive.events,
             alive.buffers, alive.errors, alive.executables, misuses);
  }
  pthread_mutex_unlock(&mu);
  return strdup(text);
}
// fake_record returns the log and begins another.
char* fake_record(void) {
  pthread_mutex_lock(&mu);
  char* text = strdup(record);
  recorded = 0;
  record[0] = 0;
  pthread_mutex_unlock(&mu);
  return text;
}
// fake_differs counts the pointers in which a table differs from the plugin's own.
long fake_differs(void** other) {
  void** own = (void**)GetPjrtApi();
  long n = 0;
  for (size_t i = 0; i < (TABLE_SIZE) / sizeof *own; i++) n += own[i] != other[i];
  return n;
}

// ---- calls through a table, as go-xla makes them

PJRT_Client* call_create(const PJRT_Api* api) {
  PJRT_Client_Create_Args a = {.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE};
  api->PJRT_Client_Create(&a);
  return a.client;
}
void call_destroy_client(const PJRT_Api* api, PJRT_Client* client) {
  PJRT_Client_Destroy_Args a = {.struct_size = PJRT_Client_Destroy_Args_STRUCT_SIZE, .client = client};
  api->PJRT_Client_Destroy(&a);
}

static void visit(const char* key, size_t key_size, const char* value, size_t value_size, void* text) {
  (void)key, (void)key_size;
  snprintf(text, 200, "%.*s", (int)value_size, value);
}

// report is an error in words: its code, its message, and the payload that the plugin's own error has.
static char* report(const PJRT_Api* api, PJRT_Error* e) {
  PJRT_Error_Message_Args m = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE, .error = e};
  api->PJRT_Error_Message(&m);
  PJRT_Error_GetCode_Args c = {.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE, .error = e};
  api->PJRT_Error_GetCode(&c);
  char payload[200] = "";
  if (api->struct_size >= PJRT_STRUCT_SIZE(PJRT_Api, PJRT_Error_ForEachPayload)) {
    PJRT_Error_ForEachPayload_Args p = {.struct_size = PJRT_Error_ForEachPayload_Args_STRUCT_SIZE,
                                        .error = e, .visitor = visit, .user_arg = payload};
    api->PJRT_Error_ForEachPayload(&p);
  }
  char text[800];
  snprintf(text, sizeof text, "code %d, %.*s [%s]", c.code, (int)m.message_size, m.message, payload);
  PJRT_Error_Destroy_Args d = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE, .error = e};
  api->PJRT_Error_Destroy(&d);
  return strdup(text);
}

PJRT_LoadedExecutable* call_compile(const PJRT_Api* api, PJRT_Client* client, char* text) {
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE, .code = text, .code_size = strlen(text),
                          .format = "mlir", .format_size = 4};
  PJRT_Client_Compile_Args a = {.struct_size = PJRT_Client_Compile_Args_STRUCT_SIZE, .client = client,
                                .program = &program};
  PJRT_Error* e = api->PJRT_Client_Compile(&a);
  if (!e) return a.executable;
  free(report(api, e));
  return NULL;
}
void call_destroy(const PJRT_Api* api, PJRT_LoadedExecutable* x) {
  PJRT_LoadedExecutable_Destroy_Args a = {.struct_size = PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE,
                                          .executable = x};
  api->PJRT_LoadedExecutable_Destroy(&a);
}

static void destroy_outputs(const PJRT_Api* api, PJRT_Buffer** list, int n) {
  for (int i = 0; i < n; i++) {
    PJRT_Buffer_Destroy_Args d = {.struct_size = PJRT_Buffer_Destroy_Args_STRUCT_SIZE, .buffer = list[i]};
    api->PJRT_Buffer_Destroy(&d);
  }
}

// call_execute executes on a device and destroys the outputs; with device 2 on both, with 3 without an event. It
// returns "handed over" if there is nothing to wait for, "waited", or the error.
char* call_execute(const PJRT_Api* api, PJRT_LoadedExecutable* x, long device) {
  int n = device == 2 ? 2 : 1;
  PJRT_Buffer *first[100] = {0}, *second[100] = {0};
  PJRT_Buffer** lists[2] = {first, second};
  PJRT_Event* done[2] = {0};
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  PJRT_LoadedExecutable_Execute_Args a = {.struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE,
                                          .executable = x, .options = &options, .num_devices = n,
                                          .output_lists = lists};
  if (device != 3) a.device_complete_events = done;
  if (device < 2) a.execute_device = &devices[device];
  int outputs = x->outputs;
  PJRT_Error* e = api->PJRT_LoadedExecutable_Execute(&a);
  if (e) return report(api, e);
  for (int d = 0; a.device_complete_events && d < n; d++) {
    PJRT_Event_Await_Args w = {.struct_size = PJRT_Event_Await_Args_STRUCT_SIZE, .event = done[d]};
    PJRT_Error* late = api->PJRT_Event_Await(&w);
    if (late && e) free(report(api, late));
    if (!e) e = late;
    PJRT_Event_Destroy_Args v = {.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE, .event = done[d]};
    api->PJRT_Event_Destroy(&v);
  }
  for (int d = 0; d < n; d++) destroy_outputs(api, lists[d], outputs);
  if (e) return report(api, e);
  return strdup(a.device_complete_events ? "waited" : "handed over");
}
