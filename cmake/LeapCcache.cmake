# Compile through ccache where it is installed. The sloppiness is for precompiled headers; paths are hashed relative to
# the checkout, so that a second checkout finds what the first one compiled.
find_program(LEAP_CCACHE ccache)
if(LEAP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${LEAP_CCACHE})
endif()
