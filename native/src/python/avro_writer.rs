//! Records into the bytes of Avro, along a plan that Python makes of a schema.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::varint;

/// How a value is written.
enum Plan {
    Text,
    Long,
    Double,
    Boolean,
    /// A whole number as `long`, any other as `double`: the second and the third branch of a union with null.
    Number,
    /// The second branch of a union with null.
    Nullable(Box<Plan>),
    Array(Box<Plan>),
    Map(Box<Plan>),
    Record(Vec<Field>),
}

struct Field {
    name: Py<PyString>,
    plan: Plan,
    default: Option<Py<PyAny>>,
}

impl Plan {
    /// Reads a plan: a name, or a tuple of a name and what belongs to it.
    fn read(plan: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(name) = plan.cast::<PyString>() {
            return match name.to_str()? {
                "string" => Ok(Self::Text),
                "long" => Ok(Self::Long),
                "double" => Ok(Self::Double),
                "boolean" => Ok(Self::Boolean),
                "number" => Ok(Self::Number),
                _ => Err(unknown()),
            };
        }
        let (name, inner): (String, Bound<'_, PyAny>) = plan.extract()?;
        match name.as_str() {
            "nullable" => Ok(Self::Nullable(Box::new(Self::read(&inner)?))),
            "array" => Ok(Self::Array(Box::new(Self::read(&inner)?))),
            "map" => Ok(Self::Map(Box::new(Self::read(&inner)?))),
            "record" => inner
                .try_iter()?
                .map(|field| Field::read(&field?))
                .collect::<PyResult<_>>()
                .map(Self::Record),
            _ => Err(unknown()),
        }
    }

    /// Appends a value; `None` for one that does not fit, or of which only Python knows whether it does.
    fn write(&self, value: &Bound<'_, PyAny>, written: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Text => write_text(value.cast::<PyString>().ok()?, written)?,
            Self::Long => varint::write(long(value)?, written),
            Self::Double => written.extend_from_slice(&double(value)?.to_le_bytes()),
            Self::Boolean => written.push(u8::from(value.cast_exact::<PyBool>().ok()?.is_true())),
            _ if value.is_none() && self.is_nullable() => written.push(0),
            Self::Number => {
                if let Some(whole) = long(value) {
                    written.push(2);
                    varint::write(whole, written);
                } else {
                    written.push(4);
                    written.extend_from_slice(&double(value)?.to_le_bytes());
                }
            }
            Self::Nullable(inner) => {
                written.push(2);
                inner.write(value, written)?;
            }
            Self::Array(items) => write_array(items, value, written)?,
            Self::Map(values) => write_map(values, value, written)?,
            Self::Record(fields) => {
                let record = value.cast_exact::<PyDict>().ok()?;
                for field in fields {
                    match record.get_item(field.name.bind(record.py())).ok()? {
                        Some(value) => field.plan.write(&value, written)?,
                        None => field
                            .plan
                            .write(field.default.as_ref()?.bind(record.py()), written)?,
                    }
                }
            }
        }
        Some(())
    }

    fn is_nullable(&self) -> bool {
        matches!(self, Self::Nullable(_) | Self::Number)
    }
}

impl Field {
    fn read(field: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (name, plan, has_default, default): (
            Bound<'_, PyString>,
            Bound<'_, PyAny>,
            bool,
            Bound<'_, PyAny>,
        ) = field.extract()?;
        let name = PyString::intern(name.py(), name.to_str()?).unbind();
        Ok(Self {
            name,
            plan: Plan::read(&plan)?,
            default: has_default.then(|| default.unbind()),
        })
    }
}

fn unknown() -> PyErr {
    PyValueError::new_err("the plan names a type that is not known")
}

fn write_text(text: &Bound<'_, PyString>, written: &mut Vec<u8>) -> Option<()> {
    let text = text.to_str().ok()?;
    varint::write(i64::try_from(text.len()).ok()?, written);
    written.extend_from_slice(text.as_bytes());
    Some(())
}

fn write_array(items: &Plan, value: &Bound<'_, PyAny>, written: &mut Vec<u8>) -> Option<()> {
    if let Ok(list) = value.cast_exact::<PyList>() {
        begin_block(list.len(), written)?;
        list.iter()
            .try_for_each(|item| items.write(&item, written))?;
    } else if !value.is_none() {
        let tuple = value.cast_exact::<PyTuple>().ok()?;
        begin_block(tuple.len(), written)?;
        tuple
            .iter()
            .try_for_each(|item| items.write(&item, written))?;
    }
    written.push(0);
    Some(())
}

fn write_map(values: &Plan, value: &Bound<'_, PyAny>, written: &mut Vec<u8>) -> Option<()> {
    let map = value.cast_exact::<PyDict>().ok()?;
    begin_block(map.len(), written)?;
    for (key, value) in map {
        write_text(key.cast::<PyString>().ok()?, written)?;
        values.write(&value, written)?;
    }
    written.push(0);
    Some(())
}

/// A list without items has no block.
fn begin_block(items: usize, written: &mut Vec<u8>) -> Option<()> {
    if items > 0 {
        varint::write(i64::try_from(items).ok()?, written);
    }
    Some(())
}

/// A whole number of 64 bits; true and false are none.
fn long(value: &Bound<'_, PyAny>) -> Option<i64> {
    value.cast_exact::<PyInt>().ok()?.extract().ok()
}

/// A number as a double; whole ones count.
fn double(value: &Bound<'_, PyAny>) -> Option<f64> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "rounds to the nearest, as Python does"
    )]
    value
        .cast_exact::<PyFloat>()
        .ok()
        .map(PyFloatMethods::value)
        .or_else(|| long(value).map(|whole| whole as f64))
}

/// Writes records of one schema. Calling it gives the bytes, or `None` for what is left to Python.
#[pyclass(frozen, module = "eddy_native")]
pub struct AvroWriter {
    plan: Plan,
    prefix: Vec<u8>,
}

#[pymethods]
impl AvroWriter {
    #[new]
    fn new(plan: &Bound<'_, PyAny>, prefix: Vec<u8>) -> PyResult<Self> {
        Ok(Self {
            plan: Plan::read(plan)?,
            prefix,
        })
    }

    fn __call__<'py>(&self, record: &Bound<'py, PyAny>) -> Option<Bound<'py, PyBytes>> {
        let mut written = Vec::with_capacity(1024);
        written.extend_from_slice(&self.prefix);
        self.plan.write(record, &mut written)?;
        Some(PyBytes::new(record.py(), &written))
    }
}
