/// Causal attention over sequences that share beginnings.
///
/// Theory. What a token computes depends only on the ids before it, so sequences that begin alike are
/// computed once: their ids form a tree of segments, whose children go on from where the parent ends. A token
/// attends to its own segment up to itself and to all of its ancestors' segments, and to nothing else;
/// sequences that share nothing are trees of their own, so that packed sequences never see each other.
/// Gradients of all branches meet in the keys and values of the segment they share.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace leap::model {

/// A run of tokens; in a list of segments a parent stands before its children.
struct Segment {
  std::int64_t start = 0;     ///< of its tokens among all
  std::int64_t length = 0;    ///< at least 1
  std::int64_t parent = -1;   ///< index of a segment; -1: none
  std::int64_t position = 0;  ///< of its first token in the sequence
};

struct Attention {
  at::Tensor out;       ///< as the queries
  at::Tensor log_sums;  ///< [kv_heads, tokens, group], of the exponentials of the scaled products
};

/// Queries [kv_heads, tokens, group, head_dim], keys and values [kv_heads, tokens, head_dim], contiguous.
Attention tree_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const std::vector<Segment>& segments);

struct AttentionGradient {
  at::Tensor q, k, v;
};

AttentionGradient tree_attention_gradient(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                          const Attention& attention, const at::Tensor& out_grad,
                                          const std::vector<Segment>& segments);

}  // namespace leap::model
