//===- AttnOps.td - all operations of the dialect ------------------------===//

#ifndef HEDDLE_ATTN_OPS_TD
#define HEDDLE_ATTN_OPS_TD

include "AttentionOps.td"
include "LatentOps.td"
include "LinearAttentionOps.td"
include "RotaryOps.td"
include "NormOps.td"
include "PartialOps.td"
include "ActivationOps.td"
include "CacheOps.td"
include "ExpertOps.td"
include "PatternOps.td"
include "RuntimeCheckOps.td"
include "StreamOps.td"

#endif // HEDDLE_ATTN_OPS_TD
