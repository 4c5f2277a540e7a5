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

/// Characters of a result, or an intent, that are heard, and of the arguments that add nothing.
const HEARD_CHARACTERS: usize = 600;
const OWN_CHARACTERS: usize = 1_000;
/// Answers that add more words than this are compared by a sample of them.
const LONG: usize = 32;
/// Words of the sample: those with the lowest marks, so that equal texts give equal samples.
const SAMPLE: usize = 12;
/// Characters of the mark of a word that is compared.
const SHORT_MARK: usize = 3;

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

    /// Whether a letter beyond ASCII is a decimal digit; `None` if that is not to be had.
    fn is_decimal(&mut self, letter: char) -> Option<bool>;
}

/// The texts of a step.
#[derive(Clone, Copy, Default)]
pub struct Step<'a> {
    /// Intent, tool and arguments.
    pub said: &'a str,
    /// The result text.
    pub told: &'a str,
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
    /// What is said, and the target.
    pub spoken: String,
}

/// A call and its answer.
#[derive(Clone, Copy, Default)]
pub struct Answer<'a> {
    /// What is intended, empty without it.
    pub intent: &'a str,
    /// The arguments; `None` without a tool.
    pub arguments: Option<&'a str>,
    /// The normalised result text, empty without one.
    pub result: &'a str,
}

/// What an answer adds to its call (specification 6.3b).
pub struct Added {
    /// The words, with spaces in between.
    pub text: String,
    /// How many these are.
    pub size: usize,
    /// The numbers beside them.
    pub numbers: Vec<String>,
    /// Short marks of the words that are compared, in order.
    pub sample: Vec<String>,
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
        let mut spoken = Vec::new();
        self.begin();
        self.add(said, letters, &mut spoken)?;
        self.add(first(step.target, room), letters, &mut spoken)?;
        let text = |marks| String::from_utf8(marks).ok();
        Some(StepMarks {
            step: text(marks)?,
            spoken: text(spoken)?,
        })
    }

    /// Returns what an answer adds to its call; `None` if the letters of a text are not to be had.
    pub fn added(&mut self, answer: &Answer<'_>, letters: &mut impl Letters) -> Option<Added> {
        let mut text = String::new();
        // Where each word ends in the text, and its mark.
        let mut found: Vec<(usize, Mark)> = Vec::new();
        let mut keep = |word: &[u8], mark| {
            text.push_str(std::str::from_utf8(word).unwrap_or_default());
            found.push((text.len(), mark));
        };
        self.begin();
        if let Some(arguments) = answer.arguments {
            self.each_new(first(arguments, OWN_CHARACTERS), letters, |_, _| ())?;
        } else {
            self.each_new(first(answer.intent, HEARD_CHARACTERS), letters, &mut keep)?;
        }
        self.each_new(first(answer.result, HEARD_CHARACTERS), letters, &mut keep)?;
        let mut words = Vec::with_capacity(found.len());
        let mut from = 0;
        for (end, mark) in found {
            words.push((text.get(from..end)?, mark));
            from = end;
        }
        let mut numbers = Vec::new();
        if answer.arguments.is_some() {
            let mut decimal = Vec::with_capacity(words.len());
            for (word, _) in &words {
                decimal.push(is_decimal(word, letters)?);
            }
            let digits = decimal.iter().filter(|&&each| each).count();
            if digits > 0 && digits * 3 <= words.len() * 2 {
                let (those, others) = words
                    .iter()
                    .zip(decimal)
                    .partition::<Vec<_>, _>(|each| each.1);
                numbers = those
                    .iter()
                    .map(|&(&(word, _), _)| word.to_owned())
                    .collect();
                words = others.into_iter().map(|(&word, _)| word).collect();
            }
        }
        let mut joined = String::with_capacity(text.len() + words.len());
        for (word, _) in &words {
            if !joined.is_empty() {
                joined.push(' ');
            }
            joined.push_str(word);
        }
        let marks = words.iter().map(|&(_, mark)| mark).collect();
        Some(Added {
            text: joined,
            size: words.len(),
            numbers,
            sample: compared(marks)
                .iter()
                .filter_map(|mark| {
                    Some(
                        std::str::from_utf8(mark.get(..SHORT_MARK)?)
                            .ok()?
                            .to_owned(),
                    )
                })
                .collect(),
        })
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
        self.each_new(text, letters, |_, mark| marks.extend_from_slice(&mark))
    }

    /// Gives every word that the text has not had yet, and its mark, to a function.
    fn each_new(
        &mut self,
        text: &str,
        letters: &mut impl Letters,
        mut take: impl FnMut(&[u8], Mark),
    ) -> Option<()> {
        let mut lower = std::mem::take(&mut self.lower);
        lower.clear();
        let known = lower_words(text, letters, &mut lower);
        if known.is_some() {
            // Every word ends with a space, and whoever looks `WIDE` bytes ahead stays inside.
            lower.extend_from_slice(&[b' '; LONGEST_REMEMBERED + 1]);
            let mut rest = lower.as_slice();
            while let Some((word, length)) = next_word(&mut rest) {
                let bytes = rest.get(..length).unwrap_or_default();
                let mark = match word {
                    Some(word) => self.new_mark(word, bytes),
                    None => self.new_mark_of_long(bytes),
                };
                if let Some(mark) = mark {
                    take(bytes, mark);
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

/// Whether a word is a number, as Python knows digits.
fn is_decimal(word: &str, letters: &mut impl Letters) -> Option<bool> {
    for letter in word.chars() {
        let is_digit = if letter.is_ascii() {
            letter.is_ascii_digit()
        } else {
            letters.is_decimal(letter)?
        };
        if !is_digit {
            return Some(false);
        }
    }
    Some(true)
}

/// Returns the marks of the words that are compared, in order.
fn compared(mut marks: Vec<Mark>) -> Vec<Mark> {
    if marks.len() > LONG {
        marks.select_nth_unstable(SAMPLE);
        marks.truncate(SAMPLE);
    }
    marks.sort_unstable();
    marks
}

/// Returns which marks of a text, counted from 0, are among some others. `None` if one is not made of marks.
#[must_use]
pub fn places(marks: &str, some: &str) -> Option<Vec<usize>> {
    let some = sorted(some)?;
    if !is_marks(marks) {
        return None;
    }
    let found = marks
        .as_bytes()
        .chunks_exact(WIDTH)
        .enumerate()
        .filter(|(_, mark)| some.binary_search(&number(mark)).is_ok())
        .map(|(at, _)| at);
    Some(found.collect())
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
    if !is_marks(marks) {
        return None;
    }
    let mut numbers: Vec<u64> = marks.as_bytes().chunks_exact(WIDTH).map(number).collect();
    numbers.sort_unstable();
    // Two words may have the same mark.
    numbers.dedup();
    Some(numbers)
}

fn is_marks(text: &str) -> bool {
    text.len().is_multiple_of(WIDTH) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn number(mark: &[u8]) -> u64 {
    mark.iter()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::{Added, Answer, Letters, Marks, Step, StepMarks, mark, places, shared};

    struct Few;

    impl Letters for Few {
        fn lower(&mut self, letter: char) -> Option<&str> {
            match letter {
                'é' | 'É' => Some("é"),
                '—' => Some(" "),
                'İ' => Some("i "),
                '٣' => Some("٣"),
                _ => None,
            }
        }

        fn is_decimal(&mut self, letter: char) -> Option<bool> {
            Some(letter == '٣')
        }
    }

    fn of(text: &str) -> Option<String> {
        step(Step {
            told: text,
            ..Step::default()
        })
        .map(|marks| marks.step)
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

    fn added(arguments: Option<&str>, intent: &str, result: &str) -> Option<Added> {
        let answer = Answer {
            intent,
            arguments,
            result,
        };
        Marks::default().added(&answer, &mut Few)
    }

    #[test]
    fn an_answer_adds_the_words_that_its_call_lacks() {
        let words = |arguments, intent, result| {
            added(arguments, intent, result).map(|added| (added.text, added.size, added.numbers))
        };
        let expected = |text: &str, size, numbers: &[&str]| {
            let numbers = numbers.iter().map(|&each| each.to_owned()).collect();
            Some((text.to_owned(), size, numbers))
        };
        let of_call = |result| words(Some("a.py"), "x", result);
        assert_eq!(of_call("A.py: ok, 3 é é"), expected("ok é", 2, &["3"]));
        assert_eq!(of_call("1 ٣ 2 b"), expected("1 ٣ 2 b", 4, &[]));
        assert_eq!(of_call("1 ٣ b"), expected("b", 1, &["1", "٣"]));
        assert_eq!(of_call(""), expected("", 0, &[]));
        assert_eq!(
            words(None, "try 3", "3 more"),
            expected("try 3 more", 3, &[])
        );
        let result = "w ".repeat(300) + "b";
        assert_eq!(of_call(&result), expected("w", 1, &[]));
        let arguments = "w ".repeat(600);
        assert_eq!(
            words(Some(&(arguments + "b")), "", "b"),
            expected("b", 1, &[])
        );
    }

    #[test]
    fn the_twelve_lowest_of_many_words_are_compared() {
        let sample = |count: usize| {
            let text: Vec<_> = (0..count).map(|at| format!("w{at}")).collect();
            let mut marks: Vec<_> = text.iter().map(|word| mark(word.as_bytes())).collect();
            marks.sort_unstable();
            let all: Vec<_> = marks
                .iter()
                .filter_map(|mark| String::from_utf8(mark[..3].to_vec()).ok())
                .collect();
            (
                added(Some(""), "", &text.join(" ")).map(|added| added.sample),
                all,
            )
        };
        let (found, all) = sample(32);
        assert_eq!(found.as_deref(), Some(all.as_slice()));
        let (found, all) = sample(33);
        assert_eq!(found.as_deref(), all.get(..12));
    }

    #[test]
    fn places_of_marks_count_from_0() {
        assert_eq!(places("aaaaabbbbbaaaaa", "cccccaaaaa"), Some(vec![0, 2]));
        assert_eq!(places("", "bbbbb"), Some(vec![]));
        assert_eq!(places("aaaaab", "bbbbb"), None);
        assert_eq!(places("aaaaa", "äbbb"), None);
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
