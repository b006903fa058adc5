// CUDA C++ for a C++ compiler: what <cuda_runtime.h> declares. Compiled once, ahead of candidates.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cfloat>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "leap_cuda/half.h"
#include "leap_cuda/groups.h"
#include "leap_cuda/api.h"
#include "leap_cuda/atomics.h"
#include "leap_cuda/device.h"
#include "leap_cuda/math.h"
#include "leap_cuda/qualifiers.h"
#include "leap_cuda/vectors.h"
