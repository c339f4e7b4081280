"""all-MiniLM-L6-v2 in ONNX Runtime, one thread per session."""

import numpy as np
import onnxruntime


class Model:
    """A session of an ONNX file. It may be used by several threads."""

    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def embed(self, ids):
        """The vector of a text's token ids: the mean over all tokens, scaled to length 1."""
        tokens = np.array([ids], np.int64)
        inputs = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        hidden = self.session.run(None, {i.name: inputs[i.name] for i in self.session.get_inputs()})[0][0]
        mean = hidden.mean(0) if hidden.ndim == 2 else hidden
        return mean / np.linalg.norm(mean)
