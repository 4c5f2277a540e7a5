//! Bytes of Avro into records, along a plan that Python makes of the schema they were written with.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

use crate::varint;

/// Items of lists that one record may have here. Python counts exactly what larger ones may cost.
const MOST_ITEMS: i64 = 10_000;

/// How a value is read.
enum Plan {
    Null,
    Text,
    Long,
    Double,
    Boolean,
    Union(Vec<Plan>),
    Array(Box<Plan>),
    Map(Box<Plan>),
    Record { fields: Vec<Plan>, names: Vec<Name> },
}

/// A field of the record as it is returned.
struct Name {
    name: Py<PyString>,
    value: Source,
}

enum Source {
    /// The number of a field that was read.
    Field(usize),
    /// What stands for a field that the data do not have.
    Default(Py<PyAny>),
}

impl Plan {
    /// Reads a plan: a name, or a tuple of a name and what belongs to it.
    fn read(plan: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(name) = plan.cast::<PyString>() {
            return match name.to_str()? {
                "null" => Ok(Self::Null),
                "string" => Ok(Self::Text),
                "long" => Ok(Self::Long),
                "double" => Ok(Self::Double),
                "boolean" => Ok(Self::Boolean),
                _ => Err(unknown()),
            };
        }
        let (name, inner): (String, Bound<'_, PyAny>) = plan.extract()?;
        match name.as_str() {
            "union" => Self::all(&inner).map(Self::Union),
            "array" => Ok(Self::Array(Box::new(Self::read(&inner)?))),
            "map" => Ok(Self::Map(Box::new(Self::read(&inner)?))),
            "record" => {
                let (fields, names): (Bound<'_, PyAny>, Bound<'_, PyAny>) = inner.extract()?;
                let names = names
                    .try_iter()?
                    .map(|name| Name::read(&name?))
                    .collect::<PyResult<_>>()?;
                Ok(Self::Record {
                    fields: Self::all(&fields)?,
                    names,
                })
            }
            _ => Err(unknown()),
        }
    }

    fn all(plans: &Bound<'_, PyAny>) -> PyResult<Vec<Self>> {
        plans.try_iter()?.map(|plan| Self::read(&plan?)).collect()
    }
}

impl Name {
    fn read(name: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (name, field, default): (Bound<'_, PyString>, Option<usize>, Bound<'_, PyAny>) =
            name.extract()?;
        let value = field.map_or_else(|| Source::Default(default.unbind()), Source::Field);
        Ok(Self {
            name: PyString::intern(name.py(), name.to_str()?).unbind(),
            value,
        })
    }
}

fn unknown() -> PyErr {
    PyValueError::new_err("the plan names a type that is not known")
}

/// What of the data is left to read.
struct Reader<'a, 'py> {
    py: Python<'py>,
    data: &'a [u8],
    items: i64,
}

impl<'a, 'py> Reader<'a, 'py> {
    /// Reads a value; `None` if the data do not hold one, which Python then says why.
    fn value(&mut self, plan: &Plan) -> Option<Bound<'py, PyAny>> {
        let py = self.py;
        Some(match plan {
            Plan::Null => py.None().into_bound(py),
            Plan::Text => self.text()?.into_any(),
            Plan::Long => PyInt::new(py, self.integer()?).into_any(),
            Plan::Double => {
                PyFloat::new(py, f64::from_le_bytes(*self.take(8)?.first_chunk()?)).into_any()
            }
            Plan::Boolean => match self.byte()? {
                truth @ (0 | 1) => PyBool::new(py, truth == 1).to_owned().into_any(),
                _ => return None,
            },
            Plan::Union(branches) => {
                let branch = self.byte()?;
                let index = if branch % 2 == 0 {
                    branch / 2
                } else {
                    return None;
                };
                self.value(branches.get(usize::from(index))?)?
            }
            Plan::Array(items) => self.array(items)?.into_any(),
            Plan::Map(values) => self.map(values)?.into_any(),
            Plan::Record { fields, names } => self.record(fields, names)?.into_any(),
        })
    }

    fn record(&mut self, fields: &[Plan], names: &[Name]) -> Option<Bound<'py, PyDict>> {
        let mut values = Vec::with_capacity(fields.len());
        for field in fields {
            values.push(self.value(field)?);
        }
        let record = PyDict::new(self.py);
        for Name { name, value } in names {
            let value = match value {
                Source::Field(number) => values.get(*number)?,
                Source::Default(default) => default.bind(self.py),
            };
            record.set_item(name.bind(self.py), value).ok()?;
        }
        Some(record)
    }

    fn array(&mut self, items: &Plan) -> Option<Bound<'py, PyList>> {
        let list = PyList::empty(self.py);
        loop {
            let count = self.block()?;
            if count == 0 {
                return Some(list);
            }
            for _ in 0..count {
                list.append(self.value(items)?).ok()?;
            }
        }
    }

    fn map(&mut self, values: &Plan) -> Option<Bound<'py, PyDict>> {
        let map = PyDict::new(self.py);
        loop {
            let count = self.block()?;
            if count == 0 {
                return Some(map);
            }
            for _ in 0..count {
                let key = self.text()?;
                map.set_item(key, self.value(values)?).ok()?;
            }
        }
    }

    /// Returns how many items the next block has.
    fn block(&mut self) -> Option<i64> {
        let mut count = self.integer()?;
        if count < 0 {
            count = count.checked_neg()?;
            if self.integer()? < 0 {
                return None;
            }
        }
        self.items = self.items.checked_add(count)?;
        (self.items <= MOST_ITEMS).then_some(count)
    }

    fn text(&mut self) -> Option<Bound<'py, PyString>> {
        let length = usize::try_from(self.integer()?).ok()?;
        let text = self.take(length)?;
        PyString::from_bytes(self.py, text).ok()
    }

    fn integer(&mut self) -> Option<i64> {
        let (number, rest) = varint::read(self.data)?;
        self.data = rest;
        Some(number)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.data.split_at_checked(bytes)?;
        self.data = rest;
        Some(taken)
    }
}

/// Reads records of one schema. Calling it gives the record, or `None` for data that are left to Python.
#[pyclass(frozen, module = "eddy_native")]
pub struct AvroReader {
    plan: Plan,
}

#[pymethods]
impl AvroReader {
    #[new]
    fn new(plan: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self {
            plan: Plan::read(plan)?,
        })
    }

    fn __call__<'py>(&self, data: &Bound<'py, PyBytes>, start: usize) -> Option<Bound<'py, PyAny>> {
        let mut reader = Reader {
            py: data.py(),
            data: data.as_bytes().get(start..)?,
            items: 0,
        };
        let record = reader.value(&self.plan)?;
        reader.data.is_empty().then_some(record)
    }
}
