//===- AttnAttrs.td - enums and rope scaling attributes ------------------===//

#ifndef HEDDLE_ATTN_ATTRS_TD
#define HEDDLE_ATTN_ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "AttnDialect.td"
include "AttnInterfaces.td"

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

def Attn_ActivationKind : I32EnumAttr<"ActivationKind",
    "elementwise activation function", [
      I32EnumAttrCase<"Silu", 0, "silu">,
      I32EnumAttrCase<"Gelu", 1, "gelu">,
      I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">,
      I32EnumAttrCase<"Sigmoid", 3, "sigmoid">,
      I32EnumAttrCase<"EluPlusOne", 4, "elu_plus_one">,
      I32EnumAttrCase<"Relu", 5, "relu">,
      I32EnumAttrCase<"SquaredRelu", 6, "squared_relu">]> {
  let cppNamespace = "::heddle::attn";
  let genSpecializedAttr = 0;
}
def Attn_ActivationKindAttr
    : EnumAttr<Attn_Dialect, Attn_ActivationKind, "activation_kind">;

def Attn_GluKind : I32EnumAttr<"GluKind", "gated linear unit", [
      I32EnumAttrCase<"Swiglu", 0, "swiglu">,
      I32EnumAttrCase<"Geglu", 1, "geglu">,
      I32EnumAttrCase<"GegluTanh", 2, "geglu_tanh">,
      I32EnumAttrCase<"GptOss", 3, "gpt_oss">,
      I32EnumAttrCase<"Sigmoid", 4, "sigmoid">]> {
  let cppNamespace = "::heddle::attn";
  let genSpecializedAttr = 0;
}
def Attn_GluKindAttr : EnumAttr<Attn_Dialect, Attn_GluKind, "glu_kind">;

def Attn_LinearRule : I32EnumAttr<"LinearRule",
    "how a token changes the state of linear attention", [
      I32EnumAttrCase<"Linear", 0, "linear">,
      I32EnumAttrCase<"Gated", 1, "gated">,
      I32EnumAttrCase<"Delta", 2, "delta">,
      I32EnumAttrCase<"GatedDelta", 3, "gated_delta">]> {
  let cppNamespace = "::heddle::attn";
  let genSpecializedAttr = 0;
}
def Attn_LinearRuleAttr
    : EnumAttr<Attn_Dialect, Attn_LinearRule, "linear_rule">;

def Attn_RouterScoring : I32EnumAttr<"RouterScoring",
    "how logits of experts become scores", [
      I32EnumAttrCase<"Softmax", 0, "softmax">,
      I32EnumAttrCase<"Sigmoid", 1, "sigmoid">]> {
  let cppNamespace = "::heddle::attn";
  let genSpecializedAttr = 0;
}
def Attn_RouterScoringAttr
    : EnumAttr<Attn_Dialect, Attn_RouterScoring, "router_scoring">;

def Attn_StreamForm : I32EnumAttr<"StreamForm", "how residual streams are mixed", [
      I32EnumAttrCase<"Mhc", 0, "mhc">,
      I32EnumAttrCase<"DeepseekV4", 1, "deepseek_v4">]> {
  let cppNamespace = "::heddle::attn";
  let genSpecializedAttr = 0;
}
def Attn_StreamFormAttr : EnumAttr<Attn_Dialect, Attn_StreamForm, "stream_form">;

def Attn_PatternKind : I32EnumAttr<"PatternKind", "keys that heads look at", [
      I32EnumAttrCase<"Sink", 0, "sink">,
      I32EnumAttrCase<"SinkFrom1", 1, "sink_from_1">,
      I32EnumAttrCase<"PreviousToken", 2, "previous_token">,
      I32EnumAttrCase<"LocalWindow", 3, "local_window">,
      I32EnumAttrCase<"DuplicateToken", 4, "duplicate_token">,
      I32EnumAttrCase<"InductionToken", 5, "induction_token">,
      I32EnumAttrCase<"InductionDiagonal", 6, "induction_diagonal">,
      I32EnumAttrCase<"LearnedSink", 7, "learned_sink">]> {
  let cppNamespace = "::heddle::attn";
  let genSpecializedAttr = 0;
}
def Attn_PatternKindAttr : EnumAttr<Attn_Dialect, Attn_PatternKind, "pattern_kind">;

//===----------------------------------------------------------------------===//
// Rope scalings
//===----------------------------------------------------------------------===//

/// A number written as a plain float literal, stored as a Real (a double that
/// is compared and hashed by its bits).
class Attn_Real<string desc>
    : AttrParameter<"::heddle::attn::Real", desc, "double">;
class Attn_OptionalReal<string desc>
    : AttrParameter<"std::optional<::heddle::attn::Real>", desc,
                    "std::optional<double>"> {
  let defaultValue = "std::optional<::heddle::attn::Real>()";
  let comparator = cppType # "($_lhs) == " # cppType # "($_rhs)";
  let printer = "$_printer << *$_self";
}
class Attn_RealList<string desc>
    : AttrParameter<"::mlir::DenseF64ArrayAttr", desc> {
  let parser = "::heddle::attn::parseRealList($_parser)";
  let printer = "::heddle::attn::printRealList($_printer, $_self)";
}

class Attn_RopeScaling<string name, string attrMnemonic>
    : AttrDef<Attn_Dialect, name,
        [DeclareAttrInterfaceMethods<Attn_RopeScalingAttrInterface>]> {
  let mnemonic = attrMnemonic;
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Attn_RopeLinearAttr : Attn_RopeScaling<"RopeLinear", "rope_linear"> {
  let summary = "linear position interpolation";
  let description = [{
    f'_i = f_i / factor, which equals dividing the positions. `factor` > 0.

    ```mlir
    #attn.rope_linear<factor = 8.0>
    ```
    Source: Chen et al. 2023 (arXiv 2306.15595).
  }];
  let parameters = (ins Attn_Real<"divisor of the frequencies">:$factor);
}

def Attn_RopeDynamicAttr : Attn_RopeScaling<"RopeDynamic", "rope_dynamic"> {
  let summary = "dynamic NTK scaling";
  let description = [{
    With the length n, r = rotary_dim > 2 and M = max_position: if n > M, theta
    is replaced by theta (factor n / M - (factor - 1))^(r / (r - 2)); else
    f'_i = f_i. `factor` > 0, `max_position` > 0.

    ```mlir
    #attn.rope_dynamic<factor = 4.0, max_position = 4096>
    ```
    Source: Hugging Face transformers, rope type `dynamic`.
  }];
  let parameters = (ins
    Attn_Real<"extension factor">:$factor,
    AttrParameter<"int64_t", "length up to which nothing changes">:$max_position);
}

def Attn_RopeLlama3Attr : Attn_RopeScaling<"RopeLlama3", "rope_llama3"> {
  let summary = "Llama 3 frequency scaling";
  let description = [{
    With the wavelength w = 2 pi / f_i, O = original_max_position:

        w < O / high_freq_factor :  f'_i = f_i
        w > O / low_freq_factor  :  f'_i = f_i / factor
        otherwise                :  f'_i = (1 - t) f_i / factor + t f_i,
          t = (O / w - low_freq_factor) / (high_freq_factor - low_freq_factor)

    `factor` > 0, 0 < `low_freq_factor` < `high_freq_factor`,
    `original_max_position` > 0.

    ```mlir
    #attn.rope_llama3<factor = 32.0, low_freq_factor = 1.0,
                      high_freq_factor = 4.0, original_max_position = 8192>
    ```
    Source: Meta Llama 3.1 reference code; transformers rope type `llama3`.
  }];
  let parameters = (ins
    Attn_Real<"divisor of long wavelengths">:$factor,
    Attn_Real<"longer than O / this is scaled">:$low_freq_factor,
    Attn_Real<"shorter than O / this is kept">:$high_freq_factor,
    AttrParameter<"int64_t", "context of the pretraining">:$original_max_position);
}

def Attn_RopeYarnAttr : Attn_RopeScaling<"RopeYarn", "rope_yarn"> {
  let summary = "YaRN frequency and magnitude scaling";
  let description = [{
    With r = rotary_dim, O = original_max_position and
    corr(b) = r ln(O / (2 pi b)) / (2 ln theta):

        low  = corr(beta_fast), rounded down if `truncate`, at least 0
        high = corr(beta_slow), rounded up if `truncate`, at most r - 1
        if low = high: high += 0.001
        t_i  = clamp((i - low) / (high - low), 0, 1)
        f'_i = t_i f_i / factor + (1 - t_i) f_i

    cos and sin are multiplied by `attention_factor`; if absent by
    g(mscale) / g(mscale_all_dim) when both are given and not 0; else by g(1),
    where g(m) = 0.1 m ln(factor) + 1, or 1 if factor <= 1.
    `factor` > 0, `original_max_position` > 0, `beta_fast` >= `beta_slow` > 0.

    ```mlir
    #attn.rope_yarn<factor = 32.0, original_max_position = 4096,
                    beta_fast = 32.0, beta_slow = 1.0, truncate = false>
    ```
    Source: Peng et al. 2023 (arXiv 2309.00071); transformers rope type `yarn`.
  }];
  let parameters = (ins
    Attn_Real<"extension factor">:$factor,
    AttrParameter<"int64_t", "context of the pretraining">:$original_max_position,
    Attn_Real<"rotations above which nothing changes">:$beta_fast,
    Attn_Real<"rotations below which all is scaled">:$beta_slow,
    AttrParameter<"bool", "round the borders of the ramp">:$truncate,
    Attn_OptionalReal<"factor on cos and sin">:$attention_factor,
    Attn_OptionalReal<"numerator of the magnitude correction">:$mscale,
    Attn_OptionalReal<"denominator of the magnitude correction">:$mscale_all_dim);
}

def Attn_RopeLongRopeAttr : Attn_RopeScaling<"RopeLongRope", "rope_longrope"> {
  let summary = "LongRoPE: a divisor per frequency from one of two lists";
  let description = [{
    f'_i = f_i / long_factor[i] if the length > original_max_position, else
    f_i / short_factor[i]. Both lists have rotary_dim / 2 positive entries.
    cos and sin are multiplied by `attention_factor`; if absent by
    sqrt(1 + ln(factor) / ln(original_max_position)), or 1 if factor <= 1.
    `factor` > 0, `original_max_position` > 1.

    ```mlir
    #attn.rope_longrope<short_factor = [1.0, 1.0], long_factor = [2.0, 4.5],
                        factor = 32.0, original_max_position = 4096>
    ```
    Source: Ding et al. 2024 (arXiv 2402.13753) in the form of Phi-3.
  }];
  let parameters = (ins
    Attn_RealList<"divisors up to the original length">:$short_factor,
    Attn_RealList<"divisors beyond the original length">:$long_factor,
    Attn_Real<"extension factor">:$factor,
    AttrParameter<"int64_t", "context of the pretraining">:$original_max_position,
    Attn_OptionalReal<"factor on cos and sin">:$attention_factor);
  let builders = [
    AttrBuilder<(ins "::llvm::ArrayRef<double>":$shortFactor,
                     "::llvm::ArrayRef<double>":$longFactor, "double":$factor,
                     "int64_t":$originalMaxPosition,
                     CArg<"std::optional<Real>", "std::nullopt">:$attentionFactor), [{
      return $_get($_ctxt, ::mlir::DenseF64ArrayAttr::get($_ctxt, shortFactor),
                   ::mlir::DenseF64ArrayAttr::get($_ctxt, longFactor),
                   Real(factor), originalMaxPosition, attentionFactor);
    }]>];
}

def Attn_RopeProportionalAttr
    : Attn_RopeScaling<"RopeProportional", "rope_proportional"> {
  let summary = "only the first frequencies rotate, all divided by factor";
  let description = [{
    f'_i = f_i / factor for i < floor(fraction * rotary_dim / 2), else 0 (the
    channel pair keeps its value). f_i uses the whole rotary_dim.
    `factor` > 0, 0 < `fraction` <= 1.

    ```mlir
    #attn.rope_proportional<factor = 1.0, fraction = 0.25>
    ```
    Source: transformers rope type `proportional` (Gemma 4).
  }];
  let parameters = (ins
    Attn_Real<"divisor of the frequencies">:$factor,
    Attn_Real<"part of the pairs that rotates">:$fraction);
}

#endif // HEDDLE_ATTN_ATTRS_TD
