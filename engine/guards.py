"""What a line of vLLM's log says of a setting: which one, and what became of it.

vLLM switches features off by platform and by model (platforms/*.py, config/vllm.py,
model_executor/models/config.py, engine/arg_utils.py, v1/core/kv_cache_utils.py). Some of that
shows in the configuration that it resolves; all of what it says is in its log, in sentences. The
words below are those of vLLM 0.23 to 0.32; a sentence is read, so others like them are found too.
"""

import re
from collections.abc import Iterator

from linattn_verify.traces.guard import Did, Guard

_SUBJECTS = {
    "mamba_cache_mode": r"mamba[ _]cache[ _]mode",
    "mamba_ssm_cache_dtype": r"mamba_ssm_cache_dtype|ssm (?:cache|state) (?:d?type|storage)",
    "mamba_cache_dtype": r"mamba_cache_dtype|(?:mamba|conv\w*) (?:cache|state) (?:data )?d?type",
    "mamba_block_size": r"mamba[ _]block[ _]size",
    "block_size": r"(?:(?:attention|kv[ _-]cache|user-specified) )?(?<!mamba.)block[ _]size",
    "kv_cache_dtype": r"kv[ _-]cache (?:data )?d?type|(?:kv_)?cache_dtype",
    "enable_prefix_caching": r"(?:automatic |enable_)?prefix[ _-]cach(?:ing|e)"
    r"(?![ _-]?(?:hit|block))",
    "enable_chunked_prefill": r"(?:enable_)?chunked[ _-]prefill(?:ing)?",
    "max_num_batched_tokens": r"max_num_(?:batched|scheduled)_tokens",
    "max_num_seqs": r"max_num_seqs",
    "max_model_len": r"max[ _]model[ _]len(?:gth)?",
    "num_gpu_blocks": r"num_gpu_blocks",
    "async_scheduling": r"async(?:hronous|_)? ?scheduling",
    "compilation": r"[`']?torch\.compile[`']?|compilation mode",
    "cudagraph_mode": r"cuda ?graphs?(?:_mode)?",
    "attention_backend": r"attention[ _]backend",
    "gdn_prefill_backend": r"gdn[ _]prefill[ _]backend",
    "mamba_backend": r"mamba (?:ssu )?backend|mamba_backend",
    "quantization": r"quantization",
    "enable_dbo": r"dual-batch overlap|enable_dbo",
    "hybrid_kv_cache_manager": r"hybrid kv cache manager",
    "dtype": r"(?<![\w_] )model d?type",
}
"""By engine argument (or, where there is none, by a name of ours): what sentences call it."""

_SWITCH = r"(?:disabl{e}|(?:turn|switch){t} off|deactivat{e})"
_DONE = _SWITCH.format(e="ed", t="ed") + r"|(?:not (?:yet |currently )?|un)supported|not compatible"
_DOING = (
    _SWITCH.format(e="(?:es|ed|ing)", t="(?:s|ed|ing)")
    + r"|(?:do|does|did)(?: not|n't) (?:yet |currently )?support"
)
_WORDS = r"(?:(?!(?:with|when|for|in|on|by|because)\b)[\w.`'/-]+,? ){0,5}"
"""Words between an act and its object that leave it the object: "disabling A, B, and C"."""
_START = r"^(?:(?:note that|warning:?|the|v1|using|,) ?)*"
_VALUE = r"[\s:]*(?:\w+=)?['\"`]?(?P<value>[\w./+-]*\w)"
_QUIET = re.compile(
    r"\b(?:can|may|could|might|must|should|cannot)(?: not)? be (?:disabled|turned off)"
)
_HINT = re.compile(r"^(?:to|you can|please|consider|set|use|if|unless)\b", re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:when|if|unless|because|since|while)\b.*$", re.IGNORECASE)
_OFFICIAL = re.compile(r"\bnot officially support", re.IGNORECASE)
_REQUIRED = r"\brequires? {s}={v}"
_TO = (
    r"\b(?:re)?set(?:ting)? (?:the )?{s}\b.{{0,30}}?\bto\b{v}",
    r"\b(?:overrid\w+|forc\w+|chang\w+|adjust\w+|reduc\w+|rais\w+) (?:the )?{s}\b.{{0,40}}?"
    r"(?:\bto\b|\bwith\b){v}",
    r"\b{s} (?:is |was |has been |will be )?(?:re)?set (?:automatically )?to\b{v}",
    r"\b{s} (?:is |was |has been |will be )?(?:overrid\w+|forced|changed)\b.{{0,30}}?"
    r"(?:\bto\b|\bwith\b|\bby\b){v}",
    r"\busing{v} (?=ssm){s}",
)
_REFUSALS = {
    "attention_backend": (
        r"cannot use (?:\w+\.)?(?P<value>\w+) backend",
        r"selected backend (?:\w+\.)?(?P<value>\w+) is (?:incompatible|not valid)",
    ),
    "gdn_prefill_backend": (
        r"gdn prefill backend '(?P<value>\w+)' (?:is|was) (?:selected|requested) but",
    ),
    "dtype": (r"your device .* doesn't support (?:torch\.)?(?P<value>\w+)\. falling back",),
}
"""By engine argument: sentences that refuse a value."""
_OFF_VALUES = ("false", "off", "disabled")


def guards(line: str) -> tuple[Guard, ...]:
    """Every setting that `line` says something of; none of a line that informs of other things."""
    said = line.strip()
    found = {guard.setting: guard for guard in _refused(said)}
    for setting, did, value in _acts(said):
        found.setdefault(setting, Guard(setting=setting, did=did, value=value, line=said))
    return tuple(found.values())


def _refused(line: str) -> Iterator[Guard]:
    for setting, patterns in _REFUSALS.items():
        for pattern in patterns:
            if match := re.search(pattern, line, re.IGNORECASE):
                value = match["value"]
                yield Guard(setting=setting, did=Did.REFUSED, value=value, line=line)


def _acts(line: str) -> Iterator[tuple[str, Did, str | None]]:
    spoken = _QUIET.sub("", line)
    sentences = [s for s in re.split(r"(?<=[.!])\s+", spoken) if not _HINT.match(s)]
    for sentence in sentences:
        for setting, subject in _SUBJECTS.items():
            named = rf"(?:{subject})"
            if re.search(named, sentence, re.IGNORECASE):
                act = _act(setting, named, sentence)
                if act is not None:
                    yield (setting, *act)


def _act(setting: str, named: str, sentence: str) -> tuple[Did, str | None] | None:
    """What a sentence that names the setting says was done with it."""
    if _OFFICIAL.search(sentence):
        return Did.WARNED, None
    value = _set_to(named, sentence)
    if value is not None:
        off = setting.startswith("enable_") and value.lower() in _OFF_VALUES
        return (Did.OFF, None) if off else (Did.SET, value)
    clauses = [_CONDITION.sub("", c).strip() for c in re.split(r"[;,:]\s+(?!and\b)", sentence)]
    whole = _CONDITION.sub("", sentence).strip()
    if any(_switched_off(named, clause) for clause in (*clauses, whole)):
        return Did.OFF, None
    return None


def _set_to(named: str, sentence: str) -> str | None:
    for pattern in (_REQUIRED, *_TO):
        found = re.search(pattern.format(s=named, v=_VALUE), sentence, re.IGNORECASE)
        if found:
            return found["value"].removeprefix("torch.")
    return None


def _switched_off(named: str, clause: str) -> bool:
    """Whether the setting is what the clause says is off: its subject, or the verb's object."""
    passive = rf"{_START}{named}(?: for [\w -]+?| on [\w -]+?)?,? (?:\w+ ){{0,3}}?(?:{_DONE})"
    active = rf"\b(?:{_DOING}) {_WORDS}{named}"
    lacking = rf"{_START}{named} is .*\b(?:does|do) not support it"
    return any(re.search(p, clause, re.IGNORECASE) for p in (passive, active, lacking))
