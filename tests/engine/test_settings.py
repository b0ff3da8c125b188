"""What the engine made of its settings."""

import enum
import logging
import logging.config
import warnings
from types import SimpleNamespace

import pytest

from linattn_verify.engine.settings import ChangedSettings, plain, resolved
from linattn_verify.traces.guard import Did


class Mode(enum.Enum):
    ALIGN = 3


class Level(enum.IntEnum):
    """As vLLM's compilation mode: a number with a name."""

    NONE = 0


class Dtype:
    """As torch's: no name of its own, `torch.bfloat16` when printed."""

    def __str__(self) -> str:
        return "torch.bfloat16"


def config() -> SimpleNamespace:
    return SimpleNamespace(
        model_config=SimpleNamespace(dtype=Dtype(), max_model_len=192, seed=0),
        cache_config=SimpleNamespace(
            block_size=48,
            enable_prefix_caching=False,
            mamba_cache_mode=Mode.ALIGN,
            cache_dtype="auto",
            seed=99,  # the model's comes first
        ),
        scheduler_config=SimpleNamespace(max_num_batched_tokens=37, policy="fcfs"),
        attention_config=SimpleNamespace(backend=None),
        compilation_config=SimpleNamespace(mode=Level.NONE, backend="inductor"),
        speculative_config=None,
    )


def test_resolved_finds_each_setting_wherever_it_is_kept() -> None:
    assert resolved(config(), []) == {
        "dtype": "bfloat16",
        "max_model_len": 192,
        "max_num_batched_tokens": 37,
        "enable_prefix_caching": False,
        "block_size": 48,
        "mamba_cache_mode": "ALIGN",
        "seed": 0,
        "attention_backend": None,
        "compilation_mode": "NONE",
    }


def test_resolved_adds_what_was_requested_where_the_engine_reports_it() -> None:
    found = resolved(config(), ["policy", "block_size", "no_such_setting"])
    assert found["policy"] == "fcfs"
    assert "no_such_setting" not in found


def test_resolved_knows_the_engines_other_name_for_a_setting() -> None:
    assert resolved(config(), ["kv_cache_dtype"])["kv_cache_dtype"] == "auto"


def test_resolved_keeps_a_setting_that_is_none() -> None:
    made = config()
    made.cache_config.mamba_block_size = None
    assert resolved(made, [])["mamba_block_size"] is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (0.5, 0.5),
        ("fcfs", "fcfs"),
        (Mode.ALIGN, "ALIGN"),
        (Level.NONE, "NONE"),
        (Dtype(), "bfloat16"),
        ((1, Mode.ALIGN, [None]), [1, "ALIGN", [None]]),
        ({3: {"a": Dtype()}}, {"3": {"a": "bfloat16"}}),
        ({7}, [7]),
    ],
    ids=[
        "none",
        "bool",
        "float",
        "text",
        "enum",
        "number-enum",
        "dtype",
        "nested-list",
        "nested-dict",
        "set",
    ],
)
def test_plain(value: object, expected: object) -> None:
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)


SPEAKS_OF_A_CHANGE = [
    "Setting attention block size to 128 tokens to match the mamba page size",
    "Prefix caching is not officially supported for this model",
    "chunked prefill disabled",
    "Overriding max_num_seqs",
    "Padding mamba page size by 1.5%",
    "Falling back to the eager backend",
]
SPEAKS_OF_NONE = [
    "Loading weights took 0.5 seconds",
    "Starting to load model",
    "Supported tasks",
    "Successfully reset prefix cache",
    "Detected the chat template content format. You can set `--x` to override this.",
    "non-default args: {'enable_prefix_caching': False, 'disable_log_stats': True}",
    "Initializing an engine with config: Config(disable_this=True, fall_back='a'), seed=0",
]


@pytest.mark.parametrize("line", SPEAKS_OF_A_CHANGE)
def test_a_line_that_speaks_of_a_change_is_kept_once(
    caplog: pytest.LogCaptureFixture, line: str
) -> None:
    caplog.set_level(logging.INFO, "vllm")
    with ChangedSettings() as changed:
        logging.getLogger("vllm.config.made_up").info("%s", f"  {line}\n")
        logging.getLogger("vllm").warning(line)
        logging.getLogger("somebody.else").warning(line)
    assert changed.lines == [line]


@pytest.mark.parametrize("line", SPEAKS_OF_NONE)
def test_other_lines_are_left_alone(caplog: pytest.LogCaptureFixture, line: str) -> None:
    caplog.set_level(logging.INFO, "vllm")
    with ChangedSettings() as changed:
        logging.getLogger("vllm").info(line)
    assert changed.lines == []


def test_logging_configured_anew_while_the_engine_loads_loses_nothing() -> None:
    """vLLM does so, which removes every handler of its logger."""
    logger = logging.getLogger("vllm")
    handlers, level, propagate = list(logger.handlers), logger.level, logger.propagate
    own = {"level": "INFO", "handlers": ["null"], "propagate": False}
    null = {"null": {"class": "logging.NullHandler"}}
    with ChangedSettings() as changed:
        logging.config.dictConfig(
            {
                "version": 1,
                "disable_existing_loggers": False,
                "handlers": null,
                "loggers": {"vllm": own},
            }
        )
        logging.getLogger("vllm.platforms.made_up").info("Chunked prefill is disabled.")
    logger.handlers[:], logger.propagate = handlers, propagate
    logger.setLevel(level)
    assert changed.lines == ["Chunked prefill is disabled."]


def test_a_logger_that_keeps_its_records_to_itself_is_heard() -> None:
    silent = logging.getLogger("vllm.made_up.silent")
    silent.propagate = False
    with ChangedSettings() as changed:
        silent.warning("Prefix caching is not supported for %s; disabling it.", "this model")
    silent.propagate = True
    (guard,) = changed.guards
    assert (guard.setting, guard.did) == ("enable_prefix_caching", Did.OFF)
    assert guard.line == "Prefix caching is not supported for this model; disabling it."


def test_a_python_warning_that_speaks_of_a_setting_is_heard_and_still_shown(
    recwarn: pytest.WarningsRecorder,
) -> None:
    with ChangedSettings() as changed:
        warnings.warn("chunked prefill is disabled", UserWarning, stacklevel=1)
        warnings.warn("something.else is disabled", UserWarning, stacklevel=1)
    assert changed.lines == ["chunked prefill is disabled"]
    assert len(recwarn) == 2


def test_a_line_said_twice_is_one_guard() -> None:
    with ChangedSettings() as changed:
        for _ in range(2):
            logging.getLogger("vllm.made_up").warning("Chunked prefill is disabled.")
    assert len(changed.guards) == 1


def test_nothing_is_collected_before_or_after() -> None:
    before = logging.getLogRecordFactory(), warnings.showwarning
    logging.getLogger("vllm").warning("one is disabled")
    with ChangedSettings() as changed:
        pass
    logging.getLogger("vllm").warning("two is disabled")
    assert changed.lines == []
    assert (logging.getLogRecordFactory(), warnings.showwarning) == before


def test_whoever_wrapped_the_collector_meanwhile_is_left_in_place() -> None:
    before = logging.getLogRecordFactory()
    with ChangedSettings() as changed:
        mine = logging.getLogRecordFactory()

        def wrapped(*args: object, **kwargs: object) -> logging.LogRecord:
            return mine(*args, **kwargs)

        logging.setLogRecordFactory(wrapped)
    kept = logging.getLogRecordFactory()
    logging.getLogger("vllm").warning("two is disabled")
    logging.setLogRecordFactory(before)
    assert kept is wrapped
    assert changed.lines == []
