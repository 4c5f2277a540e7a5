//! Letters as the Python that runs knows them: its version of Unicode counts, not that of Rust.

use hashbrown::HashMap;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::marks::Letters;

/// The one letter whose lower case depends on what stands around it.
const SIGMA: char = 'Σ';
const MOST_KNOWN: usize = 1 << 16;

/// What Python has said about letters until now.
#[derive(Default)]
pub struct Known {
    lower: HashMap<char, Box<str>>,
    decimal: HashMap<char, bool>,
}

/// Letters beyond ASCII, looked up and asked for.
pub struct Asked<'a, 'py> {
    pub py: Python<'py>,
    pub known: &'a mut Known,
}

impl Letters for Asked<'_, '_> {
    fn lower(&mut self, letter: char) -> Option<&str> {
        if letter == SIGMA {
            return None;
        }
        let known = &mut self.known.lower;
        if !known.contains_key(&letter) {
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            let lower = ask(self.py, letter).ok()?;
            known.insert(letter, lower.into_boxed_str());
        }
        known.get(&letter).map(AsRef::as_ref)
    }

    fn is_decimal(&mut self, letter: char) -> Option<bool> {
        let known = &mut self.known.decimal;
        if let Some(&is_decimal) = known.get(&letter) {
            return Some(is_decimal);
        }
        let said = text(self.py, letter).call_method0("isdecimal").ok()?;
        let is_decimal = said.extract().ok()?;
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(letter, is_decimal);
        Some(is_decimal)
    }
}

fn ask(py: Python<'_>, letter: char) -> PyResult<String> {
    let lower: String = text(py, letter).call_method0("lower")?.extract()?;
    let word = |letter| text(py, letter).call_method0("isalnum")?.extract::<bool>();
    lower
        .chars()
        .map(|letter| Ok(if word(letter)? { letter } else { ' ' }))
        .collect()
}

fn text(py: Python<'_>, letter: char) -> Bound<'_, PyString> {
    PyString::new(py, letter.encode_utf8(&mut [0; 4]))
}
