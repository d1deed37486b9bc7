// backends/cpu/exit.cpp — what happens to LLVM's static objects when the process ends: nothing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A compile that was left behind past its time limit may still run when static destructors do, and LLVM's passes use
// static objects. The destructors of all code in the plug-in are registered here, the definition that the linker finds
// first, and are left out: the plug-in is never unloaded, and a process that ends needs none of them.
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
