// tests/unit/cpu/copy_test.cpp
#include "tests/unit/cpu/plugin_p.h"
