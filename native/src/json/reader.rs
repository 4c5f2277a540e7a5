//! A reader of JSON that is as strict as RFC 8259, and keeps numbers as they are written.

use std::borrow::Cow;

use super::number;
use super::value::Value;

const DEEPEST: usize = 100;

/// Why a text is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not one JSON value, or not one that specification 3.1 reads.
    NotJson,
    /// It may be one, and holds half a surrogate pair.
    HalfPair,
}

type Read<T> = Result<T, Fault>;

/// Reads a text that is one JSON value.
pub fn read(text: &str) -> Read<Value<'_>> {
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
    };
    reader.skip_blanks();
    let value = reader.value()?;
    reader.skip_blanks();
    if reader.at == text.len() {
        Ok(value)
    } else {
        Err(Fault::NotJson)
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Passes over a byte if it is the next one.
    fn take(&mut self, wanted: u8) -> bool {
        let there = self.peek() == Some(wanted);
        self.at += usize::from(there);
        there
    }

    fn must_take(&mut self, wanted: u8) -> Read<()> {
        if self.take(wanted) {
            Ok(())
        } else {
            Err(Fault::NotJson)
        }
    }

    /// The text from a place up to here.
    fn since(&self, start: usize) -> Read<&'a str> {
        self.text.get(start..self.at).ok_or(Fault::NotJson)
    }

    fn value(&mut self) -> Read<Value<'a>> {
        match self.peek() {
            Some(b'{') => self.nested(Self::members),
            Some(b'[') => self.nested(Self::items),
            Some(b'"') => Ok(Value::Text(self.string()?)),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(Fault::NotJson),
        }
    }

    fn nested(&mut self, inside: fn(&mut Self) -> Read<Value<'a>>) -> Read<Value<'a>> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Fault::NotJson);
        }
        self.at += 1;
        self.skip_blanks();
        let value = inside(self);
        self.depth -= 1;
        value
    }

    fn members(&mut self) -> Read<Value<'a>> {
        let mut members = Vec::new();
        if self.take(b'}') {
            return Ok(Value::members(members));
        }
        loop {
            let key = self.string()?;
            self.skip_blanks();
            self.must_take(b':')?;
            self.skip_blanks();
            members.push((key, self.value()?));
            self.skip_blanks();
            if !self.take(b',') {
                break;
            }
            self.skip_blanks();
        }
        self.must_take(b'}')?;
        Ok(Value::members(members))
    }

    fn items(&mut self) -> Read<Value<'a>> {
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::Items(items));
        }
        loop {
            items.push(self.value()?);
            self.skip_blanks();
            if !self.take(b',') {
                break;
            }
            self.skip_blanks();
        }
        self.must_take(b']')?;
        Ok(Value::Items(items))
    }

    fn word(&mut self, word: &'static str) -> Read<Value<'a>> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(Fault::NotJson);
        }
        self.at += word.len();
        Ok(Value::Word(word))
    }

    fn digits(&mut self) -> Read<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > start {
            Ok(())
        } else {
            Err(Fault::NotJson)
        }
    }

    fn number(&mut self) -> Read<Value<'a>> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        let whole = self.at;
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'-') {
                self.take(b'+');
            }
            self.digits()?;
        }
        let written = self.since(start)?;
        if self.at == whole {
            return Ok(Value::Number(Cow::Borrowed(if written == "-0" {
                "0"
            } else {
                written
            })));
        }
        number::shortest(written)
            .map(|number| Value::Number(Cow::Owned(number)))
            .ok_or(Fault::NotJson)
    }

    fn string(&mut self) -> Read<Cow<'a, str>> {
        self.must_take(b'"')?;
        let mut start = self.at;
        let mut decoded: Option<String> = None;
        loop {
            match self.peek() {
                Some(b'"') => {
                    let piece = self.since(start)?;
                    self.at += 1;
                    return Ok(match decoded {
                        None => Cow::Borrowed(piece),
                        Some(text) => Cow::Owned(text + piece),
                    });
                }
                Some(b'\\') => {
                    let piece = self.since(start)?;
                    self.at += 1;
                    let letter = self.escaped()?;
                    let text = decoded.get_or_insert_default();
                    text.push_str(piece);
                    text.push(letter);
                    start = self.at;
                }
                Some(0..=0x1f) | None => return Err(Fault::NotJson),
                Some(_) => self.at += 1,
            }
        }
    }

    /// Reads what follows a backslash.
    fn escaped(&mut self) -> Read<char> {
        let sign = self.peek().ok_or(Fault::NotJson)?;
        self.at += 1;
        match sign {
            b'"' | b'\\' | b'/' => Ok(char::from(sign)),
            b'b' => Ok('\u{8}'),
            b'f' => Ok('\u{c}'),
            b'n' => Ok('\n'),
            b'r' => Ok('\r'),
            b't' => Ok('\t'),
            b'u' => self.unicode(),
            _ => Err(Fault::NotJson),
        }
    }

    fn unicode(&mut self) -> Read<char> {
        let first = self.four_digits()?;
        if let Some(letter) = char::from_u32(first) {
            return Ok(letter);
        }
        let is_pair = first < 0xdc00 && self.take(b'\\') && self.take(b'u');
        let second = if is_pair { self.four_digits()? } else { 0 };
        if !(0xdc00..=0xdfff).contains(&second) {
            return Err(Fault::HalfPair);
        }
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
            .ok_or(Fault::HalfPair)
    }

    fn four_digits(&mut self) -> Read<u32> {
        let end = self.at + 4;
        let digits = self.text.get(self.at..end).ok_or(Fault::NotJson)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Fault::NotJson);
        }
        self.at = end;
        u32::from_str_radix(digits, 16).map_err(|_| Fault::NotJson)
    }
}
