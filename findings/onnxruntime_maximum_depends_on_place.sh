#!/usr/bin/env bash
# ONNX Runtime 1.32.0, ONNX 1.23.2, CPU: operators of a model on three numbers of which one is NaN.
#
# Question: NaN stands first, in the middle or last, the others are 1 and 2. What do ReduceMax, ReduceMin, ArgMax, MaxPool, TopK, Relu,
#           ThresholdedRelu, and conversions to int8 and 8-bit quantized numbers give?
# Guess:    NaN (its index for ArgMax) wherever it stands, as in PyTorch; 0 after a conversion to integers.
# Real:     ReduceMax and ReduceMin are NaN if it stands first, else 2 and 1; ArgMax finds it only in the first place; MaxPool never has
#           it; TopK puts it first; Relu keeps it and ThresholdedRelu makes 0 of it. As int8 it is 0, quantized the lowest number.
# Matters:  an exported model answers with finite numbers where the trained one says NaN, and a check by ReduceMax in the graph sees one
#           NaN of three.
. "$(dirname "$0")/lib.sh"
environment onnxruntime onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
cat >"$work/program.py" <<'P'
import numpy as np, onnx, onnxruntime
from onnx import TensorProto, helper
def run(operator, *inputs, out=TensorProto.FLOAT, outputs=1, **attributes):
    names = [f"in{i}" for i in range(len(inputs))]
    results = [f"out{i}" for i in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(operator, names, results, **attributes)], "graph",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in zip(names, inputs)],
        [helper.make_tensor_value_info(n, t, None) for n, t in zip(results, [out, TensorProto.INT64])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip(names, inputs)))[0].tolist()
for x in [np.nan, 1, 2], [1, np.nan, 2], [2, 1, np.nan]:
    x = np.array(x, np.float32)
    print("input", x.tolist())
    for operator, inputs, attributes in [
        ("ReduceMax", [x], {"keepdims": 0}),
        ("ReduceMin", [x], {"keepdims": 0}),
        ("ArgMax", [x], {"keepdims": 0, "out": TensorProto.INT64}),
        ("MaxPool", [x.reshape(1, 1, 3)], {"kernel_shape": [3]}),
        ("TopK", [x, np.array([1])], {"outputs": 2}),
        ("Relu", [x], {}),
        ("ThresholdedRelu", [x], {"alpha": 0.5}),
        ("Cast", [x], {"to": TensorProto.INT8, "out": TensorProto.INT8}),
        ("QuantizeLinear", [x, np.array(0.1, np.float32), np.array(100, np.uint8)], {"out": TensorProto.UINT8}),
    ]:
        print(f"  {operator}: {run(operator, *inputs, **attributes)}")
P
"$python" -W ignore "$work/program.py" >"$work/seen" || exit 2
expect_output "$work/seen" <<'S'
input [nan, 1.0, 2.0]
  ReduceMax: nan
  ReduceMin: nan
  ArgMax: 0
  MaxPool: [[[2.0]]]
  TopK: [nan]
  Relu: [nan, 1.0, 2.0]
  ThresholdedRelu: [0.0, 1.0, 2.0]
  Cast: [0, 1, 2]
  QuantizeLinear: [0, 110, 120]
input [1.0, nan, 2.0]
  ReduceMax: 2.0
  ReduceMin: 1.0
  ArgMax: 2
  MaxPool: [[[2.0]]]
  TopK: [nan]
  Relu: [1.0, nan, 2.0]
  ThresholdedRelu: [1.0, 0.0, 2.0]
  Cast: [1, 0, 2]
  QuantizeLinear: [110, 0, 120]
input [2.0, 1.0, nan]
  ReduceMax: 2.0
  ReduceMin: 1.0
  ArgMax: 0
  MaxPool: [[[2.0]]]
  TopK: [nan]
  Relu: [2.0, 1.0, nan]
  ThresholdedRelu: [2.0, 1.0, 0.0]
  Cast: [2, 1, 0]
  QuantizeLinear: [120, 110, 0]
S
