//! The command line.

use std::time::Duration;

pub const USAGE: &str =
    "interop [--url iggy+tcp://USER:PASSWORD@HOST:PORT] [--only NAME,PREFIX*,...] [--timeout SECONDS] [--list]";

const DEFAULT_URL: &str = "iggy+tcp://iggy:iggy@127.0.0.1:8090";
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

pub struct Arguments {
    pub url: String,
    pub only: Vec<String>,
    /// The limit of one scenario, so that a server that hangs cannot hang the run.
    pub timeout: Duration,
    pub list: bool,
}

impl Arguments {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments =
            Self { url: DEFAULT_URL.to_owned(), only: Vec::new(), timeout: DEFAULT_TIMEOUT, list: false };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--url" => arguments.url = value()?,
                "--only" => arguments.only = value()?.split(',').map(str::to_owned).collect(),
                "--timeout" => {
                    let seconds = value()?.parse().map_err(|_| "--timeout takes whole seconds".to_owned())?;
                    arguments.timeout = Duration::from_secs(seconds);
                }
                "--list" => arguments.list = true,
                _ => return Err(format!("unknown argument {word}")),
            }
        }
        Ok(arguments)
    }

    /// Whether `--only` names the scenario. A pattern that ends with `*` is a prefix.
    pub fn selects(&self, name: &str) -> bool {
        self.only.is_empty()
            || self.only.iter().any(|pattern| match pattern.strip_suffix('*') {
                Some(prefix) => name.starts_with(prefix),
                None => name == pattern,
            })
    }
}
