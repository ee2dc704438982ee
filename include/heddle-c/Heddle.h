/*===- Heddle.h - C interface of the compiler ---------------------------------===
 *
 * Builds on MLIR's C interface (mlir-c/IR.h): make a context and a module with that, then compile the module here. What a
 * compiled module looks like to its caller is heddle/Runtime/heddle_runtime.h; that header needs neither MLIR nor this one.
 *
 *===--------------------------------------------------------------------------===*/

#ifndef HEDDLE_C_HEDDLE_H
#define HEDDLE_C_HEDDLE_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Handle of the attn dialect, for mlirDialectHandleInsertDialect and friends. */
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Attn, attn);

/* Adds Heddle's dialects, all of MLIR's dialects and the interface implementations that compiling needs. */
MLIR_CAPI_EXPORTED void heddleRegisterAllDialects(MlirDialectRegistry registry);

/* Makes Heddle's passes and pipelines known to textual pass pipelines, such as mlirOpPassManagerAddPipeline parses. */
MLIR_CAPI_EXPORTED void heddleRegisterAllPasses(void);

/* Fill it with zeros, then set what should differ. */
typedef struct HeddleCompileOptions {
  /* Name in the module's description; empty: the output file's stem. */
  MlirStringRef moduleName;
  /* CPU variants to hold, such as "avx2"; none: all that differ. */
  const MlirStringRef *variants;
  intptr_t numVariants;
  /* LLVM's optimisation level, 1 to 3; 0: the default, 2. */
  int optLevel;
  /* Do not write a C header beside the module. */
  bool omitHeader;
  /* Targets, such as "cpu", "sm_80" and "sim-sm_80"; none: "cpu". */
  const MlirStringRef *targets;
  intptr_t numTargets;
} HeddleCompileOptions;

/* Compiles a module of attn, linalg and func operations to a shared object at `outputPath`. The context must have been made with
 * the dialects of heddleRegisterAllDialects. The module stays as it is. Errors are diagnostics of its context, to
 * which mlirContextAttachDiagnosticHandler listens. `options` may be NULL. */
MLIR_CAPI_EXPORTED MlirLogicalResult heddleCompileModule(MlirModule module,
                                                         MlirStringRef outputPath,
                                                         const HeddleCompileOptions *options);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_HEDDLE_H */
