# The reader of config.json. Included by the folder's CMakeLists.txt where HEDDLE_BUILD_FUZZERS is on.
add_executable(ConfigFuzzer ${CMAKE_CURRENT_LIST_DIR}/ConfigFuzzer.cpp)
target_link_libraries(ConfigFuzzer PRIVATE HeddleModelConfig)
target_compile_options(ConfigFuzzer PRIVATE -fsanitize=fuzzer)
target_link_options(ConfigFuzzer PRIVATE -fsanitize=fuzzer)
