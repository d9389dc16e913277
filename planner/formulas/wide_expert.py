"""Units whose experts lie on more GPUs than a node has: stages by published kernel figures, joined by one schedule.

Attention is data-parallel over ranks of GPUs, experts are spread over all GPUs of the unit, tokens travel by
all-to-all. With two micro-batches a layer lasts as `two_batch` says, else as long as its stages together.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.formulas import attention, balance, routing, two_batch
from planner.formulas.traffic import peak_flops_per_s
from planner.formulas.wide_layer import BF16_BYTES, Layer


@dataclass(frozen=True, slots=True)
class Spread:
    """Squared variations of the lengths served: of a prompt, and of the context of a running sequence. 0: all alike."""

    prompt: float = 0.0
    context: float = 0.0


@dataclass(frozen=True, slots=True)
class WideStep:
    """One decode step of a unit; ``kv_s`` is the part that a longer context stretches."""

    total_s: float
    kv_s: float
    bottleneck: str


@dataclass(frozen=True, slots=True)
class Unit:
    """A prefill or decode unit; with ``may_overlap`` two micro-batches where that is quicker. Times in seconds."""

    layer: Layer
    may_overlap: bool
    spread: Spread = Spread()

    @property
    def _ranks(self) -> float:
        """Attention ranks, all of which wait for the busiest in every layer."""
        return max(1.0, self.layer.gpus / self.layer.rank_gpus)

    @property
    def _ways(self) -> tuple[int, ...]:
        """Micro-batches a batch may be cut into."""
        return (1, 2) if self.may_overlap else (1,)

    # --- decode

    def decode_step(self, *, per_gpu: float, context_tokens: float, tokens_per_sequence: float = 1.0) -> WideStep:
        """A step with ``per_gpu`` sequences a GPU.

        Parameters
        ----------
        per_gpu : sequences a GPU [1]
        context_tokens : mean length of a sequence so far [tokens]
        tokens_per_sequence : tokens verified a sequence and step
        """
        found = [
            self._decode_step(
                sequences=max(per_gpu * self.layer.rank_gpus, 1.0) / parts,
                context_tokens=context_tokens,
                tokens_per_sequence=tokens_per_sequence,
                parts=parts,
            )
            for parts in self._ways
        ]
        return min(found, key=lambda step: step.total_s)

    def _decode_step(
        self, *, sequences: float, context_tokens: float, tokens_per_sequence: float, parts: int
    ) -> WideStep:
        layer, tokens = self.layer, sequences * tokens_per_sequence
        stages, cache_s = self._decode_stages(
            sequences=sequences, context_tokens=context_tokens, tokens_per_sequence=tokens_per_sequence
        )
        layer_s = two_batch.serial_layer_s(stages) if parts == 1 else two_batch.decode_layer_s(stages)
        dense_s = parts * (stages.projections_s + stages.core_s + layer.dense_mlp_s(tokens))
        rest_s = layer.head_s(tokens * parts) + layer.reach.step_s + layer.reach.sequence_s * sequences * parts
        drafts = (tokens_per_sequence - 1.0) / layer.llm.layers
        hidden_s = 0.0 if parts == 1 else max(0.0, stages.combine_s - (stages.core_s - cache_s))
        visible_s = layer.expert_layers * max(0.0, cache_s - hidden_s) + layer.dense_layers * cache_s
        return WideStep(
            total_s=(layer.expert_layers * layer_s + layer.dense_layers * dense_s + rest_s) * (1.0 + drafts),
            kv_s=parts * visible_s,
            bottleneck=self._bottleneck(stages, layer_s=layer_s, parts=parts, tokens=tokens),
        )

    def _decode_stages(
        self, *, sequences: float, context_tokens: float, tokens_per_sequence: float
    ) -> tuple[two_batch.Stages, float]:
        """Stages of one micro-batch, and the time of the core attention within them."""
        r, tokens = self.layer.reach, sequences * tokens_per_sequence
        before, after = self.layer.attention_parameters
        fullest = balance.longest_wait(ranks=self._ranks, squared_variation=self.spread.context, draws=sequences)
        cache_s = fullest * self.layer.core_decode_s(sequences, context_tokens, tokens_per_sequence)
        own = tokens / self.layer.rank_gpus
        """Tokens that one GPU sends: a rank of several shares them."""
        busiest = self.layer.imbalance(own, uneven=r.uneven_decode)
        network = self.layer.travel_bytes_per_s(r.network_low_latency)
        copies = own * self.layer.top_k * routing.share_elsewhere(places=self.layer.places) * busiest
        launch_s = r.attention_launch_s / 2
        return two_batch.Stages(
            projections_s=self.layer.gemm_s("attention", before, tokens) + launch_s,
            core_s=cache_s
            + self.layer.gemm_s("attention", after, tokens)
            + self.layer.rank_reduce_s(tokens)
            + launch_s,
            shared_s=self.layer.shared_s(own),
            experts_s=self.layer.experts_s(own, busiest=busiest, share=r.gemm),
            dispatch_s=copies * self.layer.dispatch_bytes / network,
            combine_s=copies * self.layer.llm.hidden * BF16_BYTES / network,
        ), cache_s

    def _bottleneck(self, stages: two_batch.Stages, *, layer_s: float, parts: int, tokens: float) -> str:
        """The largest of: waiting for the network, launching kernels, arithmetic, memory."""
        exposed_s = layer_s - parts * stages.computing_s
        launch_s = parts * (self.layer.reach.attention_launch_s + self.layer.reach.experts_launch_s)
        computing_s = parts * stages.computing_s - launch_s
        arithmetic_s = parts * sum(self.layer.arithmetic_s(part, count, tokens) for part, count in self.layer.touched)
        bound = "compute" if arithmetic_s > computing_s / 2 else "memory bandwidth"
        takes = {"network": exposed_s, "launch overhead": launch_s, bound: computing_s}
        return max(takes, key=takes.__getitem__)

    # --- prefill

    def prefill_tokens_per_s_per_gpu(self, *, step_tokens: float, new_tokens: float, cached_tokens: float) -> float:
        """Rate of computed tokens when all ranks have work.

        Parameters
        ----------
        step_tokens : tokens a GPU computes in a step
        new_tokens, cached_tokens : of a prompt: computed, and found in a cache

        Returns
        -------
        float [tokens/s/GPU]
        """
        return max(
            self._prefill_rate(
                tokens=max(step_tokens / parts, 1.0), new_tokens=new_tokens, cached_tokens=cached_tokens, parts=parts
            )
            for parts in self._ways
        )

    def _prefill_rate(self, *, tokens: float, new_tokens: float, cached_tokens: float, parts: int) -> float:
        layer = self.layer
        stages = self._prefill_stages(
            tokens=tokens, new_tokens=new_tokens, cached_tokens=cached_tokens, is_shared=parts > 1
        )
        layer_s = two_batch.serial_layer_s(stages) if parts == 1 else two_batch.prefill_layer_s(stages)
        dense_s = parts * (stages.projections_s + stages.core_s + layer.dense_mlp_s(tokens))
        return tokens * parts / (layer.expert_layers * layer_s + layer.dense_layers * dense_s + layer.reach.step_s)

    def _prefill_stages(
        self, *, tokens: float, new_tokens: float, cached_tokens: float, is_shared: bool
    ) -> two_batch.Stages:
        """Stages of one micro-batch; ``is_shared``: communication kernels run beside it and take their SMs."""
        llm, r = self.layer.llm, self.layer.reach
        sms = 1.0 - r.communication_sms if is_shared else 1.0
        rank_tokens = tokens * self.layer.rank_gpus
        longer = 1.0 + self.spread.prompt
        flops = attention.prefill_flops(llm, new_tokens=longer * new_tokens, cached_tokens=longer * cached_tokens)
        flops *= self._longest_attention(rank_tokens, new_tokens, cached_tokens) / (longer * new_tokens)
        layers = max(1, attention.attention_layers(llm))
        core_share = r.core_prefill * (1.0 if is_shared else 1.0 / (1.0 - r.communication_sms))
        core_s = tokens * flops / layers / (core_share * peak_flops_per_s(self.layer.gpu, compute="bf16"))
        before, after = self.layer.attention_parameters
        busiest = self.layer.imbalance(tokens, uneven=r.uneven_prefill)
        network = self.layer.travel_bytes_per_s(r.network_bulk_shared if is_shared else r.network_bulk)
        copies = tokens * self.layer.copies_to_places() * routing.share_elsewhere(places=self.layer.places) * busiest
        opened = self.layer.latent_up_parameters() * cached_tokens / new_tokens
        return two_batch.Stages(
            projections_s=self.layer.gemm_s("attention", before, rank_tokens, sms=sms)
            + self.layer.arithmetic_s("attention", opened, tokens) / sms
            + r.attention_launch_s / 2,
            core_s=core_s
            + self.layer.gemm_s("attention", after, rank_tokens, sms=sms)
            + self.layer.element_wise_s(tokens * self.layer.attention_bytes())
            + self.layer.rank_reduce_s(rank_tokens)
            + r.attention_launch_s / 2,
            shared_s=self.layer.shared_s(tokens, sms=sms),
            experts_s=self.layer.experts_s(tokens, busiest=busiest, share=r.grouped_gemm, sms=sms),
            dispatch_s=copies * self.layer.dispatch_bytes / network,
            combine_s=copies * llm.hidden * BF16_BYTES / network,
        )

    def _longest_attention(self, rank_tokens: float, new_tokens: float, cached_tokens: float) -> float:
        """Attention of the busiest rank over the mean: prompts differ in length, and pieces in their place in one."""
        whole = min(1.0, rank_tokens / new_tokens)
        first = cached_tokens / (cached_tokens + new_tokens)
        place = (1.0 - whole) * (1.0 - first) ** 2 / 12 / ((1.0 + first) / 2) ** 2
        varied = (1.0 + self.spread.prompt) * (1.0 + place) - 1.0
        return balance.longest_wait(ranks=self._ranks, squared_variation=varied, draws=rank_tokens / new_tokens)
