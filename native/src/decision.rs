//! What is derived from the texts of a record (specification 2.3).

use crate::digest::{digest, digest_and_longer};
use crate::json::{Forms, forms};
use crate::marks::{Added, Answer, Letters, Marks, Step, StepMarks};
use crate::result_text::normalised;

/// The texts of a record.
#[derive(Clone, Copy, Default)]
pub struct Texts<'a> {
    /// success, failure, pending or skipped.
    pub status: &'a str,
    /// What is intended, empty without it.
    pub intent: &'a str,
    /// Name of the tool, empty without one.
    pub tool: &'a str,
    /// The arguments, empty without them.
    pub input: &'a str,
    /// The result text.
    pub told: Option<&'a str>,
    /// What was acted on, empty without it.
    pub target: &'a str,
}

/// What is derived from them.
pub struct Derived {
    /// The arguments in their canonical form; `None` if that is as they came.
    pub canonical: Option<String>,
    /// The arguments in their loose form; `None` if that is the canonical one.
    pub loose: Option<String>,
    /// The normalised result text; `None` if that is the result text as it came.
    pub result: Option<String>,
    /// Digest of the normalised result.
    pub result_digest: Option<String>,
    /// Digest of the call.
    pub call_digest: String,
    /// Digest of call, status and result.
    pub signature: String,
    /// The words of its parts.
    pub marks: StepMarks,
    /// What the answer adds to the call.
    pub added: Added,
}

impl Texts<'_> {
    /// Derives everything at once; `None` if a text is left to Python.
    pub fn derived(&self, marks: &mut Marks, letters: &mut impl Letters) -> Option<Derived> {
        let (canonical, loose) = match forms(self.input) {
            Forms::Raw => (None, None),
            Forms::Written { canonical, loose } => {
                let loose = (loose != canonical).then_some(loose);
                ((canonical != self.input).then_some(canonical), loose)
            }
            Forms::NotMine => return None,
        };
        let arguments = canonical.as_deref().unwrap_or(self.input);
        let result = self.told.and_then(normalised);
        let result_text = result.as_deref().or(self.told);
        let result_digest = result_text.map(digest);
        let outcome = result_digest.as_deref().unwrap_or_default();
        let [call_digest, signature] = self.digests(loose.as_deref().unwrap_or(arguments), outcome);
        let said = [self.intent, self.tool, arguments]
            .into_iter()
            .filter(|part| !part.is_empty());
        let step = Step {
            said: &said.collect::<Vec<_>>().join(" "),
            told: self.told.unwrap_or_default(),
            target: self.target,
        };
        let answer = Answer {
            intent: self.intent,
            arguments: (!self.tool.is_empty()).then_some(arguments),
            result: result_text.unwrap_or_default(),
        };
        let added = marks.added(&answer, letters)?;
        let marks = marks.of_step(&step, letters)?;
        Some(Derived {
            canonical,
            loose,
            result,
            result_digest,
            call_digest,
            signature,
            marks,
            added,
        })
    }

    fn digests(&self, loose: &str, outcome: &str) -> [String; 2] {
        let end = ["\0", self.status, "\0", outcome];
        if self.tool.is_empty() {
            let intent = normalised(self.intent);
            return digest_and_longer(&["text\0", intent.as_deref().unwrap_or(self.intent)], &end);
        }
        digest_and_longer(&["tool\0", self.tool, "\0", loose], &end)
    }
}

#[cfg(test)]
mod tests {
    use super::Texts;
    use crate::digest::digest;
    use crate::marks::{Letters, Marks};

    struct NoLetters;

    impl Letters for NoLetters {
        fn lower(&mut self, _letter: char) -> Option<&str> {
            None
        }

        fn is_decimal(&mut self, _letter: char) -> Option<bool> {
            None
        }
    }

    #[test]
    fn a_record_has_what_the_specification_derives() {
        let texts = Texts {
            status: "failure",
            intent: "look it  up",
            tool: "read",
            input: r#"{ "id": 61 }"#,
            told: Some("took 0.1s"),
            target: "/a",
        };
        let derived = texts.derived(&mut Marks::default(), &mut NoLetters);
        let Some(derived) = derived else {
            panic!("nothing is derived")
        };
        assert_eq!(derived.canonical.as_deref(), Some(r#"{"id":61}"#));
        assert_eq!(derived.loose.as_deref(), Some(r#"{"id":"61"}"#));
        assert_eq!(derived.result.as_deref(), Some("took <dur>"));
        let result = digest("took <dur>");
        assert_eq!(derived.result_digest.as_ref(), Some(&result));
        assert_eq!(derived.call_digest, digest("tool\0read\0{\"id\":\"61\"}"));
        assert_eq!(
            derived.signature,
            digest(&format!("tool\0read\0{{\"id\":\"61\"}}\0failure\0{result}"))
        );
    }

    #[test]
    fn a_record_without_a_tool_calls_its_intent() {
        let texts = Texts {
            status: "success",
            intent: "look it  up",
            ..Texts::default()
        };
        let Some(derived) = texts.derived(&mut Marks::default(), &mut NoLetters) else {
            panic!("nothing is derived")
        };
        assert_eq!(derived.call_digest, digest("text\0look it up"));
        assert_eq!(derived.signature, digest("text\0look it up\0success\0"));
        assert_eq!(derived.result_digest, None);
    }
}
