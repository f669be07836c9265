"""How text becomes vectors.

opening, loading                                a model's embedder, ready to use; and one that stands in until it is
onnx, sentence_transformers                     the two embedders; `devices` tells on what they compute
architecture, graph, onnx_format, protobuf      from a model's weights to the graph that ONNX Runtime runs
description                                     what there is to know of any other model without loading it
config_files, modules, prompts, weights, tokenizing    what a model's files hold
bundled_model                                   the model that kb fetches itself
"""

from kb.engine.embedding.bundled_model import bundled_model_folder, fetch_bundled_model
from kb.engine.embedding.loading import LoadingEmbedder
from kb.engine.embedding.opening import open_embedder, read_model

__all__ = ["LoadingEmbedder", "bundled_model_folder", "fetch_bundled_model", "open_embedder", "read_model"]
