// Compiles if the declarations of abi.h are those of go-xla's header.
#include "../abi.h"
#include "pjrt_c_api.h"

#define SAME(what, ours, theirs) _Static_assert((ours) == (theirs), what)
#define AT(name) \
  SAME(#name, offsetof(table, entries) + name * sizeof(entry), offsetof(PJRT_Api, PJRT_##name))
#define FIELD(ours, field, theirs, other)                                         \
  SAME(#theirs " " #other, offsetof(ours, field), offsetof(theirs, other));       \
  SAME(#theirs " " #other, sizeof(((ours*)0)->field), sizeof(((theirs*)0)->other))
#define SIZE(ours, theirs) SAME(#theirs, sizeof(ours), (size_t)theirs##_STRUCT_SIZE)
#define OBJECT(theirs, other)                           \
  FIELD(object_args, object, PJRT_##theirs, other);     \
  SIZE(object_args, PJRT_##theirs)

SAME("major version", PJRT_API_MAJOR, 0);
FIELD(table, struct_size, PJRT_Api, struct_size);
FIELD(table, version.major, PJRT_Api, pjrt_api_version.major_version);
FIELD(table, version.minor, PJRT_Api, pjrt_api_version.minor_version);

AT(Error_Destroy);
AT(Error_Message);
AT(Error_GetCode);
AT(Event_Destroy);
AT(Event_Await);
AT(Client_Destroy);
AT(Client_Compile);
AT(Executable_Destroy);
AT(Executable_NumOutputs);
AT(LoadedExecutable_Destroy);
AT(LoadedExecutable_GetExecutable);
AT(LoadedExecutable_Execute);
AT(Buffer_Destroy);
AT(Error_ForEachPayload);

OBJECT(Error_Destroy_Args, error);
OBJECT(Event_Destroy_Args, event);
OBJECT(Event_Await_Args, event);
OBJECT(Client_Destroy_Args, client);
OBJECT(Executable_Destroy_Args, executable);
OBJECT(LoadedExecutable_Destroy_Args, executable);
OBJECT(Buffer_Destroy_Args, buffer);
FIELD(object_args, object, PJRT_Error_GetCode_Args, error);
FIELD(object_args, object, PJRT_Error_ForEachPayload_Args, error);

FIELD(message_args, error, PJRT_Error_Message_Args, error);
FIELD(message_args, message, PJRT_Error_Message_Args, message);
FIELD(message_args, message_size, PJRT_Error_Message_Args, message_size);
SIZE(message_args, PJRT_Error_Message_Args);

FIELD(program_text, code, PJRT_Program, code);
FIELD(program_text, code_size, PJRT_Program, code_size);
FIELD(program_text, format, PJRT_Program, format);
FIELD(program_text, format_size, PJRT_Program, format_size);

FIELD(compile_args, client, PJRT_Client_Compile_Args, client);
FIELD(compile_args, program, PJRT_Client_Compile_Args, program);
FIELD(compile_args, options, PJRT_Client_Compile_Args, compile_options);
FIELD(compile_args, options_size, PJRT_Client_Compile_Args, compile_options_size);
FIELD(compile_args, executable, PJRT_Client_Compile_Args, executable);
SIZE(compile_args, PJRT_Client_Compile_Args);

FIELD(executable_args, loaded, PJRT_LoadedExecutable_GetExecutable_Args, loaded_executable);
FIELD(executable_args, executable, PJRT_LoadedExecutable_GetExecutable_Args, executable);
SIZE(executable_args, PJRT_LoadedExecutable_GetExecutable_Args);

FIELD(outputs_args, executable, PJRT_Executable_NumOutputs_Args, executable);
FIELD(outputs_args, num_outputs, PJRT_Executable_NumOutputs_Args, num_outputs);
SIZE(outputs_args, PJRT_Executable_NumOutputs_Args);

FIELD(execute_args, executable, PJRT_LoadedExecutable_Execute_Args, executable);
FIELD(execute_args, num_devices, PJRT_LoadedExecutable_Execute_Args, num_devices);
FIELD(execute_args, output_lists, PJRT_LoadedExecutable_Execute_Args, output_lists);
FIELD(execute_args, device_complete_events, PJRT_LoadedExecutable_Execute_Args, device_complete_events);
FIELD(execute_args, execute_device, PJRT_LoadedExecutable_Execute_Args, execute_device);
SIZE(execute_args, PJRT_LoadedExecutable_Execute_Args);
