//! What Python calls. Every function returns `None` for what it leaves to its twin in Python.

use pyo3::prelude::*;

mod avro_reader;
mod avro_writer;
mod letters;
mod record;
mod texts;

/// Text functions of Eddy as native code.
#[pymodule]
mod eddy_native {
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    /// Of what the functions return. It changes with any function that has a twin in Python, here and in
    /// `streams/core/native.py`.
    #[pymodule_export]
    const REVISION: u32 = 3;

    #[pymodule_export]
    use super::avro_reader::AvroReader;
    #[pymodule_export]
    use super::avro_writer::AvroWriter;
    #[pymodule_export]
    use super::record::known_fields;
    #[pymodule_export]
    use super::texts::{places, read_texts, shared};
}
