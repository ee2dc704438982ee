/*===- CompileFromC.c - uses the compiler from C99 ----------------------------===*/

#include "heddle-c/Heddle.h"
#include "mlir-c/Diagnostics.h"
#include <string.h>

/* Called by the C++ tests; fails to compile if the header is not C. Returns 0 for success, 1 if the
 * text can't be parsed, 2 if the module can't be compiled. Diagnostics go to `message`. */
int heddleTestCompileFromC(const char *text, const char *output, const char *variant, char *message,
                           size_t size);

struct Message {
  char *text;
  size_t size;
};

static void append(MlirStringRef part, void *data) {
  struct Message *message = data;
  size_t used = strlen(message->text);
  size_t length = part.length < message->size - used - 1 ? part.length : message->size - used - 1;
  memcpy(message->text + used, part.data, length);
  message->text[used + length] = 0;
}

static MlirLogicalResult keep(MlirDiagnostic diagnostic, void *data) {
  mlirDiagnosticPrint(diagnostic, append, data);
  return mlirLogicalResultSuccess();
}

int heddleTestCompileFromC(const char *text, const char *output, const char *variant, char *message,
                           size_t size) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  heddleRegisterAllDialects(registry);
  MlirContext context = mlirContextCreateWithRegistry(registry, true);
  struct Message target;
  target.text = message;
  target.size = size;
  message[0] = 0;
  mlirContextAttachDiagnosticHandler(context, keep, &target, NULL);

  int result = 1;
  MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreateFromCString(text));
  if (!mlirModuleIsNull(module)) {
    HeddleCompileOptions options;
    MlirStringRef variants[1];
    memset(&options, 0, sizeof options);
    variants[0] = mlirStringRefCreateFromCString(variant);
    options.variants = variants;
    options.numVariants = 1;
    options.optLevel = 1;
    result = mlirLogicalResultIsSuccess(
                 heddleCompileModule(module, mlirStringRefCreateFromCString(output), &options))
                 ? 0
                 : 2;
    mlirModuleDestroy(module);
  }
  mlirContextDestroy(context);
  mlirDialectRegistryDestroy(registry);
  return result;
}
