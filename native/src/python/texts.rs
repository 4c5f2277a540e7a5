//! What is derived from the texts of a record (specification 2.3).

use std::sync::{LazyLock, Mutex};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::letters::{Asked, Known};
use crate::decision::{Derived, Texts};
use crate::marks::Marks;

type Text<'py> = Bound<'py, PyString>;

#[derive(Default)]
struct Words {
    marks: Marks,
    letters: Known,
}

static WORDS: LazyLock<Mutex<Words>> = LazyLock::new(Mutex::default);

/// Computes what a decision derives from its texts, and puts it into its dictionary under the names there.
///
/// True if that was done; false for texts that are left to Python: then nothing was put anywhere.
#[pyfunction]
#[pyo3(signature = (into, action, intent, /))]
pub fn read_texts(
    into: &Bound<'_, PyDict>,
    action: &Bound<'_, PyDict>,
    intent: &Bound<'_, PyAny>,
) -> PyResult<bool> {
    let Some(given) = Given::read(action, intent)? else {
        return Ok(false);
    };
    let Some(texts) = given.texts() else {
        return Ok(false);
    };
    let Some(derived) = derived(into.py(), &texts) else {
        return Ok(false);
    };
    given.put(derived, into)?;
    Ok(true)
}

fn derived(py: Python<'_>, texts: &Texts<'_>) -> Option<Derived> {
    // To ask Python for a letter may let another thread run: to wait for that one here would be to wait for ever.
    let mut words = WORDS.try_lock().ok()?;
    let Words { marks, letters } = &mut *words;
    texts.derived(marks, &mut Asked { py, known: letters })
}

/// The texts of a record as Python has them. Those that are absent or empty are `None`, but for the result text.
struct Given<'py> {
    status: Option<Text<'py>>,
    intent: Option<Text<'py>>,
    tool: Option<Text<'py>>,
    input: Option<Text<'py>>,
    target: Option<Text<'py>>,
    told: Option<Text<'py>>,
}

impl<'py> Given<'py> {
    fn read(action: &Bound<'py, PyDict>, intent: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let py = action.py();
        let text = |name: &Text<'py>| -> PyResult<Option<Text<'py>>> {
            Ok(action
                .get_item(name)?
                .and_then(|value| value.cast_into::<PyString>().ok()))
        };
        let status = text(intern!(py, "status"))?;
        let failed = match &status {
            Some(status) => status == "failure",
            None => return Ok(None),
        };
        let error = if failed {
            text(intern!(py, "error"))?
        } else {
            None
        };
        let told = match error {
            Some(error) if !error.is_empty()? => Some(error),
            _ => text(intern!(py, "tool_output_summary"))?,
        };
        Ok(Some(Self {
            status,
            intent: intent.cast::<PyString>().ok().cloned(),
            tool: text(intern!(py, "tool_call"))?,
            input: text(intern!(py, "tool_input"))?,
            target: text(intern!(py, "target"))?,
            told,
        }))
    }

    /// The same as Rust has them; `None` if one of them has half a surrogate pair.
    fn texts(&self) -> Option<Texts<'_>> {
        Some(Texts {
            status: filled(self.status.as_ref())?,
            intent: filled(self.intent.as_ref())?,
            tool: filled(self.tool.as_ref())?,
            input: filled(self.input.as_ref())?,
            target: filled(self.target.as_ref())?,
            told: match &self.told {
                None => None,
                Some(told) => Some(told.to_str().ok()?),
            },
        })
    }

    fn put(self, derived: Derived, into: &Bound<'py, PyDict>) -> PyResult<()> {
        let py = into.py();
        let new = |text: String| PyString::new(py, &text);
        let given = self.input.unwrap_or_else(|| PyString::new(py, ""));
        let canonical = derived.canonical.map_or(given, new);
        let loose = derived.loose.map_or_else(|| canonical.clone(), new);
        let result = derived.result.map(new).or_else(|| self.told.clone());
        into.set_item(intern!(py, "result_text"), self.told)?;
        into.set_item(intern!(py, "canonical_input"), &canonical)?;
        into.set_item(intern!(py, "_input_forms"), (canonical, loose))?;
        into.set_item(intern!(py, "result"), result)?;
        into.set_item(intern!(py, "result_digest"), derived.result_digest)?;
        into.set_item(intern!(py, "call_digest"), derived.call_digest)?;
        into.set_item(intern!(py, "signature"), derived.signature)?;
        let marks = derived.marks;
        into.set_item(intern!(py, "_marks"), (marks.step, marks.spoken))?;
        let added = derived.added;
        into.set_item(
            intern!(py, "_added"),
            (added.text, added.size, added.numbers, added.sample),
        )
    }
}

fn filled<'a>(text: Option<&'a Text<'_>>) -> Option<&'a str> {
    text.map_or(Some(""), |text| text.to_str().ok())
}

/// Returns how many marks two sets share; `None` if one is not made of marks.
#[pyfunction]
#[pyo3(signature = (one, other, /))]
pub fn shared(one: &Text<'_>, other: &Text<'_>) -> Option<usize> {
    crate::marks::shared(one.to_str().ok()?, other.to_str().ok()?)
}

/// Returns which marks of a text, counted from 0, are among some others; `None` if one is not made of marks.
#[pyfunction]
#[pyo3(signature = (marks, some, /))]
pub fn places(marks: &Text<'_>, some: &Text<'_>) -> Option<Vec<usize>> {
    crate::marks::places(marks.to_str().ok()?, some.to_str().ok()?)
}
