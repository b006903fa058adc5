#pragma once
#include "leap_cuda.h"
