//! One spelling for arguments that mean the same (specification 3.1 and 3.1b).

mod number;
mod reader;
mod value;

use reader::{Fault, read};

/// The two spellings of the arguments of a call.
#[derive(Debug, PartialEq, Eq)]
pub enum Forms {
    /// They are not one JSON value, so they stay as they are.
    Raw,
    /// They are one, written in both ways.
    Written {
        /// As specification 3.1 says.
        canonical: String,
        /// As specification 3.1b says: numbers as text, members without content left out.
        loose: String,
    },
    /// They hold half a surrogate pair, which no text in Rust can.
    NotMine,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Canonical,
    Loose,
}

/// Writes the arguments of a call in both ways.
#[must_use]
pub fn forms(arguments: &str) -> Forms {
    match read(arguments) {
        Ok(value) => {
            let [canonical, loose] = [Style::Canonical, Style::Loose].map(|style| {
                let mut written = String::with_capacity(arguments.len() + 16);
                value.write(&mut written, style);
                written
            });
            Forms::Written { canonical, loose }
        }
        Err(Fault::NotJson) => Forms::Raw,
        Err(Fault::HalfPair) => Forms::NotMine,
    }
}

#[cfg(test)]
mod tests {
    use super::{Forms, forms};

    fn canonical(text: &str) -> Option<String> {
        match forms(text) {
            Forms::Written { canonical, .. } => Some(canonical),
            _ => None,
        }
    }

    fn loose(text: &str) -> Option<String> {
        match forms(text) {
            Forms::Written { loose, .. } => Some(loose),
            _ => None,
        }
    }

    #[test]
    fn the_examples_of_the_canonical_form_hold() {
        for (text, wanted) in [
            (r#"{"b":1,"a":2}"#, r#"{"a":2,"b":1}"#),
            (
                r#" { "b" : [ 1 , {"d":1,"c":null} ] } "#,
                r#"{"b":[1,{"c":null,"d":1}]}"#,
            ),
            (r#"{"x":1.0,"y":1E2,"z":-0.0}"#, r#"{"x":1,"y":100,"z":0}"#),
            (r#"{"a":1,"a":[2]}"#, r#"{"a":[2]}"#),
            (
                r#""\u00e9\/\u0001\u001f\ud83d\ude00\"""#,
                "\"é/\\u0001\\u001f😀\\\"\"",
            ),
            ("-0", "0"),
            (
                "123456789012345678901234567890",
                "123456789012345678901234567890",
            ),
            (
                "{\"\u{e000}\":1,\"\u{10000}\":2}",
                "{\"\u{10000}\":2,\"\u{e000}\":1}",
            ),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(wanted));
        }
    }

    #[test]
    fn the_examples_of_the_loose_form_hold() {
        for (text, wanted) in [
            (r#"{"id":61}"#, r#"{"id":"61"}"#),
            (r#"{"id":"61","page":null}"#, r#"{"id":"61"}"#),
            (
                r#"{"a":[1,null,""],"b":{"c":{"d":""}}}"#,
                r#"{"a":["1",null,""]}"#,
            ),
            (
                r#"{"x":2.50,"y":-0.0,"z":true}"#,
                r#"{"x":"2.5","y":"0","z":true}"#,
            ),
            (r#"{"q":"a  b"}"#, r#"{"q":"a  b"}"#),
            (r#"{"a":null}"#, "{}"),
            ("61", r#""61""#),
        ] {
            assert_eq!(loose(text).as_deref(), Some(wanted));
        }
    }

    #[test]
    fn what_is_not_json_stays() {
        let deep = "[".repeat(101) + &"]".repeat(101);
        for text in [
            r#"{"a":1,}"#,
            "ls -la {",
            "01",
            "1.",
            ".5",
            "+1",
            "NaN",
            "-Infinity",
            "1e400",
            "\"\n\"",
            "\"",
            "[1",
            "{\"a\"}",
            "{1:2}",
            "nul",
            "truefalse",
            "1 2",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\u{feff}1",
            "\u{a0}1",
            " ",
            &deep,
        ] {
            assert_eq!(forms(text), Forms::Raw, "{text}");
        }
        let deepest = "[".repeat(100) + &"]".repeat(100);
        assert_eq!(canonical(&deepest).as_ref(), Some(&deepest));
    }

    #[test]
    fn half_a_surrogate_pair_is_left_to_python() {
        for text in [
            r#""\ud800""#,
            r#""\ud800x""#,
            r#""\udc00\ud800""#,
            r#"{"\ud800\u0041":1}"#,
        ] {
            assert_eq!(forms(text), Forms::NotMine);
        }
    }
}
