// src/runtime/cpu_plugin_p.h — the C interface between the library and the CPU plug-in.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <stddef.h>
#include <stdint.h>

/* IR crosses as text, results as plain structs; no C++ type crosses, so the library may be static or
 * shared and the plug-in may hold any LLVM. The plug-in exports one symbol, `tlxjit_backend_v1`, of type
 * `const struct tlxjit_cpu_backend*(void)`. */

#define TLXJIT_CPU_PLUGIN_VERSION 6u

struct tlxjit_cpu_kernel; /* a compiled kernel, owned by the plug-in */

/* A tensor argument. Strides are in elements, one per axis, the innermost is 1. */
struct tlxjit_cpu_tensor {
  void* data;
  int64_t strides[5];
};

/* Where in a launch something happened. */
struct tlxjit_cpu_place {
  int32_t program;
  uint32_t task_op; /* number of the `task` op */
  int32_t replica;
  int64_t element; /* of a tile; -1: of none */
};

/* One launch. Arrays follow the order of the `dim`, `tensor` and `scalar` ops in the module. */
struct tlxjit_cpu_launch {
  const int32_t* dims;
  const struct tlxjit_cpu_tensor* tensors;
  const uint64_t* scalars; /* bit patterns, low bytes used */
  int32_t* workspace;      /* `words` zeroed words, or null */
  int32_t grid;            /* number of programs, ≥ 0, a multiple of the cluster */
  int32_t threads;         /* worker threads to use, ≥ 1 */
  /* Told what `print` op number `op` prints: per operand the address of its elements, row-major, as in tensors. Called
   * from any worker thread; null: nobody is told. */
  void (*print)(void* data, uint32_t op, const struct tlxjit_cpu_place* at, const void* const* values);
  void* print_data;
};

/* A fiber that waits when nothing of its launch that it could wait for can go on. Ops are numbered as in
 * numbered_ops(); which op `wait_op` is, `wait`, `flag.wait` or `cluster.sync`, says which fields there are. */
struct tlxjit_cpu_blocked {
  int32_t program;
  uint32_t task_op; /* number of the `task` op */
  int32_t replica;
  uint32_t wait_op;   /* number of the op it stands at */
  uint32_t object_op; /* number of the `barrier` op, or of the `tensor` op of a flag */
  int32_t slot;       /* of the barrier */
  int32_t phase;      /* the parity waited for */
  int32_t arrivals;   /* arrivals still missing in the present phase, of a barrier or at `cluster.sync` */
  int64_t bytes;      /* bytes still missing */
  int64_t element;    /* of the tensor, counted as if its rows were packed */
  int64_t value;      /* what the element is compared with */
  int64_t present;    /* what it is */
};

enum tlxjit_cpu_status {
  TLXJIT_CPU_OK = 0,
  TLXJIT_CPU_BAD_TEXT = 1,    /* the text does not parse or is not lowered IR */
  TLXJIT_CPU_UNSUPPORTED = 2, /* an op or type that the plug-in lacks; `op` names it */
  TLXJIT_CPU_COMPILER = 3,    /* LLVM refused */
  TLXJIT_CPU_DEADLOCK = 4,    /* `blocked` lists the fibers */
  TLXJIT_CPU_MEMORY = 5,
  TLXJIT_CPU_OUTSIDE = 6,    /* a slot, part, element or rank that there is not; `op` names the op */
  TLXJIT_CPU_TOO_MANY = 7,   /* programs of a launch that must all be live */
  TLXJIT_CPU_POLICY = 8,     /* the process may not make memory executable */
  TLXJIT_CPU_ASSERT = 9,     /* an assertion failed; `op` names it, `at` says where */
  TLXJIT_CPU_INLINE = 10,    /* LLVM refused the inline text of `op` */
  TLXJIT_CPU_INTERNAL = 11,  /* a fault of the plug-in */
  TLXJIT_CPU_STEP = 12,      /* a loop's step below 1; `op` names the loop */
  TLXJIT_CPU_UNEVEN = 13,    /* a program ended with a ring, by its full barrier `op`, not as often drained as filled */
  TLXJIT_CPU_BAD_IMAGE = 14, /* the bytes are no image of a kernel */
};

struct tlxjit_cpu_failure {
  enum tlxjit_cpu_status status;
  uint32_t op; /* op number, UINT32_MAX when none */
  char message[512];
  struct tlxjit_cpu_place at; /* of an assertion; of a ring the program */
  struct tlxjit_cpu_blocked blocked[64];
  uint32_t blocked_count; /* how many there were; at most 64 are listed */
};

/* How a kernel is compiled. */
struct tlxjit_cpu_options {
  const char* without_features; /* names of LLVM, separated by commas: not used though the host has them; or null */
  /* Told the image of the kernel that was compiled: what `load` makes it of again. The bytes are the plug-in's, and
   * gone when it returns. Throws nothing; null: nobody wants it. */
  void (*image)(void* data, const char* bytes, size_t size);
  void* image_data;
  /* Told the LLVM IR that code is generated of, as text; else as above. */
  void (*llvm_ir)(void* data, const char* text, size_t size);
  void* llvm_ir_data;
};

struct tlxjit_cpu_backend {
  uint32_t size;            /* of this struct */
  uint32_t version;         /* TLXJIT_CPU_PLUGIN_VERSION */
  const char* source_hash;  /* of the sources under src/ir and backends/cpu, compared on load */
  const char* cpu_name;     /* the host CPU that code is made for; what it may use is said by */
  const char* cpu_features; /* `+avx2,-avx512f,…`: all that LLVM knows of, as the system lets programs use it */
  /* What code calls besides that which the sources say: `nothing`, or the sanitizers that it is instrumented for. */
  const char* links;
  enum tlxjit_cpu_status (*compile)(const char* text, size_t length, const struct tlxjit_cpu_options* options,
                                    struct tlxjit_cpu_kernel** kernel, struct tlxjit_cpu_failure* failure);
  /* Makes the kernel of an image that a plug-in of these sources and `links` gave for this CPU and these features,
   * whichever LLVM is in it. No code is generated. Sizes and counts are checked; the object file in it is not: LLVM
   * trusts it, and its code is executed. */
  enum tlxjit_cpu_status (*load)(const char* image, size_t size, struct tlxjit_cpu_kernel** kernel,
                                 struct tlxjit_cpu_failure* failure);
  uint64_t (*generations)(void); /* how often code was generated in this process */
  void (*destroy)(struct tlxjit_cpu_kernel* kernel);
  enum tlxjit_cpu_status (*launch)(struct tlxjit_cpu_kernel* kernel, const struct tlxjit_cpu_launch* launch,
                                   struct tlxjit_cpu_failure* failure);
};
