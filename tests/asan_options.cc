// Options of AddressSanitizer for each program of a sanitizer build. Protobuf's RepeatedField marks
// the elements that it holds inline and does not clear the marks when it is destroyed; the runtime
// of g++ 12 stops at the next object in that memory.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_container_overflow=0"; }
