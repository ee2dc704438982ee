//===- FatBinary.cpp - one image for several chips ------------------------===//

#include "heddle/Target/FatBinary.h"

#include <deque>

namespace heddle {

llvm::Expected<std::string> buildFatBinary(const CUDATools &tools, llvm::ArrayRef<ChipCode> codes) {
  std::deque<TemporaryFile> inputs;
  TemporaryFile output;
  if (llvm::Error error = output.create("fatbin"))
    return error;
  std::vector<std::string> arguments{"-64", "--create=" + output.getPath().str()};
  for (const ChipCode &code : codes) {
    TemporaryFile &input = inputs.emplace_back();
    if (llvm::Error error = input.create(code.isPTX ? "ptx" : "cubin", code.code))
      return error;
    arguments.push_back((llvm::Twine("--image3=kind=") + (code.isPTX ? "ptx" : "elf") + ",sm=" +
                         code.chip.drop_front(sizeof("sm_") - 1) + ",file=" + input.getPath())
                            .str());
  }
  llvm::Expected<std::string> text = runTool(tools.fatbinary, std::move(arguments));
  if (!text)
    return llvm::createStringError("fatbinary failed: " + llvm::toString(text.takeError()));
  return output.readOutputOf("fatbinary");
}

llvm::Expected<std::string> disassemble(const CUDATools &tools, llvm::StringRef cubin) {
  TemporaryFile input;
  if (llvm::Error error = input.create("cubin", cubin))
    return error;
  llvm::Expected<std::string> text = runTool(tools.nvdisasm, {"-c", input.getPath().str()});
  if (!text)
    return llvm::createStringError("nvdisasm failed: " + llvm::toString(text.takeError()));
  return text;
}

} // namespace heddle
