//! Runs the official Rust SDK of Apache Iggy against a server, one scenario after the other.
//!
//! Exit status: 0 when all passed, 1 when one failed, 2 for a wrong call.

mod arguments;
mod code;
mod outcome;
mod scenarios;
mod topic;
mod world;

use arguments::{Arguments, USAGE};
use futures_util::FutureExt;
use outcome::{Failure, Outcome};
use scenarios::Scenario;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use world::{Server, World};

const CLEAN_UP_LIMIT: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(reason) => return wrong_call(&reason),
    };
    let Some(server) = Server::parse(&arguments.url) else {
        return wrong_call("--url takes iggy+tcp://USER:PASSWORD@HOST:PORT");
    };
    let selected: Vec<&Scenario> = scenarios::all().filter(|scenario| arguments.selects(scenario.name)).collect();
    if selected.is_empty() {
        return wrong_call("--only selects no scenario");
    }
    if arguments.list {
        for scenario in selected {
            println!("{}", scenario.name);
        }
        return ExitCode::SUCCESS;
    }
    let mut failed = 0;
    for (index, scenario) in selected.iter().enumerate() {
        let started = Instant::now();
        match run(scenario, World::new(server.clone(), index), arguments.timeout).await {
            Ok(()) => println!("ok {} ({} ms)", scenario.name, started.elapsed().as_millis()),
            Err(failure) => {
                failed += 1;
                println!("FAIL {}: {failure}", scenario.name);
                let left = selected.len() - index - 1;
                if left > 0 && !server.accepts().await {
                    println!("FAIL the {left} scenarios behind it: nothing listens at {} any more", server.address);
                    failed += left;
                    break;
                }
            }
        }
    }
    println!("{} passed, {failed} failed", selected.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn run(scenario: &Scenario, world: World, limit: Duration) -> Outcome {
    let body = AssertUnwindSafe((scenario.run)(&world)).catch_unwind();
    let outcome = match timeout(limit, body).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(Failure::new("the client panicked, see the message above")),
        Err(_) => Err(Failure::new(format_args!("no end after {} s", limit.as_secs()))),
    };
    let cleaned = timeout(CLEAN_UP_LIMIT, world.clean_up())
        .await
        .unwrap_or_else(|_| Err(Failure::new("the clean-up found no end")));
    outcome.and(cleaned)
}

fn wrong_call(reason: &str) -> ExitCode {
    eprintln!("{reason}\n{USAGE}");
    ExitCode::from(2)
}
