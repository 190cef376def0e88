//! Mechanisms in one machine.

use crate::{Conflict, Mechanism, MechanismError, Registry, With};
use std::fmt;
use std::sync::Arc;
use strata_core::nearest::suggestion;
use strata_core::settings::Settings;
use strata_sim::config::GpuConfig;

/// Mechanisms with their settings.
pub type Chosen = Vec<(Arc<dyn Mechanism>, Settings)>;

/// Mechanisms in one machine, each once, in the order of the registry they are from; none is the plain machine.
#[derive(Clone, Default)]
pub struct Combination {
    /// Where the names are from: settings of others are told apart from what nobody knows.
    registry: Registry,
    list: Vec<Arc<dyn Mechanism>>,
}

/// Why two mechanisms do not go together, if one of them says so.
fn refusal(a: &dyn Mechanism, b: &dyn Mechanism) -> Option<&'static str> {
    let says = |one: &dyn Mechanism, other: &dyn Mechanism| {
        let concerns = |conflict: &&Conflict| match conflict.with {
            With::Name(name) => other.name() == name,
            With::Role(role) => other.roles().contains(&role),
        };
        one.conflicts().iter().find(concerns).map(|conflict| conflict.why)
    };
    says(a, b).or_else(|| says(b, a))
}

impl Combination {
    pub(crate) fn parse(registry: &Registry, text: &str) -> Result<Self, MechanismError> {
        let mut names = Vec::new();
        let refuse = |reason: String| Err(MechanismError::Request(reason));
        for name in text.split('+').filter(|_| text != "none") {
            if name == "none" {
                return refuse(format!("`none` stands alone: leave it out of `{text}`"));
            }
            if registry.get(name).is_none() {
                let known = registry.names().chain(["none"]);
                let are_known = name.split([',', ' ']).all(|part| registry.get(part).is_some());
                let joined = name.replace([',', ' '], "+");
                let cure = if are_known && Self::parse(registry, &joined).is_ok() {
                    format!("several are joined with `+`: `{joined}`")
                } else if are_known {
                    "several in one machine are joined with `+`, but these do not go together; `strata compare --with A,B` sets them \
                     side by side"
                        .to_owned()
                } else {
                    suggestion(name, known)
                };
                return refuse(format!("there is no mechanism `{name}`; {cure}"));
            }
            if names.contains(&name) {
                return refuse(format!("`{name}` is named twice in `{text}`"));
            }
            names.push(name);
        }
        let list: Vec<_> = registry.all().iter().filter(|m| names.contains(&m.name())).cloned().collect();
        let pairs = list.iter().enumerate().flat_map(|(k, a)| list[k + 1..].iter().map(move |b| (a, b)));
        for (a, b) in pairs {
            if let Some(why) = refusal(&**a, &**b) {
                return refuse(format!("`{}` and `{}` do not go together: {why}", a.name(), b.name()));
            }
        }
        Ok(Self { registry: registry.clone(), list })
    }

    /// The mechanisms.
    pub fn list(&self) -> &[Arc<dyn Mechanism>] {
        &self.list
    }

    /// True for the plain machine.
    pub fn is_plain(&self) -> bool {
        self.list.is_empty()
    }

    /// True if it has the mechanism of this name.
    pub fn has(&self, name: &str) -> bool {
        self.list.iter().any(|mechanism| mechanism.name() == name)
    }

    /// The preset of the plain machine that costs as much as a preset with these mechanisms, if that is another.
    pub fn equal_cost(&self, gpu: &str) -> Option<&'static str> {
        self.list.iter().find_map(|mechanism| mechanism.equal_cost(gpu))
    }

    /// The registry that it was read with.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Of `key=value`, those that a machine with this combination has: not the settings of other mechanisms.
    pub fn relevant(&self, set: &[String]) -> Vec<String> {
        let foreign = |one: &&String| self.registry.of_key(one).is_some_and(|mechanism| !self.has(mechanism.name()));
        set.iter().filter(|one| !foreign(one)).cloned().collect()
    }

    /// Reads the settings of its mechanisms out of `set` (`key=value`), and gives what is left for the machine.
    pub fn settings(&self, set: &[String]) -> Result<(Chosen, Vec<String>), MechanismError> {
        let owner = |one: &str| self.registry.of_key(one).map(|mechanism| mechanism.name());
        let (own, machine): (Vec<&String>, Vec<&String>) = set.iter().partition(|one| owner(one).is_some());
        let mut errors = Vec::new();
        for one in &own {
            if let Some(name) = owner(one).filter(|name| !self.has(name)) {
                errors.push(format!(
                    "`{one}` is a setting of `{name}`, which is not in this machine: add `--with {name}`"
                ));
            }
        }
        let mut all = Vec::new();
        for mechanism in &self.list {
            let mine: Vec<_> = own.iter().filter(|one| owner(one) == Some(mechanism.name())).collect();
            match Settings::read(mechanism.name(), mechanism.settings(), &mine) {
                Ok(settings) => all.push((Arc::clone(mechanism), settings)),
                Err(list) => errors.extend(list),
            }
        }
        if !errors.is_empty() {
            return Err(MechanismError::Request(errors.join("\n")));
        }
        Ok((all, machine.into_iter().cloned().collect()))
    }

    /// The changes of a GPU that its mechanisms stand for, behind those of the user's: `key=value`.
    pub fn overrides(&self, gpu: &GpuConfig, set: &[String]) -> Result<Vec<String>, MechanismError> {
        let mut all = Vec::new();
        for mechanism in &self.list {
            let more = mechanism.overrides(gpu, set);
            let of = |reason| MechanismError::Request(format!("`{}`: {reason}", mechanism.name()));
            all.extend(more.map_err(of)?);
        }
        Ok(all)
    }
}

impl PartialEq for Combination {
    fn eq(&self, other: &Self) -> bool {
        let names = |combination: &Self| combination.list.iter().map(|m| m.name()).collect::<Vec<_>>();
        names(self) == names(other)
    }
}

impl Eq for Combination {}

impl fmt::Debug for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Combination({self})")
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.list.is_empty() {
            return f.pad("none");
        }
        f.pad(&self.list.iter().map(|m| m.name()).collect::<Vec<_>>().join("+"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Preparation, Prepared, Role};
    use strata_core::settings::{Allowed, Setting};

    /// A mechanism that is only talked about.
    struct Named {
        name: &'static str,
        roles: &'static [Role],
        conflicts: &'static [Conflict],
    }

    const SETTINGS: &[Setting] =
        &[Setting { key: "ways", default: "4", allowed: Allowed::Whole(1, 64), meaning: "ways", source: "a test" }];

    impl Mechanism for Named {
        fn name(&self) -> &'static str {
            self.name
        }

        fn description(&self) -> &'static str {
            "is talked about"
        }

        fn settings(&self) -> &'static [Setting] {
            SETTINGS
        }

        fn roles(&self) -> &'static [Role] {
            self.roles
        }

        fn conflicts(&self) -> &'static [Conflict] {
            self.conflicts
        }

        fn prepare(&self, _: &Settings, _: &mut dyn Preparation) -> Result<Box<dyn Prepared>, MechanismError> {
            Err(MechanismError::Request("it is only talked about".to_owned()))
        }
    }

    fn registry() -> Registry {
        const PAGES: Conflict = Conflict { with: With::Role(Role::Pages), why: "pages come and go" };
        const NOT_B: Conflict = Conflict { with: With::Name("b"), why: "of b" };
        let mut registry = Registry::default();
        for named in [
            Named { name: "a", roles: &[Role::Compresses], conflicts: &[PAGES] },
            Named { name: "b", roles: &[Role::Pages], conflicts: &[] },
            Named { name: "c", roles: &[], conflicts: &[NOT_B] },
        ] {
            registry.register(named).expect("names differ");
        }
        registry
    }

    #[track_caller]
    fn refused(text: &str) -> String {
        registry().combination(text).expect_err("refused").to_string()
    }

    #[test]
    fn combinations_are_read_in_the_order_of_the_registry() {
        for (text, expected) in [("none", "none"), ("b", "b"), ("c+a", "a+c")] {
            assert_eq!(registry().combination(text).expect("known").to_string(), expected);
        }
        assert!(refused("a+a").contains("named twice"));
        assert!(refused("a+none").contains("stands alone"));
        assert!(refused("a,c").contains("joined with `+`: `a+c`"));
        assert!(refused("d").contains("there is no mechanism `d`"));
    }

    #[test]
    fn conflicts_hold_both_ways_by_role_and_by_name() {
        assert_eq!(refused("a+b"), "`a` and `b` do not go together: pages come and go");
        assert_eq!(refused("b+a"), "`a` and `b` do not go together: pages come and go");
        assert_eq!(refused("c+b"), "`b` and `c` do not go together: of b");
        let all: Vec<_> = registry().singles_and_pairs().iter().map(ToString::to_string).collect();
        assert_eq!(all, ["none", "a", "b", "c", "a+c"]);
    }

    #[test]
    fn a_name_is_given_once() {
        let again = Named { name: "b", roles: &[], conflicts: &[] };
        assert_eq!(registry().register(again), Err(crate::NameTaken("b")));
    }

    #[test]
    fn settings_belong_to_mechanisms_and_the_rest_to_the_machine() {
        let set = ["l2.ways=8", "a.ways=9"].map(str::to_owned);
        let (settings, machine) = registry().combination("a").expect("known").settings(&set).expect("good");
        assert_eq!((settings[0].1.whole("ways"), machine), (9, vec!["l2.ways=8".to_owned()]));
        let none = registry().combination("none").expect("known");
        let error = none.settings(&set).err().expect("no a there").to_string();
        assert_eq!(error, "`a.ways=9` is a setting of `a`, which is not in this machine: add `--with a`");
        assert_eq!(none.relevant(&set), ["l2.ways=8"]);
    }
}
