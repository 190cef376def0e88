//! The machine, exactly: small programs whose every cycle can be worked out by hand from the configuration.
//!
//! | file | asks |
//! | --- | --- |
//! | `script.rs` | (how programs are written and run here) |
//! | `latency.rs` | is an unloaded latency the sum of its configured parts, on every preset? |
//! | `caches.rs` | what is merged, written back, kept, and with which sectors? |
//! | `waiting.rs` | do full queues, shared ports, barriers and schedulers delay by what they should? |
//! | `whole.rs` | are runs repeatable, complete, and is the simulator's work in proportion? |

mod caches;
mod latency;
mod script;
mod waiting;
mod whole;
