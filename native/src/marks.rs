//! Texts as sets of words, each a mark of five characters (specification 3.3).

use std::hash::BuildHasher;

use blake2::digest::consts::U4;
use blake2::{Blake2b, Digest};
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::used::{USED, first, used};

/// Characters of a mark.
pub const WIDTH: usize = 5;

const MOST_REMEMBERED: usize = 1 << 16;
/// Bytes that are looked at together.
const WIDE: usize = size_of::<u64>();
const SPACES: u64 = u64::from_ne_bytes([b' '; WIDE]);
const LONGEST_REMEMBERED: usize = 3 * WIDE;

type Mark = [u8; WIDTH];

/// A word of at most `LONGEST_REMEMBERED` bytes, filled up with NUL, which is in no word.
type Word = [u64; 3];

/// A word, as it lies in the table: without a pointer, so that finding it touches one place of the memory.
struct Remembered {
    word: Word,
    /// The text that had it last.
    text: u32,
    mark: Mark,
}

/// The lower case of letters beyond ASCII, and which of them stand in words, as Python knows them.
pub trait Letters {
    /// Returns a letter in lower case, a space for everything that belongs to no word; `None` if that depends on
    /// what stands around it, or is not to be had.
    fn lower(&mut self, letter: char) -> Option<&str>;
}

/// The texts of a step.
#[derive(Clone, Copy, Default)]
pub struct Step<'a> {
    /// Intent, tool and arguments.
    pub said: &'a str,
    /// The result text.
    pub told: &'a str,
    /// The normalised result text; `None` if nothing but blanks differs from what is told.
    pub result: Option<&'a str>,
    /// The arguments.
    pub arguments: &'a str,
    /// What was acted on.
    pub target: &'a str,
}

impl Step<'_> {
    /// How many characters of a text behind what is said count.
    fn room(&self) -> usize {
        if self.said.is_empty() {
            USED
        } else {
            USED.saturating_sub(self.said.chars().count() + 1)
        }
    }
}

/// The marks of a step.
pub struct StepMarks {
    /// What only is said, then what is told.
    pub step: String,
    /// The normalised result.
    pub result: String,
    /// The arguments.
    pub arguments: String,
    /// What is said, and the target.
    pub spoken: String,
}

/// Words and their marks. Words come back all the time; if there are too many, all are forgotten.
#[derive(Default)]
pub struct Marks {
    known: HashTable<Remembered>,
    hasher: DefaultHashBuilder,
    /// Of the text that is read: words that it has already count once.
    text: u32,
    long: Vec<Vec<u8>>,
    lower: Vec<u8>,
}

impl Marks {
    /// Returns the marks of what belongs to a step; `None` if the letters of a text are not to be had.
    pub fn of_step(&mut self, step: &Step<'_>, letters: &mut impl Letters) -> Option<StepMarks> {
        let (said, told, room) = (used(step.said), first(step.told, step.room()), step.room());
        let mut marks_told = Vec::new();
        self.begin();
        self.add(told, letters, &mut marks_told)?;
        let mut marks = Vec::new();
        self.add(said, letters, &mut marks)?;
        marks.extend_from_slice(&marks_told);
        let result = match step.result {
            // Blanks make no difference to the words.
            None if told.len() == step.told.len() => marks_told,
            result => self.of(used(result.unwrap_or(step.told)), letters)?,
        };
        let arguments = self.of(used(step.arguments), letters)?;
        let mut spoken = Vec::new();
        self.begin();
        self.add(said, letters, &mut spoken)?;
        self.add(first(step.target, room), letters, &mut spoken)?;
        let text = |marks| String::from_utf8(marks).ok();
        Some(StepMarks {
            step: text(marks)?,
            result: text(result)?,
            arguments: text(arguments)?,
            spoken: text(spoken)?,
        })
    }

    /// Returns the marks of the words of a text, in the order in which they first occur.
    fn of(&mut self, text: &str, letters: &mut impl Letters) -> Option<Vec<u8>> {
        let mut marks = Vec::new();
        self.begin();
        self.add(text, letters, &mut marks)?;
        Some(marks)
    }

    fn begin(&mut self) {
        let next = self.text.checked_add(1);
        if next.is_none() || self.known.len() >= MOST_REMEMBERED {
            self.known.clear();
        }
        self.text = next.unwrap_or(1);
        self.long.clear();
    }

    /// Appends the marks of the words that the text has not had yet.
    fn add(&mut self, text: &str, letters: &mut impl Letters, marks: &mut Vec<u8>) -> Option<()> {
        let mut lower = std::mem::take(&mut self.lower);
        lower.clear();
        let known = lower_words(text, letters, &mut lower);
        if known.is_some() {
            // Every word ends with a space, and whoever looks `WIDE` bytes ahead stays inside.
            lower.extend_from_slice(&[b' '; LONGEST_REMEMBERED + 1]);
            let mut rest = lower.as_slice();
            while let Some((word, length)) = next_word(&mut rest) {
                let mark = match word {
                    Some(word) => self.new_mark(word, rest.get(..length).unwrap_or_default()),
                    None => self.new_mark_of_long(rest.get(..length).unwrap_or_default()),
                };
                if let Some(mark) = mark {
                    marks.extend_from_slice(&mark);
                }
                rest = rest.get(length..).unwrap_or_default();
            }
        }
        self.lower = lower;
        known
    }

    /// Returns the mark of a word that the text has not had yet.
    fn new_mark(&mut self, word: Word, letters: &[u8]) -> Option<Mark> {
        let hash = hashed(&self.hasher, word);
        if let Some(known) = self.known.find_mut(hash, |known| known.word == word) {
            let is_new = known.text != self.text;
            known.text = self.text;
            return is_new.then_some(known.mark);
        }
        let mark = mark(letters);
        let remembered = Remembered {
            word,
            text: self.text,
            mark,
        };
        let hasher = &self.hasher;
        self.known
            .insert_unique(hash, remembered, |known| hashed(hasher, known.word));
        Some(mark)
    }

    /// Does the same for a word that is too long to be remembered.
    fn new_mark_of_long(&mut self, word: &[u8]) -> Option<Mark> {
        if self.long.iter().any(|known| known == word) {
            return None;
        }
        self.long.push(word.to_vec());
        Some(mark(word))
    }
}

/// As a tuple it is hashed eight bytes at a time, as an array byte by byte.
fn hashed(hasher: &DefaultHashBuilder, [first, second, third]: Word) -> u64 {
    hasher.hash_one((first, second, third))
}

/// Moves to where the next word begins; returns the word unless it is too long, and its length.
fn next_word(rest: &mut &[u8]) -> Option<(Option<Word>, usize)> {
    let start = rest.iter().position(|&byte| byte != b' ')?;
    *rest = rest.get(start..)?;
    let (mut word, mut length) = (Word::default(), 0);
    for part in &mut word {
        let bytes = eight(rest, length);
        if let Some(before) = before_space(bytes) {
            *part = bytes & !(u64::MAX << (8 * before));
            return Some((Some(word), length + before));
        }
        *part = bytes;
        length += WIDE;
    }
    if rest.get(length) == Some(&b' ') {
        return Some((Some(word), length));
    }
    let length = rest.iter().position(|&byte| byte == b' ')?;
    Some((None, length))
}

/// The bytes from a place on, the first one lowest; spaces behind the end.
fn eight(text: &[u8], at: usize) -> u64 {
    text.get(at..)
        .and_then(<[u8]>::first_chunk)
        .map_or(SPACES, |bytes| u64::from_le_bytes(*bytes))
}

/// How many bytes stand before the first space.
fn before_space(bytes: u64) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; WIDE]);
    // A byte that is NUL becomes the lowest one whose highest bit is set.
    let differs = bytes ^ SPACES;
    let spaces = differs.wrapping_sub(ONES) & !differs & (ONES << 7);
    (spaces != 0).then(|| spaces.trailing_zeros() as usize / 8)
}

/// Appends a text in lower case, with a space for everything that belongs to no word.
fn lower_words(text: &str, letters: &mut impl Letters, lower: &mut Vec<u8>) -> Option<()> {
    let mut rest = text;
    loop {
        let ascii = if rest.is_ascii() {
            rest.len()
        } else {
            rest.bytes().position(|byte| byte >= 0x80)?
        };
        let (plain, other) = rest.split_at_checked(ascii)?;
        lower.extend(plain.bytes().map(|byte| {
            if byte.is_ascii_alphanumeric() {
                byte.to_ascii_lowercase()
            } else {
                b' '
            }
        }));
        let mut others = other.chars();
        let Some(letter) = others.next() else {
            return Some(());
        };
        lower.extend_from_slice(letters.lower(letter)?.as_bytes());
        rest = others.as_str();
    }
}

/// Returns the mark of a word: four bytes of `BLAKE2b`, as base 85 writes them.
fn mark(word: &[u8]) -> Mark {
    const DIGITS: &[u8; 85] =
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    let mut rest = u32::from_be_bytes(Blake2b::<U4>::digest(word).into());
    let mut mark = [b'0'; WIDTH];
    for place in mark.iter_mut().rev() {
        *place = usize::try_from(rest % 85)
            .ok()
            .and_then(|digit| DIGITS.get(digit))
            .copied()
            .unwrap_or(b'0');
        rest /= 85;
    }
    mark
}

/// Returns how many marks two sets share. `None` if one is not made of marks.
#[must_use]
pub fn shared(one: &str, other: &str) -> Option<usize> {
    let (one, other) = (sorted(one)?, sorted(other)?);
    let (mut at, mut shared) = (one.iter().peekable(), 0);
    for mark in &other {
        while at.next_if(|&each| each < mark).is_some() {}
        shared += usize::from(at.next_if_eq(&mark).is_some());
    }
    Some(shared)
}

/// The marks of a set as numbers, in order.
fn sorted(marks: &str) -> Option<Vec<u64>> {
    if !(marks.len().is_multiple_of(WIDTH) && marks.bytes().all(|byte| byte.is_ascii_graphic())) {
        return None;
    }
    let number = |mark: &[u8]| {
        mark.iter()
            .fold(0, |number, &byte| number << 8 | u64::from(byte))
    };
    let mut numbers: Vec<u64> = marks.as_bytes().chunks_exact(WIDTH).map(number).collect();
    numbers.sort_unstable();
    // Two words may have the same mark.
    numbers.dedup();
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::{Letters, Marks, Step, StepMarks, mark, shared};

    struct Few;

    impl Letters for Few {
        fn lower(&mut self, letter: char) -> Option<&str> {
            match letter {
                'é' | 'É' => Some("é"),
                '—' => Some(" "),
                'İ' => Some("i "),
                _ => None,
            }
        }
    }

    fn of(text: &str) -> Option<String> {
        step(Step {
            arguments: text,
            ..Step::default()
        })
        .map(|marks| marks.arguments)
    }

    fn step(step: Step<'_>) -> Option<StepMarks> {
        Marks::default().of_step(&step, &mut Few)
    }

    #[test]
    fn a_mark_is_what_python_makes_of_the_word() {
        assert_eq!(of("alpha").as_deref(), Some("4m6Rp"));
    }

    #[test]
    fn words_are_lower_case_runs_of_letters_and_digits_and_each_counts_once() {
        assert_eq!(of("Alpha-BETA_alpha 1"), of("alpha beta 1"));
        assert_eq!(of("É—é x"), of("é x"));
        assert_eq!(of("İx"), of("i x"));
        assert_eq!(of("ΑΣ"), None);
        let long = "w".repeat(40);
        assert_eq!(
            of(&format!("{long} {long}")).map(|marks| marks.len()),
            Some(5)
        );
    }

    #[test]
    fn words_of_every_length_have_their_mark_once() {
        for length in 1..60 {
            let word = "abcdefghij".repeat(6).split_off(60 - length);
            let mark = String::from_utf8(mark(word.as_bytes()).to_vec()).ok();
            assert_eq!(of(&word), mark);
            assert_eq!(of(&format!(" {word}  {word}/")), mark);
            let longer = format!("{word}0");
            let both = of(&format!("{word} {longer}"));
            assert_eq!(both, mark.zip(of(&longer)).map(|(one, other)| one + &other));
        }
    }

    #[test]
    fn what_is_told_stands_behind_what_only_is_said() {
        fn both(said: &str, told: &str) -> Option<String> {
            step(Step {
                said,
                told,
                ..Step::default()
            })
            .map(|marks| marks.step)
        }
        assert_eq!(both("a b d", "b c"), of("a d b c"));
        assert_eq!(both("", "b c"), of("b c"));
        assert_eq!(both(&"a ".repeat(2_000), "b"), of("a"));
        assert_eq!(
            both(&"a".repeat(3_998), "bc").map(|marks| marks.len()),
            Some(10)
        );
    }

    #[test]
    fn a_result_without_placeholders_has_the_words_that_are_told() {
        let result = |said, told, result| {
            step(Step {
                said,
                told,
                result,
                ..Step::default()
            })
            .map(|marks| marks.result)
        };
        assert_eq!(result("x", "b\nc", None), of("b c"));
        assert_eq!(result("x", "b 0.1s", Some("b <dur>")), of("b dur"));
        let told = "b ".repeat(1_999) + "c";
        assert_eq!(result("one more word", &told, None), of("b c"));
    }

    #[test]
    fn what_is_spoken_has_the_target_too() {
        let spoken = |said, target| {
            step(Step {
                said,
                target,
                ..Step::default()
            })
            .map(|marks| marks.spoken)
        };
        assert_eq!(spoken("read it", "src/a.py"), of("read it src a py"));
    }

    #[test]
    fn sets_share_what_is_in_both() {
        assert_eq!(shared("aaaaabbbbb", "bbbbbcccccddddd"), Some(1));
        assert_eq!(shared("", "bbbbb"), Some(0));
        assert_eq!(shared("aaaaab", "bbbbb"), None);
    }
}
