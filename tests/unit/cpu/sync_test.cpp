// tests/unit/cpu/sync_test.cpp
#include "tests/unit/cpu/plugin_p.h"
