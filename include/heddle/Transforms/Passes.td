//===- Passes.td - passes from tensors to an executable module -*- tablegen -*-===//

#ifndef HEDDLE_TRANSFORMS_PASSES_TD
#define HEDDLE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def InferEntryDimsPass : Pass<"infer-entry-dims", "mlir::ModuleOp"> {
  let summary = "Name the dimensions of every entry's arguments and results";
  let description = [{
    Input: public functions on ranked tensors whose bodies hold linalg, tensor, arith and scf ops (no attn ops but run-time checks).

    Finds which dimensions must be equal (loops of linalg ops, sizes of tensor ops, loop-carried tensors), and gives every class of
    equal dimensions one name: a name from `heddle.dims` where an argument has one, else d0, d1, ... A class that holds a static
    extent is that number.

    Output: every argument and result of an entry has `heddle.name` and a complete `heddle.dims` (a string per symbolic dimension, an
    integer per fixed one). The C entry compares dimensions of the same name at run time, so that code after this pass may rely on
    them being equal. A result dimension that no argument determines is an error, as are two extents for one dimension, a result whose
    type or dims differ from those of the argument that it updates, and attributes of the wrong kind.

    ```mlir
    func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> { // linalg.add of both
    // becomes
    func.func @f(%x: tensor<?x4xf32> {heddle.dims = ["d0", 4], heddle.name = "arg0"}, %y: tensor<?x4xf32> {heddle.dims = ["d0", 4], ...
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::tensor::TensorDialect"];
}

def MoveChecksFirstPass : Pass<"move-checks-first", "mlir::func::FuncOp"> {
  let summary = "Move run-time checks, with all that they read, to the function's start";
  let description = [{
    Input: `attn.require` and `attn.require_range` at the top level of a function, on tensors.
    Output: all checks are `attn.require`, stand first and in their old order, so that a call that fails one has written nothing. Of equal
    checks of the same values one is left.
    Range checks become loops that find the first element out of range, so that the message can name it.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::scf::SCFDialect", "mlir::tensor::TensorDialect"];
}

def AttnFormKernelsPass : Pass<"attn-form-kernels", "mlir::func::FuncOp"> {
  let summary = "Group operations on tensors, one kernel each";
  let description = [{
    Input: attn operations, and what stands between them, on tensors. Output: what one kernel is to compute is in an
    `scf.execute_region` with the attribute `heddle.kernel`, which attn-to-tile makes a dispatch of. Groups are formed by cost on
    `chip`; an operation that fuses with no other is a group of its own.

    `attn.attention` has kernels of its own and is left as it is; so is what no kernel computes:
    * data of f64, tensors of rank 0, and operands that are constants with different elements;
    * products whose weight is no matrix of f32, f16 or bf16, or that are added to something else than zeros; other reductions;
    * rotations of heads of unknown extent, and the frequencies, in f64, of scalings that depend on the length of the call;
    * linalg operations whose maps are no projected permutations, or with functions other than exp, exp2, log, tanh, erf, sin, cos, sqrt
      and floor; choices between tensors; `tensor.pad`, `tensor.insert_slice` and the like.

    ```mlir
    %n = attn.rms_norm %x, %w {eps = 1.0e-5 : f64} : tensor<?x96xf32>, tensor<96xf32>
    %q = linalg.contract ... ins(%n, %weight : ...) outs(%zeros : ...)
    %r = arith.addf %q, %bias : tensor<?x64xf32>
    // becomes
    %r = scf.execute_region -> tensor<?x64xf32> no_inline {
      // all three
      scf.yield %0 : tensor<?x64xf32>
    } {heddle.kernel = "projection"}
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_80\"", "GPU whose balance of FLOPs and bytes costs are weighed by">,
  ];
  let statistics = [Statistic<"numKernels", "kernels", "Groups formed">];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::linalg::LinalgDialect", "mlir::math::MathDialect", "mlir::scf::SCFDialect",
    "mlir::tensor::TensorDialect"
  ];
}

def FuseElementwisePass : Pass<"fuse-elementwise", "mlir::func::FuncOp"> {
  let summary = "Fuse elementwise linalg ops into elementwise users and into reductions";
  let description = [{
    Input and output: linalg on tensors. A producer with one use is fused into an elementwise or reducing `linalg.generic`; never
    into a contraction, whose body must stay a multiplication and an addition. Casts of a contraction's result fuse into the users, but with
    `keep-rounding` they stay, so that outline-kernels can put them into the product's kernel.
  }];
  let options = [
    Option<"keepRounding", "keep-rounding", "bool", "false", "what rounds a contraction's result stays an op of its own">,
  ];
  let dependentDialects = ["mlir::affine::AffineDialect", "mlir::linalg::LinalgDialect"];
}

def EntryToBuffersPass : Pass<"entry-to-buffers", "mlir::ModuleOp"> {
  let summary = "Give entries the signature of the C border: a context and buffers";
  let description = [{
    Input: public functions on tensors with complete names and dims (infer-entry-dims).
    Output: `func @entry(%ctx: !llvm.ptr, memrefs for the arguments, memrefs for the results that update no argument)`, no results.
    Weights and results are contiguous; other arguments have free strides but the innermost. A result with `heddle.updates` is
    materialised in its argument, after everything that still reads the argument's old content.
  }];
  let dependentDialects = [
    "mlir::bufferization::BufferizationDialect", "mlir::LLVM::LLVMDialect", "mlir::memref::MemRefDialect"
  ];
}

def SplitEmptyTensorsPass : Pass<"split-empty-tensors"> {
  let summary = "Give each use of an empty tensor one of its own";
  let description = [{
    Bufferization makes a buffer for each operation that writes to an empty tensor in any case; but it asks of each pair of them, with
    all that read their results, whether they conflict. Where all layers of a decoder share the empty tensor of their hidden states, that
    is time by the cube of their number.
    Output: no `tensor.empty` has more than one use.

    ```mlir
    %e = tensor.empty(%n) : tensor<?xf32>               %e = tensor.empty(%n) : tensor<?xf32>
    %a = linalg.exp ins(%x) outs(%e)              ->    %e1 = tensor.empty(%n) : tensor<?xf32>
    %b = linalg.log ins(%a) outs(%e)                    %a = linalg.exp ins(%x) outs(%e)
                                                        %b = linalg.log ins(%a) outs(%e1)
    ```
  }];
  let dependentDialects = ["mlir::tensor::TensorDialect"];
}

def BufferizeEntriesPass : Pass<"bufferize-entries", "mlir::ModuleOp"> {
  let summary = "Bufferize functions, and leave tile kernels as they are";
  let description = [{
    `one-shot-bufferize` of one function at a time, with unknown operations allowed. Run on the module, upstream's pass would turn the
    tiles of a `tile.kernel`, which are values, into buffers, too.
    Output: no operation on tensors that can be bufferized; `tile.dispatch` has become `tile.launch`.
  }];
  let dependentDialects = ["mlir::bufferization::BufferizationDialect", "mlir::memref::MemRefDialect"];
}

def OutlineKernelsPass : Pass<"outline-kernels", "mlir::ModuleOp"> {
  let summary = "Put linalg ops on buffers into private functions";
  let description = [{
    Input: linalg on buffers. `memref.copy` becomes `linalg.copy` first.
    Output: entries only allocate, make views and call kernels. A kernel holds one op. With `complete-products`, that of a product also has
    the op that fills its output with zeros and, if nothing else reads the output, the one that rounds it; the output is then a buffer
    of the kernel. Kernels know no extents and only the innermost stride. A kernel takes the context, the op's operands and the values that its body captures; constants move inside, so that equal ops of
    different layers become equal functions (removed by duplicate-function-elimination). An op on tensors, or of linalg, that is left
    over is an error.
  }];
  let options = [
    Option<"completeProducts", "complete-products", "bool", "false", "a product's kernel also fills its output with zeros and rounds it">,
  ];
  let dependentDialects = ["mlir::linalg::LinalgDialect", "mlir::LLVM::LLVMDialect"];
}

def GuardIntegerDivisionPass : Pass<"guard-integer-division", "mlir::ModuleOp"> {
  let summary = "Keep divisions of integers from ending the process";
  let description = [{
    A division by 0, and that of the least number by -1, is a signal on a CPU, and also where it stands in the padding of a tile. Output:
    the divisor is 1 then, so that x / 0 is x and x mod 0 is 0. Divisions by other constants stay, as do those of scalars of type index
    outside of linalg ops, which compute extents and addresses. Named linalg ops that divide become linalg.generic.

    Before:

    ```mlir
    %q = arith.divui %x, %y : i32
    ```

    After:

    ```mlir
    %traps = arith.cmpi eq, %y, %c0 : i32
    %divisor = arith.select %traps, %c1, %y : i32
    %q = arith.divui %x, %divisor : i32
    ```
  }];
  let statistics = [Statistic<"numGuarded", "guarded", "Number of divisions guarded">];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::linalg::LinalgDialect"];
}

def HoistKernelBuffersPass : Pass<"hoist-kernel-buffers", "mlir::ModuleOp"> {
  let summary = "Move the scratch buffers of kernels to their callers";
  let description = [{
    Input: private functions whose `memref.alloc`s have sizes computed from the shapes of their arguments.
    Output: no private function allocates; every caller allocates the buffer and passes it. Where an argument is a slice whose extents
    depend on data, the buffer is as large as the whole would need it.
  }];
  let dependentDialects = ["mlir::memref::MemRefDialect"];
}

def PlanWorkspacePass : Pass<"plan-workspace", "mlir::ModuleOp"> {
  let summary = "Place all buffers of an entry in one workspace that the caller gives";
  let description = [{
    Input: entries whose `memref.alloc`s have sizes computed from argument shapes.

    Buffers whose sizes have the same symbolic part (B * L, say) form a group; inside a group buffers that are never alive together
    share bytes (first fit by liveness in units of the symbolic part). Groups follow each other. Every buffer is 64-byte aligned.

    Output: no entry allocates; each has one more argument, the workspace `memref<?xi8>`, and a companion `@<entry>.workspace` with the
    entry's other arguments returns the bytes needed, or 2^63 - 1 where they are more than 2^62. A size that depends on data is an error.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::memref::MemRefDialect"];
}

def ExpandTranscendentalsPass : Pass<"expand-transcendentals", "mlir::func::FuncOp"> {
  let summary = "Expand exp, exp2 and tanh of f32 into arithmetic that vectorises";
  let description = [{
    `math.exp`, `math.exp2`, `math.tanh` on f32 and vectors of f32 become a range reduction and a polynomial, accurate to 2 ulp, right
    for infinities, NaN and results below the smallest normal number (rounded to zero). Other types and functions stay, to become calls of libm.

    `math.exp2` with the flag `afn`, for results that are rounded to 16 bits, has a relative error of at most 1.0e-4.
  }];
  let options = [Option<"scalef", "scalef", "bool", "false",
                        "vector<16xf32>: AVX-512's instructions for the fraction and for powers of two">];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::LLVM::LLVMDialect", "mlir::math::MathDialect"];
}

def OutlineTasksPass : Pass<"outline-tasks", "mlir::ModuleOp"> {
  let summary = "Turn loops over tasks into functions that the thread pool calls";
  let description = [{
    Input: `scf.forall` loops without results in functions whose first argument is the context.
    Output: each is a call of `heddle_rt_parallel_for` with an outlined `llvm.func @..(ptr data, i64 begin, i64 end)`; captured
    values travel in a struct on the caller's stack, and stack buffers of a task move to the outlined function's entry.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::scf::SCFDialect"];
}

def ShareLoopsPass : Pass<"share-loops", "mlir::ModuleOp"> {
  let summary = "Make one function of the loops that a task has several times";
  let description = [{
    Input: outlined tasks, `llvm.func` with structured loops.
    Output: `scf.for` ops with at most four results that are equal, but for the values that they take from outside and for sizes of
    memrefs with equal strides, are calls of one `func.func @<task>_loop_<n>`. The largest are taken first. Since a call costs AMX's
    matrix tiles their configuration, tasks with some share only loops that have none, run once for an item, and no tile lives across.
  }];
  let options = [
    Option<"leastOps", "least-ops", "unsigned", "32", "operations of the smallest loop that becomes a function">,
  ];
  let dependentDialects = ["mlir::func::FuncDialect", "mlir::LLVM::LLVMDialect", "mlir::memref::MemRefDialect"];
}

def LowerRuntimeChecksPass : Pass<"lower-runtime-checks", "mlir::ModuleOp"> {
  let summary = "Make entries return a status, and checks return early with a message";
  let description = [{
    Input: entries without results, with `attn.require` ops at their top level.
    Output: entries return i32, 0 for success; a failed check calls `heddle_rt_fail` and returns its status.
  }];
  let dependentDialects = ["mlir::cf::ControlFlowDialect", "mlir::LLVM::LLVMDialect"];
}

def DropDataChecksPass : Pass<"drop-data-checks", "mlir::func::FuncOp"> {
  let summary = "Leave out the checks that read elements of tensors";
  let description = [{
    For targets where tensors are in the memory of a device: the host must neither read them nor wait for who writes them.
    Output: the `attn.require` ops that are left, and what they use, read no memory. Kernels stay inside their buffers whatever the
    dropped checks would have found.
  }];
  let statistics = [Statistic<"numDropped", "dropped", "Number of checks dropped">];
}

def VerifyDeviceEntriesPass : Pass<"verify-device-entries", "mlir::ModuleOp"> {
  let summary = "Check that all computing of the entries is in kernels of the tile dialect";
  let description = [{
    Input: entries as outline-kernels leaves them. A call of a private function, which holds an op that no kernel was built for, is an
    error at that op; so is, unless the tensors are in the host's memory, what reads or writes a buffer.
  }];
  let options = [
    Option<"hostMemory", "host-memory", "bool", "false", "the host can read tensors: kernels are simulated">,
  ];
}

def UploadConstantsPass : Pass<"upload-constants", "mlir::ModuleOp"> {
  let summary = "Turn constant buffers of entries into copies in the device's memory";
  let description = [{
    Input: entries that return a status (lower-runtime-checks), for a CUDA device. Output: no entry uses `memref.get_global`; at its
    start it asks the runtime for the address of each constant on the device, where the first call in a CUDA context copies it, and
    returns early if that fails.

    ```mlir
    %t = memref.get_global @table : memref<2xf32>
    // becomes
    %status = llvm.call @heddle_rt_find_constant(%ctx, %data, %bytes, %places, %entry, %slot) : (...) -> i32
    cf.cond_br %failed, ^return, ^rest
    ^rest:
    %address = llvm.load %slot : !llvm.ptr -> !llvm.ptr
    %t = builtin.unrealized_conversion_cast ... : !llvm.struct<...> to memref<2xf32>
    ```
  }];
  let statistics = [Statistic<"numUses", "uses", "Uses of constants replaced">];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::cf::ControlFlowDialect", "mlir::LLVM::LLVMDialect", "mlir::memref::MemRefDialect"
  ];
}

def LowerGPULaunchesPass : Pass<"lower-gpu-launches", "mlir::ModuleOp"> {
  let summary = "Turn launches into calls of the module runtime";
  let description = [{
    Input: entries that return a status (lower-runtime-checks), with `tile_nv.launch` ops at their top level, beside the kernels'
    modules with their attributes `tile_nv.chip`, `threads`, `shared_bytes`, `alignments` and `written`.

    Output: each launch stores the kernel's parameters on the stack, calls `heddle_rt_launch` and returns early if that fails. Each
    kernel `k` has a constant `@k.launch` that describes it and refers to the symbol `k.image`, or `heddle_sim_kernel.k` where it is
    simulated; defining these is left to who compiles the kernel.
  }];
  let options = [
    Option<"simulated", "simulated", "bool", "false", "kernels are native code of the simulator">,
  ];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::cf::ControlFlowDialect", "mlir::LLVM::LLVMDialect", "mlir::memref::MemRefDialect"
  ];
}

def EmitEntryThunksPass : Pass<"emit-entry-thunks", "mlir::ModuleOp"> {
  let summary = "Emit the functions that the C entries call, one per entry and variant";
  let description = [{
    Input: entries `@f(ctx, memrefs, workspace) -> i32` and `@f.workspace(ctx, memrefs) -> index`.
    Output: `llvm.func @f.<variant>(ptr ctx, ptr descriptors, ptr workspace, i64 bytes) -> i32` and
    `@f.workspace.<variant>(ptr ctx, ptr descriptors) -> i64`, which read memref descriptors from the words that
    `heddle_rt_bind` wrote; all other functions become private. LLVM inlines `@f` and `@f.workspace` there, and optimises only tasks: the
    rest runs once a call.
  }];
  let options = [
    Option<"variant", "variant", "std::string", "\"generic\"", "suffix of the emitted symbols">,
  ];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def EmulateAMXPass : Pass<"emulate-amx", "mlir::ModuleOp"> {
  let summary = "Rewrite operations on matrix tiles to vectors, for tests on CPUs without AMX";
  let description = [{
    Input: functions with `amx.tile_zero`, `tile_load`, `tile_store` and `tile_mulf` of bf16, tiles carried by `scf` loops, no strides beside
    those of the buffers. Output: no operation of the `amx` dialect; a tile is a vector of two dimensions. Results have the bits of the
    instructions: the order of sums is that of TDPBF16PS, and denormal numbers count as zeros.

    ```mlir
    %d = amx.tile_mulf %a, %b, %c : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
    // becomes
    scf.for %m = ... { scf.for %pair = ... iter_args(%even, %odd) { vector.fma ... } arith.addf ... }
    ```
  }];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"
  ];
}

#endif // HEDDLE_TRANSFORMS_PASSES_TD
