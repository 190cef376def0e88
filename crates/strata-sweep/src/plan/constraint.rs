//! Constraints: expressions over the settings of a point, such as `l2.size <= 4MB or with == 'none'`.

use std::ops::Range;
use strata_core::config::parse_size;

/// Longer conditions are refused: they would be taken apart recursively.
const LONGEST: usize = 1000;
/// Parentheses and signs inside each other.
const DEEPEST: usize = 64;

/// What an expression is worth.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Worth {
    Number(f64),
    Text(String),
    Truth(bool),
    /// A setting of a mechanism that the point does not have; what it is asked in does not apply.
    Absent,
}

impl Worth {
    /// What a setting's text is worth: a number, a size in bytes, or the text itself.
    pub(crate) fn of(text: &str) -> Self {
        let text = text.trim().trim_matches('"');
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        let size = || parse_size(text).ok().map(|size| size.0 as f64);
        match number.or_else(size) {
            Some(number) => Self::Number(number),
            None if text == "true" || text == "false" => Self::Truth(text == "true"),
            None => Self::Text(text.to_owned()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    Plus,
    Minus,
    Times,
    Over,
    Rest,
}

const OPERATORS: [(&str, Operator, u8); 13] = [
    ("or", Operator::Or, 1),
    ("and", Operator::And, 2),
    ("==", Operator::Equal, 3),
    ("!=", Operator::Unequal, 3),
    ("<=", Operator::AtMost, 3),
    (">=", Operator::AtLeast, 3),
    ("<", Operator::Less, 3),
    (">", Operator::More, 3),
    ("+", Operator::Plus, 4),
    ("-", Operator::Minus, 4),
    ("*", Operator::Times, 5),
    ("/", Operator::Over, 5),
    ("%", Operator::Rest, 5),
];

#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Constant(Worth),
    Key(String),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    Both(Operator, Box<Expression>, Box<Expression>),
}

/// A condition that points must meet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Constraint {
    pub(crate) span: Range<usize>,
    pub(crate) text: String,
    expression: Expression,
}

impl Constraint {
    /// Reads a condition; the error says what is wrong with it.
    pub(crate) fn parse(text: &str, span: Range<usize>) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("it is longer than {LONGEST} bytes: write several conditions"));
        }
        let mut parser = Parser { rest: text.trim_start() };
        let expression = parser.expression(0, 0)?;
        if !parser.rest.is_empty() {
            return Err(format!("`{}` is not understood here", first_word(parser.rest)));
        }
        Ok(Self { span, text: text.to_owned(), expression })
    }

    /// The keys that it asks for.
    pub(crate) fn keys(&self) -> Vec<&str> {
        let (mut keys, mut wanted) = (Vec::new(), vec![&self.expression]);
        while let Some(expression) = wanted.pop() {
            match expression {
                Expression::Key(key) => keys.push(key.as_str()),
                Expression::Constant(_) => {}
                Expression::Not(inner) | Expression::Negative(inner) => wanted.push(inner),
                Expression::Both(_, left, right) => wanted.extend([&**right, &**left]),
            }
        }
        keys
    }

    /// True if a point meets it, or it does not apply; the error says what cannot be asked.
    pub(crate) fn holds(&self, value: &dyn Fn(&str) -> Worth) -> Result<bool, String> {
        match evaluate(&self.expression, value)? {
            Worth::Truth(truth) => Ok(truth),
            Worth::Absent => Ok(true),
            Worth::Number(_) | Worth::Text(_) => Err("it is no condition: compare it with something".into()),
        }
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or(text)
}

struct Parser<'t> {
    rest: &'t str,
}

impl Parser<'_> {
    /// An expression of operators that bind more than `least`.
    fn expression(&mut self, least: u8, depth: usize) -> Result<Expression, String> {
        if depth > DEEPEST {
            return Err("it is nested too deeply".into());
        }
        let mut left = self.atom(depth)?;
        while let Some((operator, binding)) = self.operator(least) {
            let right = self.expression(binding, depth + 1)?;
            left = Expression::Both(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn operator(&mut self, least: u8) -> Option<(Operator, u8)> {
        for (text, operator, binding) in OPERATORS {
            let Some(rest) = self.rest.strip_prefix(text) else { continue };
            let is_word = text.starts_with(char::is_alphabetic) && rest.starts_with(is_of_word);
            if is_word {
                continue;
            }
            if binding <= least {
                return None;
            }
            self.rest = rest.trim_start();
            return Some((operator, binding));
        }
        None
    }

    fn atom(&mut self, depth: usize) -> Result<Expression, String> {
        if depth > DEEPEST {
            return Err("it is nested too deeply".into());
        }
        let text = self.rest;
        if let Some(rest) = text.strip_prefix('(') {
            self.rest = rest.trim_start();
            let inner = self.expression(0, depth + 1)?;
            let rest = self.rest.strip_prefix(')').ok_or("a `)` is missing")?;
            self.rest = rest.trim_start();
            return Ok(inner);
        }
        if let Some(rest) = text.strip_prefix('-') {
            self.rest = rest.trim_start();
            return Ok(Expression::Negative(Box::new(self.atom(depth + 1)?)));
        }
        if let Some(quote) = text.chars().next().filter(|first| ['\'', '"'].contains(first)) {
            let (inside, rest) = text[1..].split_once(quote).ok_or_else(|| format!("a {quote} is missing"))?;
            self.rest = rest.trim_start();
            return Ok(Expression::Constant(Worth::Text(inside.to_owned())));
        }
        let end = text.find(|c: char| !is_of_word(c)).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.rest = rest.trim_start();
        match word {
            "" if text.is_empty() => Err("something is missing at its end".into()),
            "" => Err(format!("`{}` is not understood here", first_word(text))),
            "not" => Ok(Expression::Not(Box::new(self.expression(2, depth + 1)?))),
            "and" | "or" => Err(format!("something is missing before `{word}`")),
            "true" | "false" => Ok(Expression::Constant(Worth::Truth(word == "true"))),
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => match Worth::of(word) {
                number @ Worth::Number(_) => Ok(Expression::Constant(number)),
                _ => Err(format!("`{word}` is neither a number nor a size such as `4MB`")),
            },
            _ => Ok(Expression::Key(word.to_owned())),
        }
    }
}

/// Names of keys, numbers and sizes.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || ['_', '.'].contains(&c)
}

fn evaluate(expression: &Expression, value: &dyn Fn(&str) -> Worth) -> Result<Worth, String> {
    Ok(match expression {
        Expression::Constant(worth) => worth.clone(),
        Expression::Key(key) => value(key),
        Expression::Not(inner) => match evaluate(inner, value)? {
            Worth::Truth(truth) => Worth::Truth(!truth),
            Worth::Absent => Worth::Absent,
            _ => return Err("`not` stands before a condition".into()),
        },
        Expression::Negative(inner) => match evaluate(inner, value)? {
            Worth::Number(number) => Worth::Number(-number),
            Worth::Absent => Worth::Absent,
            _ => return Err("`-` stands before a number".into()),
        },
        Expression::Both(operator, left, right) => {
            return both(*operator, evaluate(left, value)?, evaluate(right, value)?);
        }
    })
}

fn both(operator: Operator, left: Worth, right: Worth) -> Result<Worth, String> {
    use Worth::{Absent, Number, Text, Truth};
    Ok(match (operator, left, right) {
        (_, Absent, _) | (_, _, Absent) => Absent,
        (Operator::Or, Truth(a), Truth(b)) => Truth(a || b),
        (Operator::And, Truth(a), Truth(b)) => Truth(a && b),
        (Operator::Or | Operator::And, ..) => return Err("`and` and `or` stand between conditions".into()),
        (Operator::Equal, a, b) => Truth(a == b),
        (Operator::Unequal, a, b) => Truth(a != b),
        (operator, Number(a), Number(b)) => match operator {
            Operator::Less => Truth(a < b),
            Operator::AtMost => Truth(a <= b),
            Operator::More => Truth(a > b),
            Operator::AtLeast => Truth(a >= b),
            Operator::Plus => Number(a + b),
            Operator::Minus => Number(a - b),
            Operator::Times => Number(a * b),
            Operator::Over => Number(a / b),
            _ => Number(a % b),
        },
        (_, Text(text), _) | (_, _, Text(text)) => return Err(format!("`{text}` is no number")),
        _ => return Err("true and false are no numbers".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str) -> Result<bool, String> {
        let value = |key: &str| match key {
            "l2.size" => Worth::of("4 MiB"),
            "sm.count" => Worth::of("80"),
            "with" => Worth::of("none"),
            _ => Worth::Absent,
        };
        Constraint::parse(text, 0..0)?.holds(&value)
    }

    #[test]
    fn conditions_are_read_as_one_would_expect() {
        for (text, expected) in [
            ("l2.size == 4MB", true),
            ("l2.size / sm.count > 52428 and sm.count % 8 == 0", true),
            ("1 + 2 * 3 == 7", true),
            ("10 - 2 - 3 == 5", true),
            ("-(1 + 2) == -3", true),
            ("not (with == 'none' or false)", false),
            ("with != \"none\" or l2.size <= 2MB or sm.count == 80", true),
            ("not with == 'cmd' and sm.count < 80", false),
            ("cmd.ways > 4", true),
        ] {
            assert_eq!(holds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_a_reason() {
        for (text, reason) in [
            ("", "missing at its end"),
            ("l2.size", "no condition"),
            ("(1 < 2", "`)` is missing"),
            ("1 < 2 3", "`3` is not understood"),
            ("4 parsecs < 2", "not understood"),
            ("4parsecs < 2", "neither a number"),
            ("with < 3", "`none` is no number"),
            ("with == 'none", "' is missing"),
            ("1 and 2", "between conditions"),
            ("and 1", "before `and`"),
        ] {
            let error = holds(text).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
        for deep in ["(", "-", "not ", "1+(", "1 or not "] {
            for times in [90, 100_000] {
                assert!(holds(&deep.repeat(times)).is_err(), "{deep}");
            }
        }
    }
}
