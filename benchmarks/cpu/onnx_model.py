"""Small ONNX models for ONNX Runtime, bound to the memory of PyTorch tensors."""
import numpy
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper

TYPES = {torch.float32: TensorProto.FLOAT, torch.int32: TensorProto.INT32}
NO_BF16 = "has no bf16 kernels on CPUs"


class OnnxModel:
    """A graph with the given nodes. A call runs it and returns its first output; `results` makes the tensors of outputs."""

    def __init__(self, nodes, inputs, weights, results, threads):
        describe = lambda name, tensor: helper.make_tensor_value_info(name, TYPES[tensor.dtype], list(tensor.shape))
        constants = [helper.make_tensor(name, TYPES[w.dtype], list(w.shape), w.contiguous().numpy().tobytes(), raw=True)
                     for name, w in weights.items()]
        graph = helper.make_graph(nodes, "row", [describe(*pair) for pair in inputs.items()],
                                  [describe(*pair) for pair in results.items()], constants)
        model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3
        self._session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self._binding = self._session.io_binding()
        self._keep = [inputs, results]
        for bind, tensors in ((self._binding.bind_input, inputs), (self._binding.bind_output, results)):
            for name, tensor in tensors.items():
                if not tensor.is_contiguous():
                    raise ValueError(f"{name} is not contiguous")
                bind(name, "cpu", 0, numpy.dtype(str(tensor.dtype).removeprefix("torch.")), list(tensor.shape), tensor.data_ptr())
        self._first = next(iter(results.values()))

    def __call__(self):
        self._session.run_with_iobinding(self._binding)
        return self._first


def node(op, inputs, outputs, domain="", **attributes):
    return helper.make_node(op, inputs, outputs, domain=domain, **attributes)


def fused(op, inputs, outputs, **attributes):
    """An operator of ONNX Runtime's own."""
    return node(op, inputs, outputs, domain="com.microsoft", **attributes)


VERSION = onnxruntime.__version__
