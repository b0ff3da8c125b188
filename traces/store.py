"""Traces on disk: one Parquet file a scenario, whole or not there."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from linattn_verify.traces.schema import ROWS, SCHEMA_VERSION, TraceRecord

_KEY = b"linattn_verify.trace"
NULLABLE = {
    pa.int32(): pd.Int32Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}
"""Column types in which a missing whole number stays whole."""


class TraceError(Exception):
    """A trace file that cannot be used; the text says which and why."""


@dataclass(frozen=True)
class Trace:
    """One scenario's rows (columns of `schema.ROWS`) and its record."""

    record: TraceRecord
    rows: pd.DataFrame


def write_trace(path: Path, record: TraceRecord, rows: list[dict[str, object]]) -> None:
    """Write rows and record as one Parquet file that appears under its name only when whole."""
    table = pa.Table.from_pylist(rows, schema=ROWS)
    table = table.replace_schema_metadata({_KEY: record.model_dump_json().encode()})
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            pq.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_trace(path: Path) -> Trace:
    """The trace at `path`; raises TraceError where the file is broken or of another version."""
    try:
        table = pq.read_table(path)
        document = json.loads((table.schema.metadata or {})[_KEY])
        # Before the record is built: another version may have other fields.
        if (version := document["schema_version"]) != SCHEMA_VERSION:
            raise TraceError(f"{path}: schema version {version}, this tool reads {SCHEMA_VERSION}.")
        record = TraceRecord.model_validate(document)
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise TraceError(f"{path}: not a whole trace ({error}). Run the scenario again.") from error
    if table.schema.remove_metadata() != ROWS:
        raise TraceError(f"{path}: its columns are not those of schema version {SCHEMA_VERSION}.")
    return Trace(record, table.to_pandas(types_mapper=NULLABLE.get))
