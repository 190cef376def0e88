//! Text as a generator writes it: word frequencies fall with rank (Zipf), and most words choose the next one.

use crate::rng::Rng;

/// Words that a word is usually followed by.
const FOLLOWERS: usize = 6;
/// Of 16 words so many follow the one before; the others come by frequency alone.
const FOLLOWING: u32 = 12;

/// A vocabulary with its habits. Words are numbered by rank.
pub(crate) struct Language {
    /// Sums of frequencies up to each word.
    cumulative: Vec<f64>,
    followers: Vec<[u32; FOLLOWERS]>,
}

impl Language {
    pub(crate) fn new(words: usize, seed: u64) -> Self {
        let mut sum = 0.0;
        let frequency = |rank: usize| {
            sum += 1.0 / (rank + 1) as f64;
            sum
        };
        let cumulative = (0..words).map(frequency).collect();
        let mut language = Self { cumulative, followers: Vec::new() };
        let mut random = Rng::new(seed, "followers");
        let habits = |_| std::array::from_fn(|_| language.frequent(&mut random));
        language.followers = (0..words).map(habits).collect();
        language
    }

    /// A word by its frequency alone.
    fn frequent(&self, random: &mut Rng) -> u32 {
        let most = self.cumulative.last().copied().unwrap_or(0.0);
        let at = f64::from(random.unit()) * most;
        self.cumulative.partition_point(|sum| *sum <= at) as u32
    }

    /// The word after `word`.
    fn next(&self, word: u32, random: &mut Rng) -> u32 {
        if random.below(16) >= FOLLOWING {
            return self.frequent(random);
        }
        // The first follower half of the time, the second a quarter, and so on.
        let choice = (random.bits().trailing_zeros() as usize).min(FOLLOWERS - 1);
        self.followers[word as usize][choice]
    }
}

/// Texts that are read side by side.
pub(crate) struct Texts<'a> {
    language: &'a Language,
    readers: Vec<(Rng, u32)>,
}

impl<'a> Texts<'a> {
    pub(crate) fn new(language: &'a Language, count: usize, seed: u64) -> Self {
        let reader = |text: usize| {
            let mut random = Rng::new(seed, &format!("text {text}"));
            let first = language.frequent(&mut random);
            (random, first)
        };
        Self { language, readers: (0..count).map(reader).collect() }
    }

    /// The next `steps` words of every text and those that follow them: all texts' first words, then all second ones.
    pub(crate) fn read(&mut self, steps: usize) -> (Vec<i32>, Vec<i32>) {
        let (mut words, mut following) = (Vec::new(), Vec::new());
        for _ in 0..steps {
            for (random, word) in &mut self.readers {
                words.push(*word as i32);
                *word = self.language.next(*word, random);
                following.push(*word as i32);
            }
        }
        (words, following)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_words_are_frequent_and_texts_go_on() {
        let language = Language::new(100, 1);
        let mut texts = Texts::new(&language, 3, 1);
        let (words, following) = texts.read(2000);
        let count = |word: i32| words.iter().filter(|w| **w == word).count();
        assert!(count(0) > 3 * count(20), "{} and {}", count(0), count(20));
        assert!(words.iter().all(|word| (0..100).contains(word)));
        assert_eq!(words[3..], following[..following.len() - 3]);
        assert_eq!(texts.read(1).0, following[following.len() - 3..]);
    }
}
