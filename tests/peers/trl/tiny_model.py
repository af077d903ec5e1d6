"""A tiny language model with random weights that writes given replies, and its tokenizer.

It stands for the model that is trained. All else is TRL's: prompts, generation, the loop that calls
tools, rewards and the update of the weights.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl.chat_template_utils import qwen3_chat_template

START, END, PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
CERTAIN = 50.0


def tiny_tokenizer(texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """Train a tokenizer on some texts; it can write any other text too."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        special_tokens=[PAD, START, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator([qwen3_chat_template, *texts], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=[START],
        chat_template=qwen3_chat_template,
    )


def tool_call(name: str, **arguments: object) -> str:
    """Return a call of a tool as models with Qwen's template write it."""
    call = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{call}\n</tool_call>"


class ScriptedModel(Qwen3ForCausalLM):
    """Prefers the tokens of the n-th text as its n-th reply; after them it says "Done.".

    Where a reply is a list of texts, they are equally likely, as far as the weights say so.
    """

    def follow(
        self, tokenizer: PreTrainedTokenizerFast, replies: Sequence[str | list[str]]
    ) -> ScriptedModel:
        """Set the replies of every rollout."""
        encode = tokenizer.encode
        self.replies = [
            [encode(f"{text}{END}") for text in ([reply] if isinstance(reply, str) else reply)]
            for reply in (*replies, "Done.")
        ]
        self.header = encode(f"{START}assistant\n")
        return self

    def prepare_inputs_for_generation(self, input_ids, **kwargs):
        """Keep the whole text, of which the network gets only what is not in its cache."""
        self.whole = input_ids
        return super().prepare_inputs_for_generation(input_ids, **kwargs)

    def forward(self, input_ids=None, attention_mask=None, **kwargs):
        """Run the random network and add what the script prefers."""
        outputs = super().forward(input_ids, attention_mask, **kwargs)
        length = outputs.logits.shape[1]
        texts = self.whole if input_ids.shape[1] == 1 else input_ids
        for row, ids in enumerate(texts.tolist()):
            wanted = self.wanted(ids)[-length:]
            pairs = [(n, token) for n, tokens in enumerate(wanted) for token in tokens]
            if pairs:
                bias = torch.zeros_like(outputs.logits[row])
                bias[tuple(zip(*pairs, strict=True))] = CERTAIN
                outputs.logits = outputs.logits.clone()
                outputs.logits[row] = outputs.logits[row] + bias
        return outputs

    def wanted(self, ids: list[int]) -> list[set[int]]:
        """Return the tokens that may follow each token; none where the script says nothing."""
        width = len(self.header)
        starts = [n + width for n in range(len(ids)) if ids[n : n + width] == self.header]
        following: list[set[int]] = [set() for _ in ids]
        for turn, start in enumerate(starts):
            for reply in self.replies[min(turn, len(self.replies) - 1)]:
                for n, token in enumerate(reply):
                    if start - 1 + n < len(ids) and ids[start : start + n] == reply[:n]:
                        following[start - 1 + n].add(token)
        return following


def tiny_model(
    tokenizer: PreTrainedTokenizerFast, replies: Sequence[str | list[str]]
) -> ScriptedModel:
    """Make a model with random weights that gives these replies."""
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=16384,
        tie_word_embeddings=False,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return ScriptedModel(config).follow(tokenizer, replies)
