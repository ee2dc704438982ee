# The module runtime as bytes of this library.
    .section .rodata
    .global heddle_runtime_object_begin
    .global heddle_runtime_object_end
    .hidden heddle_runtime_object_begin
    .hidden heddle_runtime_object_end
    .balign 16
heddle_runtime_object_begin:
    .incbin HEDDLE_RUNTIME_OBJECT_PATH
heddle_runtime_object_end:
    .byte 0
    .section .note.GNU-stack,"",@progbits
