//===- ImportMessages.h - what a reader has to say --------------*- C++ -*-===//
//
// The readers of foreign files are plain C++ and know no MLIR context. They
// collect what is wrong here, all of it, and the importer turns the messages
// into diagnostics.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_IMPORT_IMPORTMESSAGES_H
#define HEDDLE_IMPORT_IMPORTMESSAGES_H

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

/// A place in a file. Line and column count from 1; 0 stands for the file as a
/// whole. An empty file name stands for the file being read (config.json).
struct ImportPosition {
  unsigned line = 0;
  unsigned column = 0;
  std::string file;
};

struct ImportMessage {
  bool isError;
  ImportPosition position;
  std::string text;
};

class ImportMessages {
public:
  void error(ImportPosition position, std::string text) {
    all.push_back({true, std::move(position), std::move(text)});
    failed = true;
  }
  /// An error in the form "<file>[:<line>:<column>]: <text>", where the file's
  /// name has at least `shortestName` bytes.
  void locatedError(const std::string &message, size_t shortestName);

  void warning(ImportPosition position, std::string text) {
    all.push_back({false, std::move(position), std::move(text)});
  }

  bool hasErrors() const { return failed; }
  const std::vector<ImportMessage> &messages() const { return all; }

private:
  std::vector<ImportMessage> all;
  bool failed = false;
};

} // namespace heddle

#endif // HEDDLE_IMPORT_IMPORTMESSAGES_H
