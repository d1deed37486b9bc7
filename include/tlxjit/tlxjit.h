// include/tlxjit/tlxjit.h — all of tlxjit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tlxjit/builder/barrier.h"
#include "tlxjit/builder/buffer.h"
#include "tlxjit/builder/flag.h"
#include "tlxjit/builder/kernel.h"
#include "tlxjit/builder/math.h"
#include "tlxjit/builder/tile.h"
#include "tlxjit/core/error.h"
#include "tlxjit/core/location.h"
#include "tlxjit/core/numeric.h"
#include "tlxjit/core/result.h"
#include "tlxjit/ir/module.h"
#include "tlxjit/ir/text.h"
#include "tlxjit/ir/verify.h"
#include "tlxjit/kernels/attention.h"
#include "tlxjit/kernels/gemm.h"
#include "tlxjit/runtime/argument.h"
#include "tlxjit/runtime/device.h"
#include "tlxjit/runtime/engine.h"
#include "tlxjit/runtime/executable.h"
