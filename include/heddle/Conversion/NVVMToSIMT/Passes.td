//===- Passes.td - GPU kernels to code for the simulator ------*- tablegen -*-===//

#ifndef HEDDLE_CONVERSION_NVVMTOSIMT_PASSES_TD
#define HEDDLE_CONVERSION_NVVMTOSIMT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertNVVMToSIMTPass : Pass<"convert-nvvm-to-simt", "mlir::ModuleOp"> {
  let summary = "Turn GPU kernels into host functions that call the simulator";
  let description = [{
    Input: functions with `nvvm.kernel`, in the module or in modules nested in it, made of ops of the llvm and nvvm dialects.

    Each kernel becomes a host function with the signature of `heddle_sim_function` (heddle/Simulator/Simulator.h):

    * What a GPU thread does to global or shared memory or together with other threads is a call of the simulator
      (heddle/Simulator/Device.h), with the operation's number. Accesses are made in the pieces that a GPU makes: as wide as size and
      alignment allow, at most 16 bytes.
    * Pointers to shared memory are 32-bit offsets, pointers to global memory are host pointers. `@heddle_shared` is the first byte of
      the CTA's shared memory.
    * Arithmetic stays. f32 to bf16 becomes integer arithmetic that rounds to nearest even. Moves by inline assembly, which only hide a
      value from the optimiser, disappear.
    * Kernel parameters are read from an array of their addresses.

    Beside it stands an exported constant `heddle_sim_kernel.<name>` of the type `heddle_sim_kernel`. It names each operation, as in
    "nvvm.mma.sync at attention.mlir:40:7", from the operations' locations.

    Output: no op of the nvvm dialect and no address space is left in these functions. An op whose meaning on a GPU is not known here is
    an error.

    ```mlir
    llvm.func @copy(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %i = nvvm.read.ptx.sreg.tid.x : i32
      %p = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %v = llvm.load %p : !llvm.ptr<1> -> f32
      ...
    // becomes
    llvm.func internal @copy(%self: !llvm.ptr, %args: !llvm.ptr) {
      %0 = llvm.load %args : !llvm.ptr -> !llvm.ptr
      %x = llvm.load %0 : !llvm.ptr -> !llvm.ptr
      %i = llvm.call @heddle_sim_register(%self, %c0) : (!llvm.ptr, i32) -> i32
      %p = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %a = llvm.ptrtoint %p : !llvm.ptr to i64
      llvm.call @heddle_sim_load(%self, %op, %global, %a, %c4, %slot) : (!llvm.ptr, i32, i32, i64, i32, !llvm.ptr) -> ()
      %v = llvm.load %slot : !llvm.ptr -> f32
      ...
    ```
  }];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "Kernels converted">,
    Statistic<"numOperations", "num-operations", "Operations that call the simulator">,
  ];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect"];
}

#endif // HEDDLE_CONVERSION_NVVMTOSIMT_PASSES_TD
