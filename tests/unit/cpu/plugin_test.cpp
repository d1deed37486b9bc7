// tests/unit/cpu/plugin_test.cpp
#include "tests/unit/cpu/plugin_p.h"
