//===- EntryNames.cpp - names that C entries may have ---------------------===//
//
// Entries are linked together with kernels that call the C library. A function of the same name inside the module would be called in
// its place, so a library function's name is refused, not only what a C compiler would refuse.
//
//===----------------------------------------------------------------------===//

#include "EntryNames.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;

namespace heddle {
namespace {

/// Keywords of C and C++, and names that their programs or DLPack's header take.
bool isKeyword(StringRef name) {
  static const llvm::StringSet<> keywords = {"alignas",      "alignof",
                                             "and",          "and_eq",
                                             "asm",          "auto",
                                             "bitand",       "bitor",
                                             "bool",         "break",
                                             "case",         "catch",
                                             "char",         "class",
                                             "co_await",     "co_return",
                                             "co_yield",     "compl",
                                             "concept",      "const",
                                             "consteval",    "constexpr",
                                             "constinit",    "const_cast",
                                             "continue",     "decltype",
                                             "default",      "delete",
                                             "do",           "double",
                                             "else",         "enum",
                                             "explicit",     "export",
                                             "extern",       "false",
                                             "float",        "for",
                                             "friend",       "goto",
                                             "if",           "inline",
                                             "int",          "long",
                                             "main",         "mutable",
                                             "namespace",    "new",
                                             "noexcept",     "not",
                                             "not_eq",       "nullptr",
                                             "operator",     "or",
                                             "or_eq",        "private",
                                             "protected",    "public",
                                             "register",     "requires",
                                             "restrict",     "return",
                                             "short",        "signed",
                                             "sizeof",       "static",
                                             "struct",       "switch",
                                             "template",     "this",
                                             "thread_local", "throw",
                                             "true",         "try",
                                             "typedef",      "typeid",
                                             "typename",     "union",
                                             "unsigned",     "using",
                                             "virtual",      "void",
                                             "volatile",     "wchar_t",
                                             "while",        "xor",
                                             "xor_eq",       "static_assert",
                                             "static_cast",  "dynamic_cast",
                                             "typeof",       "linux",
                                             "unix",         "reinterpret_cast"};
  return keywords.contains(name);
}

/// What the module's own runtime calls and LLVM has no entry for.
bool isSystemFunction(StringRef name) {
  static const llvm::StringSet<> functions = {"abort", "getpid", "sigfillset", "sysconf",
                                              "syscall"};
  return functions.contains(name) || name.starts_with("pthread_") || name.starts_with("sched_") ||
         name.starts_with("sem_");
}

bool isIdentifier(StringRef name) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  return !name.empty() && !llvm::isDigit(name.front()) && llvm::all_of(name, isPart);
}

/// Why `name` can't be an entry, or null.
const char *problemWith(StringRef name) {
  if (!isIdentifier(name))
    return "is not a C identifier";
  if (isKeyword(name))
    return "is a word of C or C++";
  if (name.starts_with("heddle_"))
    return "starts with heddle_, which the runtime's functions do";
  if (name.size() > 1 && name[0] == '_' && (name[1] == '_' || llvm::isUpper(name[1])))
    return "starts like the names that C reserves for compilers";
  llvm::TargetLibraryInfoImpl library(llvm::Triple("x86_64-unknown-linux-gnu"));
  llvm::LibFunc function;
  if (library.getLibFunc(name, function) || isSystemFunction(name))
    return "is a function of the C library";
  return nullptr;
}

} // namespace

LogicalResult verifyEntryNames(ArrayRef<func::FuncOp> entries) {
  llvm::StringSet<> names;
  for (func::FuncOp entry : entries)
    names.insert(entry.getName());
  for (func::FuncOp entry : entries) {
    StringRef name = entry.getName();
    if (const char *problem = problemWith(name))
      return entry.emitError() << "entry '" << name << "' can't be a C function: the name "
                               << problem;
    if (names.contains((name + "_workspace").str()))
      return entry.emitError() << "entry '" << name << "' needs the name '" << name
                               << "_workspace', which another entry has";
  }
  return success();
}

} // namespace heddle
