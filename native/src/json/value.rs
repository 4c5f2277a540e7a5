//! A JSON value, and how it is written.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write;

use super::Style;

/// A value that was read. Numbers are kept as they are to be written.
pub enum Value<'a> {
    /// true, false or null.
    Word(&'static str),
    Number(Cow<'a, str>),
    Text(Cow<'a, str>),
    Items(Vec<Value<'a>>),
    /// In the order of their keys, each key once.
    Members(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// Returns an object; of equal keys the last counts.
    pub fn members(mut members: Vec<(Cow<'a, str>, Value<'a>)>) -> Self {
        members.sort_by(|(one, _), (other, _)| by_utf16(one, other));
        // The sort keeps the order of equal keys, and of two of them the first goes.
        members.dedup_by(|later, earlier| {
            let equal = later.0 == earlier.0;
            if equal {
                std::mem::swap(later, earlier);
            }
            equal
        });
        Self::Members(members)
    }

    /// Appends the value to a text.
    pub fn write(&self, written: &mut String, style: Style) {
        match self {
            Self::Word(word) => written.push_str(word),
            Self::Number(number) if style == Style::Loose => {
                written.push('"');
                written.push_str(number);
                written.push('"');
            }
            Self::Number(number) => written.push_str(number),
            Self::Text(text) => write_text(written, text),
            Self::Items(items) => {
                let mut before = '[';
                for item in items {
                    written.push(before);
                    item.write(written, style);
                    before = ',';
                }
                written.push_str(if items.is_empty() { "[]" } else { "]" });
            }
            Self::Members(members) => write_members(written, members, style),
        }
    }
}

fn write_members(written: &mut String, members: &[(Cow<'_, str>, Value<'_>)], style: Style) {
    written.push('{');
    let first = written.len();
    for (key, value) in members {
        let before = written.len();
        if before > first {
            written.push(',');
        }
        write_text(written, key);
        written.push(':');
        let start = written.len();
        value.write(written, style);
        let is_empty = matches!(written.get(start..), Some("null" | "\"\"" | "[]" | "{}"));
        if is_empty && style == Style::Loose {
            written.truncate(before);
        }
    }
    written.push('}');
}

fn write_text(written: &mut String, text: &str) {
    written.push('"');
    let mut rest = text;
    while let Some(at) = rest
        .bytes()
        .position(|byte| byte < b' ' || byte == b'"' || byte == b'\\')
    {
        let Some((plain, escaped)) = rest.split_at_checked(at) else {
            break;
        };
        written.push_str(plain);
        let mut letters = escaped.chars();
        match letters.next() {
            Some('"') => written.push_str("\\\""),
            Some('\\') => written.push_str("\\\\"),
            Some('\u{8}') => written.push_str("\\b"),
            Some('\u{c}') => written.push_str("\\f"),
            Some('\n') => written.push_str("\\n"),
            Some('\r') => written.push_str("\\r"),
            Some('\t') => written.push_str("\\t"),
            other => {
                // Writing into a text cannot fail.
                let _ = write!(written, "\\u{:04x}", other.map_or(0, u32::from));
            }
        }
        rest = letters.as_str();
    }
    written.push_str(rest);
    written.push('"');
}

fn by_utf16(one: &str, other: &str) -> Ordering {
    // The orders differ only between letters from U+E000 on and those beyond U+FFFF.
    if one.bytes().chain(other.bytes()).all(|byte| byte < 0xee) {
        one.cmp(other)
    } else {
        one.encode_utf16().cmp(other.encode_utf16())
    }
}
