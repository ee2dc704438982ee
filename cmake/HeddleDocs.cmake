# heddle-docs: pages about dialects and passes, made from their TableGen definitions, in docs/ of the build folder. scripts/update-docs.sh copies
# them to docs/ of the repository.

set(heddle_doc_pages)

# heddle_add_doc(page definitions generator-option...)
function(heddle_add_doc page definitions)
  set(output ${PROJECT_BINARY_DIR}/docs/${page}.md)
  cmake_path(GET definitions PARENT_PATH folder)
  cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  file(GLOB inputs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/dialects/*/*.td)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/docs
    COMMAND ${MLIR_TABLEGEN_EXE} ${ARGN} ${PROJECT_SOURCE_DIR}/${definitions} -o ${output}
            -I ${PROJECT_SOURCE_DIR}/include -I ${PROJECT_SOURCE_DIR}/dialects/Attn -I ${PROJECT_SOURCE_DIR}/dialects/Tile -I ${PROJECT_SOURCE_DIR}/dialects/TileNV
            -I ${LLVM_INCLUDE_DIRS}
    DEPENDS ${PROJECT_SOURCE_DIR}/${definitions} ${inputs}
    COMMENT "Writing docs/${page}.md"
    VERBATIM)
  set(heddle_doc_pages ${heddle_doc_pages} ${output} PARENT_SCOPE)
endfunction()

heddle_add_doc(attn-dialect dialects/Attn/AttnOps.td -gen-dialect-doc -dialect=attn)
heddle_add_doc(tile-dialect dialects/Tile/TileOps.td -gen-dialect-doc -dialect=tile)
heddle_add_doc(tile-nv-dialect dialects/TileNV/TileNVOps.td -gen-dialect-doc -dialect=tile_nv)
heddle_add_doc(attn-to-linalg-passes include/heddle/Conversion/AttnToLinalg/Passes.td -gen-pass-doc)
heddle_add_doc(attn-to-tile-passes include/heddle/Conversion/AttnToTile/Passes.td -gen-pass-doc)
heddle_add_doc(linalg-to-tile-passes include/heddle/Conversion/LinalgToTile/Passes.td -gen-pass-doc)
heddle_add_doc(linalg-to-vector-passes include/heddle/Conversion/LinalgToVector/Passes.td -gen-pass-doc)
heddle_add_doc(nvvm-to-simt-passes include/heddle/Conversion/NVVMToSIMT/Passes.td -gen-pass-doc)
heddle_add_doc(tile-to-nvvm-passes include/heddle/Conversion/TileToNVVM/Passes.td -gen-pass-doc)
heddle_add_doc(tile-to-vector-passes include/heddle/Conversion/TileToVector/Passes.td -gen-pass-doc)
heddle_add_doc(tile-transforms-passes include/heddle/Transforms/Tile/Passes.td -gen-pass-doc)
heddle_add_doc(transforms-passes include/heddle/Transforms/Passes.td -gen-pass-doc)
add_custom_target(heddle-docs ALL DEPENDS ${heddle_doc_pages})
