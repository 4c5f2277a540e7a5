//! Letters as the Python that runs knows them: its version of Unicode counts, not that of Rust.

use hashbrown::HashMap;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::marks::Letters;

/// The one letter whose lower case depends on what stands around it.
const SIGMA: char = 'Σ';
const MOST_KNOWN: usize = 1 << 16;

/// What Python has said about letters until now.
pub type Known = HashMap<char, Box<str>>;

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
        if !self.known.contains_key(&letter) {
            if self.known.len() >= MOST_KNOWN {
                self.known.clear();
            }
            let lower = ask(self.py, letter).ok()?;
            self.known.insert(letter, lower.into_boxed_str());
        }
        self.known.get(&letter).map(AsRef::as_ref)
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
