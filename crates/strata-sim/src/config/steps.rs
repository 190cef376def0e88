//! The machine instructions of a PTX instruction, one after another, where a row names them: `special +special f32*5 control`.

use super::kinds::{Kind, quoted};
use strata_core::OpClass;
use strata_core::config::Reader;
use toml::Spanned;
use toml::de::DeValue;

/// The most machine instructions that a row can name.
const MOST: usize = 32;
/// In a code: it goes beside the one before it.
const BESIDE: u8 = 0x80;

/// One of the machine instructions of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Its class, whose row says how long it takes and on which unit.
    pub class: OpClass,
    /// It reads what the one before it reads, and what it writes is wanted by the next branch, or at the end.
    pub beside: bool,
}

/// Machine instructions, each of which reads what the one before it writes unless it goes beside that.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    count: u8,
    /// By class, with [`BESIDE`].
    codes: [u8; MOST],
}

impl Default for Steps {
    fn default() -> Self {
        Self::NONE
    }
}

impl Steps {
    /// No steps: the instruction is what the other fields of its row say.
    pub const NONE: Self = Self { count: 0, codes: [0; MOST] };

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One after another.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Step> + ExactSizeIterator + '_ {
        let step = |code: &u8| Step { class: OpClass::ALL[usize::from(code & !BESIDE)], beside: code & BESIDE != 0 };
        self.codes[..usize::from(self.count)].iter().map(step)
    }

    /// The machine instructions that a text names; the word at fault, if one is no class of instructions, or they are too many.
    fn parse(text: &str) -> Result<Self, String> {
        let mut steps = Self::default();
        for word in text.split_whitespace() {
            let (beside, name) = word.strip_prefix('+').map_or((0, word), |name| (BESIDE, name));
            let (name, times) = match name.split_once('*') {
                Some((name, times)) => (name, times.parse::<usize>().ok().filter(|times| (1..=MOST).contains(times))),
                None => (name, Some(1)),
            };
            let class = OpClass::ALL.iter().position(|class| class.name() == name);
            let (Some(class), Some(times)) = (class, times) else { return Err(word.to_owned()) };
            for _ in 0..times {
                let next = steps.codes.get_mut(usize::from(steps.count)).ok_or_else(|| word.to_owned())?;
                *next = class as u8 | beside;
                steps.count += 1;
            }
        }
        Ok(steps)
    }
}

impl std::fmt::Display for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let codes = &self.codes[..usize::from(self.count)];
        for (k, alike) in codes.chunk_by(|a, b| a == b).enumerate() {
            let (beside, class) = (alike[0] & BESIDE != 0, OpClass::ALL[usize::from(alike[0] & !BESIDE)]);
            write!(f, "{}{}{}", if k > 0 { " " } else { "" }, if beside { "+" } else { "" }, class.name())?;
            if alike.len() > 1 {
                write!(f, "*{}", alike.len())?;
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// How they are written.
pub(super) struct StepList;

impl Kind for StepList {
    type Value = Steps;

    fn read(&self, reader: &mut Reader, value: &Spanned<DeValue<'_>>) -> Option<Steps> {
        let text = reader.string(value)?;
        match Steps::parse(text) {
            Ok(steps) if steps.is_empty() => {
                reader.error(value.span(), "an instruction has at least one step", None);
                None
            }
            Ok(steps) => Some(steps),
            Err(word) => {
                let help = format!("a step is {}; at most {MOST}", self.describe());
                reader.error(value.span(), format!("`{word}` is no step of an instruction"), Some(help));
                None
            }
        }
    }

    fn write(&self, value: &Steps) -> String {
        quoted(&value.to_string())
    }

    fn stand_in(&self) -> Steps {
        Steps::default()
    }

    fn describe(&self) -> String {
        "classes of instructions with blanks between, as in `\"special +special f32*5 control\"`".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_as_they_are_written() {
        for text in ["f32", "special +special f32*5 control*2", "+move f64*32"] {
            match Steps::parse(text) {
                Ok(steps) => assert_eq!(steps.to_string(), text),
                Err(word) => assert_eq!((text, word.as_str()), ("+move f64*32", "f64*32"), "33 are too many"),
            }
        }
        let steps = Steps::parse("special +special f32").expect("three classes");
        let seen: Vec<_> = steps.iter().map(|step| (step.class, step.beside)).collect();
        assert_eq!(seen, [(OpClass::Special, false), (OpClass::Special, true), (OpClass::F32, false)]);
        for wrong in ["f33", "f32*0", "f32*x", "+", "f32 *2"] {
            assert!(Steps::parse(wrong).is_err(), "{wrong}");
        }
    }
}
