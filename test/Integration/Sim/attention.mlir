// Attention on the CPU, by its formula, and as the kernel of sm_80 in the simulator, which finds nothing to report.
// REQUIRES: avx2
// RUN: rm -rf %t && mkdir %t
// RUN: heddle-compile %s --kernels=reference -o %t/reference.so
// RUN: heddle-compile %s --target=cpu,sim-sm_80 -o %t/m.so
// DEFINE: %{B} =
// DEFINE: %{L} =
// DEFINE: %{S} =
// DEFINE: %{same} = heddle-run %t/reference.so --entry gqa --random 5 --dim B=%{B} --dim L=%{L} --dim S=%{S} --output o=%t/o.npy && \
// DEFINE:   heddle-run %t/m.so --entry gqa --random 5 --dim B=%{B} --dim L=%{L} --dim S=%{S} --target=cpu --verify o=%t/o.npy --rtol 1e-3 && \
// DEFINE:   heddle-run %t/m.so --entry gqa --random 5 --dim B=%{B} --dim L=%{L} --dim S=%{S} --target=sim-sm_80 --verify o=%t/o.npy --rtol 1e-3

// Blocks with and without edges; more keys than queries; one of each; nothing.
// REDEFINE: %{B} = 1
// REDEFINE: %{L} = 128
// REDEFINE: %{S} = 128
// RUN: %{same}
// REDEFINE: %{B} = 2
// REDEFINE: %{L} = 77
// REDEFINE: %{S} = 203
// RUN: %{same}
// REDEFINE: %{B} = 3
// REDEFINE: %{L} = 1
// REDEFINE: %{S} = 1
// RUN: %{same}
// RUN: heddle-run %t/m.so --entry gqa --random 5 --dim B=0 --dim L=4 --dim S=4 --target=sim-sm_80
// RUN: heddle-run %t/m.so --entry gqa --random 5 --dim B=1 --dim L=0 --dim S=4 --target=sim-sm_80

// A transposed view works; what 16-byte accesses can't reach is refused, with what would work.
// DEFINE: %{call} = python3 %S/inputs/call_strided.py %t/m.so gqa
// RUN: %{call} sim-sm_80 q=1,40,4,64@10240,64,2560,1 k=1,40,2,64 v=1,40,2,64 o=1,40,4,64 | FileCheck %s --check-prefix=VIEW
// VIEW: status 0
// RUN: %{call} sim-sm_80 q=1,40,4,64@10400,260,65,1 k=1,40,2,64 v=1,40,2,64 o=1,40,4,64 | FileCheck %s --check-prefix=STRIDE
// STRIDE: status 1 gqa: kernel 'attention{{.*}}': 'q': stride of dimension 1 is 260 elements (520 bytes), expected a multiple of 8 elements (16 bytes), such as 264
// RUN: %{call} sim-sm_80 q=1,40,4,64 k=1,40,2,64+4 v=1,40,2,64 o=1,40,4,64 | FileCheck %s --check-prefix=ADDRESS
// ADDRESS: status 1 gqa: kernel 'attention{{.*}}': 'k': data address is 4 bytes past a multiple of 16, expected one aligned to 16 bytes
// RUN: %{call} cpu q=1,40,4,64@10400,260,65,1 k=1,40,2,64+4 v=1,40,2,64 o=1,40,4,64 | FileCheck %s --check-prefix=VIEW

// All tensors on one device, for which there is code.
// RUN: %{call} - q=1,40,4,64 k=1,40,2,64 v=1,40,2,64:1 o=1,40,4,64 | FileCheck %s --check-prefix=MIXED
// MIXED: status 1 gqa: argument 2 'v': is on CUDA device 1, expected the CPU (where argument 0 'q' is)
// RUN: %{call} - q=1,40,4,64:0 k=1,40,2,64:0 v=1,40,2,64:0 o=1,40,4,64:0 | FileCheck %s --check-prefix=DEVICE
// DEVICE: status 1 gqa: the tensors are on CUDA device 0, but the module has code for cpu, sim-sm_80
// RUN: %{call} sm_80 q=1,40,4,64 k=1,40,2,64 v=1,40,2,64 o=1,40,4,64 | FileCheck %s --check-prefix=TARGET
// TARGET: status 1 gqa: the context's target is 'sm_80', but the module has code for cpu, sim-sm_80

func.func @gqa(%q: tensor<?x?x4x64xf16> {heddle.name = "q", heddle.dims = ["B", "L", "", ""]},
    %k: tensor<?x?x2x64xf16> {heddle.name = "k", heddle.dims = ["B", "S", "", ""]},
    %v: tensor<?x?x2x64xf16> {heddle.name = "v", heddle.dims = ["B", "S", "", ""]}) -> (tensor<?x?x4x64xf16> {heddle.name = "o"}) {
  %o = attn.attention %q, %k, %v {causal} : (tensor<?x?x4x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16>) -> tensor<?x?x4x64xf16>
  return %o : tensor<?x?x4x64xf16>
}
