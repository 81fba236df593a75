"""Embedders: texts become vectors on ONNX Runtime; PyTorch is needed only to export a model."""
