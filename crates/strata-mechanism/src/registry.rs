//! Mechanisms by name.

use crate::{Combination, Mechanism, MechanismError};
use std::sync::Arc;
use strata_core::nearest::suggestion;

/// The mechanisms that a run can have, in the order in which they are listed.
#[derive(Clone, Default)]
pub struct Registry {
    all: Vec<Arc<dyn Mechanism>>,
}

/// Two mechanisms want the same name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a mechanism `{0}` is registered already: give the other another name")]
pub struct NameTaken(pub &'static str);

impl Registry {
    /// Adds a mechanism.
    pub fn register(&mut self, mechanism: impl Mechanism + 'static) -> Result<(), NameTaken> {
        if self.get(mechanism.name()).is_some() {
            return Err(NameTaken(mechanism.name()));
        }
        self.all.push(Arc::new(mechanism));
        Ok(())
    }

    /// All of them, in the order of registration.
    pub fn all(&self) -> &[Arc<dyn Mechanism>] {
        &self.all
    }

    /// The names of all of them.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.all.iter().map(|mechanism| mechanism.name())
    }

    /// The mechanism of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Mechanism>> {
        self.all.iter().find(|mechanism| mechanism.name() == name)
    }

    /// The same; the error tells the nearest name.
    pub fn find(&self, name: &str) -> Result<&Arc<dyn Mechanism>, MechanismError> {
        self.get(name).ok_or_else(|| {
            let near = suggestion(name, self.names());
            MechanismError::Request(format!("there is no mechanism `{name}`; {near}"))
        })
    }

    /// The mechanism that a setting `name.key=value` is of.
    pub fn of_key(&self, key: &str) -> Option<&Arc<dyn Mechanism>> {
        self.get(key.split_once('.').map_or(key, |(first, _)| first))
    }

    /// Reads `none`, `buddy`, `cmd+bpc`.
    pub fn combination(&self, text: &str) -> Result<Combination, MechanismError> {
        Combination::parse(self, text)
    }

    /// Every machine without a mechanism, with each, and with each pair that goes together.
    pub fn singles_and_pairs(&self) -> Vec<Combination> {
        let names: Vec<_> = self.names().collect();
        let pairs = names.iter().enumerate().flat_map(|(k, a)| names[k + 1..].iter().map(move |b| format!("{a}+{b}")));
        let singles = names.iter().map(|&name| name.to_owned());
        let texts = ["none".to_owned()].into_iter().chain(singles).chain(pairs);
        texts.filter_map(|text| self.combination(&text).ok()).collect()
    }
}
