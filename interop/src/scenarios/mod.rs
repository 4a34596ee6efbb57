//! The scenarios, one file per subject. Each makes what it needs and checks what a user of the official SDK sees.

use crate::outcome::Outcome;
use crate::world::World;
use futures_util::future::LocalBoxFuture;

mod accounts;
mod consumers;
mod deferred;
mod groups;
mod metadata;
mod offsets;
mod options;
mod permissions;
mod polling;
mod producers;
mod raw;
mod reconnect;
mod resources;
mod segments;
mod sending;
mod sessions;
mod system;

pub struct Scenario {
    pub name: &'static str,
    pub run: for<'a> fn(&'a World) -> LocalBoxFuture<'a, Outcome>,
}

/// Lists `name = function` pairs as the scenarios of a file.
macro_rules! scenarios {
    ($($name:literal = $function:ident),+ $(,)?) => {
        pub const SCENARIOS: &[crate::scenarios::Scenario] = &[
            $(crate::scenarios::Scenario { name: $name, run: |world| Box::pin($function(world)) }),+
        ];
    };
}
pub(crate) use scenarios;

pub fn all() -> impl Iterator<Item = &'static Scenario> {
    [
        sessions::SCENARIOS,
        reconnect::SCENARIOS,
        system::SCENARIOS,
        raw::SCENARIOS,
        resources::SCENARIOS,
        options::SCENARIOS,
        accounts::SCENARIOS,
        permissions::SCENARIOS,
        sending::SCENARIOS,
        polling::SCENARIOS,
        deferred::SCENARIOS,
        offsets::SCENARIOS,
        groups::SCENARIOS,
        producers::SCENARIOS,
        consumers::SCENARIOS,
        segments::SCENARIOS,
        metadata::SCENARIOS,
    ]
    .into_iter()
    .flatten()
}
