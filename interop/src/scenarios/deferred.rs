//! Polls that wait for messages.

use super::scenarios;
use crate::code;
use crate::outcome::{Outcome, equal, holds, refused};
use crate::topic::{Topic, offsets};
use crate::world::World;
use futures_util::future::join;
use iggy::prelude::*;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

scenarios![
    "deferred-wakes-with-data" = wakes_with_data,
    "deferred-ends-empty" = ends_empty,
    "deferred-min-count" = min_count,
    "deferred-beside-other-requests" = beside_other_requests,
    "deferred-dropped" = dropped,
    "deferred-deleted-partition" = deleted_partition,
];

const LONG: Duration = Duration::from_secs(20);
/// Long enough for the poll to be parked when the scenario goes on.
const PARKED: Duration = Duration::from_millis(300);
/// What a woken poll may take on a busy machine: far below `LONG`.
const PROMPT: Duration = Duration::from_secs(5);

async fn wait_for(
    client: &IggyClient,
    topic: &Topic,
    strategy: PollingStrategy,
    options: PollOptions,
) -> Result<(PolledMessages, Duration), IggyError> {
    let consumer = Consumer::new(Identifier::named("waiting")?);
    let started = Instant::now();
    let polled = topic.poll_as(client, &consumer, 0, strategy, options).await?;
    Ok((polled, started.elapsed()))
}

fn up_to(wait: Duration) -> PollOptions {
    PollOptions::wait(IggyDuration::new(wait))
}

async fn wakes_with_data(world: &World) -> Outcome {
    let (reader, writer) = (world.sign_in().await?, world.root().await?);
    let topic = world.topic(1).await?;
    let poll = wait_for(&reader, &topic, PollingStrategy::offset(0), up_to(LONG));
    let (polled, sent) = join(poll, async {
        sleep(PARKED).await;
        topic.send(writer, 0, 0..3).await
    })
    .await;
    let ((polled, waited), _) = (polled?, sent?);
    equal("offsets", offsets(&polled), vec![0, 1, 2])?;
    holds("the poll waited for the send", waited >= PARKED)?;
    holds("the send ended the wait", waited < PROMPT)
}

async fn ends_empty(world: &World) -> Outcome {
    const WAIT: Duration = Duration::from_millis(700);
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    topic.send(root, 0, 0..2).await?;
    let (polled, waited) = wait_for(root, &topic, PollingStrategy::offset(2), up_to(WAIT)).await?;
    equal("messages", polled.messages.len(), 0)?;
    equal("last offset", polled.current_offset, 1)?;
    holds("the wait was kept", waited >= WAIT - Duration::from_millis(20))?;
    holds("the wait ended", waited < WAIT + PROMPT)
}

async fn min_count(world: &World) -> Outcome {
    let (reader, writer) = (world.sign_in().await?, world.root().await?);
    let topic = world.topic(1).await?;
    topic.send(writer, 0, 0..2).await?;
    let five = PollOptions { min_count: 5, ..up_to(LONG) };
    let (polled, sent) = join(wait_for(&reader, &topic, PollingStrategy::first(), five), async {
        sleep(PARKED).await;
        topic.send(writer, 0, 2..4).await?;
        sleep(PARKED).await;
        topic.send(writer, 0, 4..6).await
    })
    .await;
    let ((polled, waited), _) = (polled?, sent?);
    equal("offsets of enough messages", offsets(&polled), (0..6).collect())?;
    holds("four messages were not enough", waited >= 2 * PARKED)?;
    holds("six messages ended the wait", waited < PROMPT)?;

    let hundred = PollOptions { min_count: 100, ..up_to(PARKED) };
    let (polled, _) = wait_for(&reader, &topic, PollingStrategy::first(), hundred).await?;
    equal("messages of an ended wait", polled.messages.len(), 6)
}

async fn beside_other_requests(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    let mut poll = Box::pin(wait_for(root, &topic, PollingStrategy::offset(0), up_to(LONG)));
    holds("the poll is parked", timeout(PARKED, &mut poll).await.is_err())?;
    let started = Instant::now();
    for _ in 0..20 {
        root.ping().await?;
        root.get_streams().await?;
    }
    holds("the parked poll holds nothing up", started.elapsed() < PROMPT)?;
    topic.send(root, 0, 0..1).await?;
    equal("messages", poll.await?.0.messages.len(), 1)
}

/// The client cancels what it no longer waits for. Nothing of it may reach the next poll.
async fn dropped(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    for _ in 0..20 {
        let poll = wait_for(root, &topic, PollingStrategy::offset(0), up_to(LONG));
        holds("the poll is parked", timeout(Duration::from_millis(30), poll).await.is_err())?;
    }
    topic.send(root, 0, 0..3).await?;
    let (polled, waited) = wait_for(root, &topic, PollingStrategy::offset(0), up_to(LONG)).await?;
    equal("offsets", offsets(&polled), vec![0, 1, 2])?;
    holds("a poll with data answers at once", waited < PROMPT)
}

async fn deleted_partition(world: &World) -> Outcome {
    let (reader, writer) = (world.sign_in().await?, world.root().await?);
    let topic = world.topic(1).await?;
    let (polled, deleted) = join(wait_for(&reader, &topic, PollingStrategy::offset(0), up_to(LONG)), async {
        sleep(PARKED).await;
        writer.delete_topic(&topic.stream, &topic.topic).await
    })
    .await;
    deleted?;
    let gone = [&[code::HISTORY_UNAVAILABLE, code::PARTITION_NOT_FOUND], code::NO_SUCH_TOPIC].concat();
    refused("poll of a deleted topic", polled.map(|_| ()), &gone)
}
