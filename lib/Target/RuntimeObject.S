# The module runtime and the simulator as bytes of this library.
    .macro embed name, path
    .global \name\()_begin
    .global \name\()_end
    .hidden \name\()_begin
    .hidden \name\()_end
    .balign 16
\name\()_begin:
    .incbin "\path"
\name\()_end:
    .byte 0
    .endm

    .section .rodata
    embed heddle_runtime_object, HEDDLE_RUNTIME_OBJECT_PATH
    embed heddle_simulator_object, HEDDLE_SIMULATOR_OBJECT_PATH
    .section .note.GNU-stack,"",@progbits
