//! What a scenario returns, and the assertions that end it.

use iggy::prelude::{IggyError, ReadError};
use std::fmt::{Debug, Display, Formatter};
use std::panic::Location;

/// The reason a scenario stopped, with the line of the check or of the `?` that stopped it.
pub struct Failure(String);

pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    #[track_caller]
    pub fn new(reason: impl Display) -> Self {
        let line = Location::caller();
        Self(format!("{reason} ({}:{})", line.file(), line.line()))
    }
}

impl Display for Failure {
    fn fmt(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl From<IggyError> for Failure {
    #[track_caller]
    fn from(error: IggyError) -> Self {
        Self::new(format_args!("refused with {}", named(&error)))
    }
}

impl From<ReadError> for Failure {
    #[track_caller]
    fn from(read: ReadError) -> Self {
        Self::new(format_args!("read of partition {:?} refused with {}", read.partition_id, named(&read.error)))
    }
}

impl From<std::io::Error> for Failure {
    #[track_caller]
    fn from(error: std::io::Error) -> Self {
        Self::new(error)
    }
}

/// Codes are the contract, the text belongs to the client.
fn named(error: &IggyError) -> String {
    format!("{} {}", error.as_code(), error.as_string())
}

#[track_caller]
pub fn equal<T: PartialEq + Debug>(what: &str, actual: T, expected: T) -> Outcome {
    if actual == expected {
        Ok(())
    } else {
        Err(Failure::new(format_args!("{what}: {actual:?} instead of {expected:?}")))
    }
}

#[track_caller]
pub fn holds(what: &str, condition: bool) -> Outcome {
    if condition { Ok(()) } else { Err(Failure::new(format_args!("{what} does not hold"))) }
}

#[track_caller]
pub fn present<T>(what: &str, value: Option<T>) -> Outcome<T> {
    value.ok_or_else(|| Failure::new(format_args!("{what} is missing")))
}

#[track_caller]
pub fn absent<T: Debug>(what: &str, value: Option<T>) -> Outcome {
    match value {
        None => Ok(()),
        Some(value) => Err(Failure::new(format_args!("{what} exists: {value:?}"))),
    }
}

/// The call must be refused with one of `codes`.
#[track_caller]
pub fn refused<T: Debug>(what: &str, result: Result<T, IggyError>, codes: &[u32]) -> Outcome {
    match result {
        Err(error) if codes.contains(&error.as_code()) => Ok(()),
        Err(error) => Err(Failure::new(format_args!("{what}: refused with {} instead of {codes:?}", named(&error)))),
        Ok(value) => {
            Err(Failure::new(format_args!("{what}: accepted with {value:?} instead of refused with {codes:?}")))
        }
    }
}
