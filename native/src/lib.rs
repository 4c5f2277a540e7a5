//! The text functions of Eddy as native code. Each returns what its twin in Python returns, or leaves the text to it.

pub mod blank;
pub mod decision;
pub mod digest;
pub mod json;
pub mod marks;
#[cfg(feature = "python")]
mod python;
pub mod result_text;
pub mod used;
pub mod varint;
