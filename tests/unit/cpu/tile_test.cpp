// tests/unit/cpu/tile_test.cpp
#include "tests/unit/cpu/plugin_p.h"
