// The part of PJRT's C interface, major version 0, that this package calls and replaces. Minor versions only append, to
// the table and to structs of arguments. A test compares these declarations with those of go-xla's pjrt_c_api.h.
#ifndef BREGMAN_PJRT_ABI_H
#define BREGMAN_PJRT_ABI_H

#include <stddef.h>

// An entry takes a struct of arguments and returns an error or NULL. Error_Destroy and Error_Message return nothing.
// Errors, events, buffers, clients and executables are void*: only the plugin knows what they are.
typedef void* (*entry)(void* args);

typedef struct {
  size_t struct_size;
  void* extension_start;
  struct {
    size_t struct_size;
    void* extension_start;
    int major, minor;
  } version;
  entry entries[];
} table;

// Where the entries stand in the table.
enum {
  Error_Destroy = 0,
  Error_Message = 1,
  Error_GetCode = 2,
  Event_Destroy = 5,
  Event_Await = 8,
  Client_Destroy = 11,
  Client_Compile = 20,
  Executable_Destroy = 40,
  Executable_NumOutputs = 44,
  LoadedExecutable_Destroy = 50,
  LoadedExecutable_GetExecutable = 51,
  LoadedExecutable_Execute = 55,
  Buffer_Destroy = 58,
  Error_ForEachPayload = 132,
};

// Arguments of the entries that take one object: all Destroy, Event_Await; those of other entries of errors begin so.
typedef struct {
  size_t struct_size;
  void* extension_start;
  void* object;
} object_args;

typedef struct {
  size_t struct_size;
  void* extension_start;
  void* error;
  const char* message;
  size_t message_size;
} message_args;

typedef struct {
  size_t struct_size;
  void* extension_start;
  const char* code;
  size_t code_size;
  const char* format;
  size_t format_size;
} program_text;

typedef struct {
  size_t struct_size;
  void* extension_start;
  void* client;
  const program_text* program;
  const char* options;
  size_t options_size;
  void* executable;
} compile_args;

typedef struct {
  size_t struct_size;
  void* extension_start;
  void* loaded;
  void* executable;
} executable_args;

typedef struct {
  size_t struct_size;
  void* extension_start;
  void* executable;
  size_t num_outputs;
} outputs_args;

typedef struct {
  size_t struct_size;
  void* extension_start;
  void* executable;
  void* options;
  void* argument_lists;
  size_t num_devices;
  size_t num_args;
  void** const* output_lists;
  void** device_complete_events;
  void* execute_device;
} execute_args;

#endif
