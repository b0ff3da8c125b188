"""Tables on disk: one Parquet file each, whole or not there, with a record that travels along."""

import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from linattn_verify.traces.files import whole_file
from linattn_verify.traces.schema import SCHEMA_VERSION, SCORES, TABLES, TraceRecord
from linattn_verify.traces.states import STATES

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
    """One scenario's rows (columns of its table, `schema.TABLES`) and its record."""

    record: TraceRecord
    rows: pd.DataFrame


def write_trace(path: Path, record: TraceRecord, rows: list[dict[str, object]]) -> None:
    """Write rows and record as one Parquet file that appears under its name only when whole."""
    table = pa.Table.from_pylist(rows, schema=TABLES[record.table])
    _write(path, table.replace_schema_metadata({_KEY: record.model_dump_json().encode()}))


def read_trace(path: Path) -> Trace:
    """The trace at `path`; raises TraceError where the file is broken or of another version."""
    table = _read(path)
    try:
        document = json.loads((table.schema.metadata or {})[_KEY])
        # Before the record is built: another version may have other fields.
        if (version := document["schema_version"]) != SCHEMA_VERSION:
            raise TraceError(f"{path}: schema version {version}, this tool reads {SCHEMA_VERSION}.")
        record = TraceRecord.model_validate(document)
    except (KeyError, TypeError, ValueError) as error:
        raise TraceError(f"{path}: not a whole trace ({error}). Run the scenario again.") from error
    return Trace(record, _frame(path, table, TABLES[record.table]))


def write_scores(path: Path, rows: list[dict[str, object]]) -> None:
    """Write one scenario's scores, the rows of `schema.SCORES`."""
    _write(path, pa.Table.from_pylist(rows, schema=SCORES))


def read_scores(path: Path) -> pd.DataFrame:
    """The scores at `path`; raises TraceError where the file is broken or of another version."""
    return _frame(path, _read(path), SCORES)


def write_states(path: Path, rows: list[dict[str, object]]) -> None:
    """Write one scenario's states, the rows of `states.STATES`."""
    _write(path, pa.Table.from_pylist(rows, schema=STATES))


def read_states(path: Path) -> pd.DataFrame:
    """The states at `path`; raises TraceError where the file is broken or of another version."""
    return _frame(path, _read(path), STATES)


def frame_of(rows: list[dict[str, object]], table: str = "positions") -> pd.DataFrame:
    """The rows as they would be read back."""
    schema = TABLES[table]
    frame: pd.DataFrame = pa.Table.from_pylist(rows, schema=schema).to_pandas(
        types_mapper=NULLABLE.get
    )
    return frame


def _write(path: Path, table: pa.Table) -> None:
    with whole_file(path) as file:
        pq.write_table(table, file, compression="zstd")


def _read(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowException, ValueError) as error:
        raise TraceError(f"{path}: not a whole trace ({error}). Run the scenario again.") from error


def _frame(path: Path, table: pa.Table, schema: pa.Schema) -> pd.DataFrame:
    if table.schema.remove_metadata() != schema:
        raise TraceError(f"{path}: its columns are not those of schema version {SCHEMA_VERSION}.")
    frame: pd.DataFrame = table.to_pandas(types_mapper=NULLABLE.get)
    return frame
