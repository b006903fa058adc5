# Compile through ccache where it is installed; precompiled headers need the sloppiness.
find_program(LEAP_CCACHE ccache)
if(LEAP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${LEAP_CCACHE})
endif()
