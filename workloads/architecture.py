"""The embedded model's shape: Qwen3.5-0.8B's, as small as an engine's kernels accept."""

SPECIAL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
"""Special tokens; a token's place here is its id."""

VOCABULARY = 1024
HIDDEN = 256
INTERMEDIATE = 512
HEADS, KV_HEADS, HEAD = 4, 2, 64
KEY_HEADS, VALUE_HEADS, LINEAR_HEAD = 2, 4, 64
KERNEL = 4
LAYERS = ("linear_attention",) * 3 + ("full_attention",)
VISION = 64
PATCHES = 64
CONTEXT = 8192


def config() -> dict[str, object]:
    """config.json, as transformers writes it for Qwen3_5ForConditionalGeneration."""
    ids = {token: number for number, token in enumerate(SPECIAL_TOKENS)}
    return {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "dtype": "bfloat16",
        "image_token_id": ids["<|image_pad|>"],
        "model_type": "qwen3_5",
        "text_config": _text_config(ids["<|endoftext|>"]),
        "tie_word_embeddings": True,
        "video_token_id": ids["<|video_pad|>"],
        "vision_config": _vision_config(),
        "vision_end_token_id": ids["<|vision_end|>"],
        "vision_start_token_id": ids["<|vision_start|>"],
    }


def _text_config(end: int) -> dict[str, object]:
    return {
        "attention_bias": False,
        "attention_dropout": 0.0,
        "attn_output_gate": True,
        "bos_token_id": None,
        "dtype": "bfloat16",
        "eos_token_id": end,
        "head_dim": HEAD,
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": INTERMEDIATE,
        "layer_types": list(LAYERS),
        "linear_conv_kernel_dim": KERNEL,
        "linear_key_head_dim": LINEAR_HEAD,
        "linear_num_key_heads": KEY_HEADS,
        "linear_num_value_heads": VALUE_HEADS,
        "linear_value_head_dim": LINEAR_HEAD,
        "max_position_embeddings": CONTEXT,
        "model_type": "qwen3_5_text",
        "num_attention_heads": HEADS,
        "num_hidden_layers": len(LAYERS),
        "num_key_value_heads": KV_HEADS,
        "partial_rotary_factor": 0.25,
        "rms_norm_eps": 1e-06,
        "rope_parameters": {
            "mrope_interleaved": True,
            "mrope_section": [3, 3, 2],
            "partial_rotary_factor": 0.25,
            "rope_theta": 10000.0,
            "rope_type": "default",
        },
        "tie_word_embeddings": True,
        "use_cache": True,
        "vocab_size": VOCABULARY,
    }


def _vision_config() -> dict[str, object]:
    return {
        "depth": 1,
        "hidden_act": "gelu_pytorch_tanh",
        "hidden_size": VISION,
        "in_channels": 3,
        "intermediate_size": VISION,
        "model_type": "qwen3_5",
        "num_heads": 2,
        "num_position_embeddings": PATCHES,
        "out_hidden_size": HIDDEN,
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
    }


def image_processor_config() -> dict[str, object]:
    """preprocessor_config.json, without which an engine refuses to load the vision tower."""
    return {
        "image_mean": [0.5, 0.5, 0.5],
        "image_processor_type": "Qwen2VLImageProcessorFast",
        "image_std": [0.5, 0.5, 0.5],
        "merge_size": 2,
        "patch_size": 16,
        "processor_class": "Qwen3VLProcessor",
        "size": {"longest_edge": 64 * 32 * 32, "shortest_edge": 4 * 32 * 32},
        "temporal_patch_size": 2,
    }


def video_processor_config() -> dict[str, object]:
    """video_preprocessor_config.json; like that for images, but for its class."""
    images = image_processor_config()
    del images["image_processor_type"]
    return {**images, "video_processor_type": "Qwen3VLVideoProcessor"}


def shapes() -> dict[str, tuple[int, ...]]:
    """Every stored tensor's name and shape."""
    language = "model.language_model."
    found: dict[str, tuple[int, ...]] = {
        f"{language}embed_tokens.weight": (VOCABULARY, HIDDEN),
        f"{language}norm.weight": (HIDDEN,),
    }
    for number, kind in enumerate(LAYERS):
        mixer = _linear_attention() if kind == "linear_attention" else _full_attention()
        for name, shape in {**mixer, **_mlp()}.items():
            found[f"{language}layers.{number}.{name}"] = shape
    return {**found, **{f"model.visual.{name}": shape for name, shape in _vision().items()}}


def _linear_attention() -> dict[str, tuple[int, ...]]:
    values = VALUE_HEADS * LINEAR_HEAD
    channels = 2 * KEY_HEADS * LINEAR_HEAD + values
    return {
        "linear_attn.A_log": (VALUE_HEADS,),
        "linear_attn.conv1d.weight": (channels, 1, KERNEL),
        "linear_attn.dt_bias": (VALUE_HEADS,),
        "linear_attn.in_proj_a.weight": (VALUE_HEADS, HIDDEN),
        "linear_attn.in_proj_b.weight": (VALUE_HEADS, HIDDEN),
        "linear_attn.in_proj_qkv.weight": (channels, HIDDEN),
        "linear_attn.in_proj_z.weight": (values, HIDDEN),
        "linear_attn.norm.weight": (LINEAR_HEAD,),
        "linear_attn.out_proj.weight": (HIDDEN, values),
    }


def _full_attention() -> dict[str, tuple[int, ...]]:
    return {
        "self_attn.k_norm.weight": (HEAD,),
        "self_attn.k_proj.weight": (KV_HEADS * HEAD, HIDDEN),
        "self_attn.o_proj.weight": (HIDDEN, HEADS * HEAD),
        "self_attn.q_norm.weight": (HEAD,),
        "self_attn.q_proj.weight": (2 * HEADS * HEAD, HIDDEN),
        "self_attn.v_proj.weight": (KV_HEADS * HEAD, HIDDEN),
    }


def _mlp() -> dict[str, tuple[int, ...]]:
    return {
        "input_layernorm.weight": (HIDDEN,),
        "mlp.down_proj.weight": (HIDDEN, INTERMEDIATE),
        "mlp.gate_proj.weight": (INTERMEDIATE, HIDDEN),
        "mlp.up_proj.weight": (INTERMEDIATE, HIDDEN),
        "post_attention_layernorm.weight": (HIDDEN,),
    }


def _vision() -> dict[str, tuple[int, ...]]:
    merged = 4 * VISION
    return {
        **_affine("blocks.0.attn.proj", VISION, VISION),
        **_affine("blocks.0.attn.qkv", 3 * VISION, VISION),
        **_affine("blocks.0.mlp.linear_fc1", VISION, VISION),
        **_affine("blocks.0.mlp.linear_fc2", VISION, VISION),
        **_affine("blocks.0.norm1", VISION),
        **_affine("blocks.0.norm2", VISION),
        **_affine("merger.linear_fc1", merged, merged),
        **_affine("merger.linear_fc2", HIDDEN, merged),
        **_affine("merger.norm", VISION),
        **_affine("patch_embed.proj", VISION, 3, 2, 16, 16),
        "pos_embed.weight": (PATCHES, VISION),
    }


def _affine(name: str, *shape: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
