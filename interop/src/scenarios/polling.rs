//! Polls that answer at once.

use super::scenarios;
use crate::code;
use crate::outcome::{Outcome, equal, holds, present, refused};
use crate::topic::{offsets, read_texts, texts};
use crate::world::World;
use bytes::Bytes;
use iggy::prelude::*;
use std::time::Duration;
use tokio::time::sleep;

scenarios![
    "poll-strategies" = poll_strategies,
    "poll-timestamp" = poll_timestamp,
    "poll-end-of-log" = poll_end_of_log,
    "poll-continuation" = poll_continuation,
    "poll-max-bytes" = poll_max_bytes,
    "poll-refusals" = poll_refusals,
];

async fn poll_strategies(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    topic.send(root, 0, 0..7).await?;
    topic.send(root, 0, 7..20).await?;
    let cases = [
        ("first", PollingStrategy::first(), 5, 0..5),
        ("offset 0", PollingStrategy::offset(0), 20, 0..20),
        ("offset inside the first batch", PollingStrategy::offset(3), 2, 3..5),
        ("offset across both batches", PollingStrategy::offset(5), 4, 5..9),
        ("offset of the last message", PollingStrategy::offset(19), 10, 19..20),
        ("last", PollingStrategy::last(), 4, 16..20),
        ("last, more than there are", PollingStrategy::last(), 100, 0..20),
        ("next without a stored offset", PollingStrategy::next(), 3, 0..3),
    ];
    for (what, strategy, count, expected) in cases {
        let polled = topic.poll(root, 0, strategy, count).await?;
        equal(what, offsets(&polled), (u64::from(expected.start)..u64::from(expected.end)).collect())?;
        equal(what, read_texts(&polled)?, texts(expected))?;
        equal("partition of the reply", polled.partition_id, 0)?;
        equal("last offset of the reply", polled.current_offset, 19)?;
        holds("context of the reply", polled.context().incarnation > 0)?;
    }
    Ok(())
}

async fn poll_timestamp(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    topic.send(root, 0, 0..5).await?;
    sleep(Duration::from_millis(20)).await;
    topic.send(root, 0, 5..10).await?;
    let second = topic.poll(root, 0, PollingStrategy::offset(5), 1).await?;
    let time = present("message", second.messages.first())?.header.timestamp;

    let polled = topic.poll(root, 0, PollingStrategy::timestamp(time.into()), 10).await?;
    equal("from the second batch", offsets(&polled), (5..10).collect())?;
    let polled = topic.poll(root, 0, PollingStrategy::timestamp(1.into()), 10).await?;
    equal("from long ago", offsets(&polled), (0..10).collect())?;
    let later = IggyTimestamp::now() + IggyDuration::from(Duration::from_secs(3600));
    let polled = topic.poll(root, 0, PollingStrategy::timestamp(later), 10).await?;
    equal("from the future", offsets(&polled), vec![])
}

async fn poll_end_of_log(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    for strategy in [
        PollingStrategy::first(),
        PollingStrategy::last(),
        PollingStrategy::next(),
        PollingStrategy::offset(0),
        PollingStrategy::offset(100),
    ] {
        let polled = topic.poll(root, 0, strategy, 10).await?;
        equal("messages of an empty partition", polled.messages.len(), 0)?;
        equal("last offset of an empty partition", polled.current_offset, 0)?;
    }
    topic.send(root, 0, 0..5).await?;
    for offset in [5, 6, u64::from(u32::MAX)] {
        let polled = topic.poll(root, 0, PollingStrategy::offset(offset), 10).await?;
        equal("messages beyond the end", polled.messages.len(), 0)?;
        equal("last offset", polled.current_offset, 4)?;
    }
    Ok(())
}

async fn poll_continuation(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    for batch in 0..10 {
        topic.send(root, 0, batch * 10..batch * 10 + 10).await?;
    }
    let mut read = Vec::new();
    let mut position = PollingStrategy::first();
    loop {
        let polled = topic.poll(root, 0, position, 7).await?;
        position = polled.continuation();
        if polled.messages.is_empty() {
            break;
        }
        read.extend(read_texts(&polled)?);
    }
    equal("messages by sevens", read, texts(0..100))?;
    topic.send(root, 0, 100..101).await?;
    equal("message after the end", offsets(&topic.poll(root, 0, position, 7).await?), vec![100])
}

async fn poll_max_bytes(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    for _ in 0..8 {
        let payload = Bytes::from(vec![b'x'; 10_000]);
        let mut batch = [IggyMessage::builder().payload(payload).build()?];
        root.send_messages(&topic.stream, &topic.topic, &Partitioning::partition_id(0), &mut batch).await?;
    }
    let consumer = Consumer::new(world.id()?);
    let poll = async |max_bytes| {
        let options = PollOptions { max_bytes, ..Default::default() };
        topic.poll_as(root, &consumer, 0, PollingStrategy::first(), options).await
    };
    let some = poll(35_000).await?;
    holds("a reply within its limit", (1..=3).contains(&some.messages.len()))?;
    equal("messages above the limit come alone", poll(1000).await?.messages.len(), 1)?;
    equal("messages without a tight limit", poll(1_000_000).await?.messages.len(), 8)
}

async fn poll_refusals(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    let first = PollingStrategy::first();
    let missing = topic.poll(root, 9, first, 1).await.map(|_| ());
    refused("missing partition", missing, &[code::PARTITION_NOT_FOUND])?;
    let consumer = Consumer::new(world.id()?);
    let poll = async |consumer: &Consumer, options| {
        topic.poll_as(root, consumer, 0, PollingStrategy::first(), options).await.map(|_| ())
    };
    let none = PollOptions { count: 0, ..Default::default() };
    refused("no message", poll(&consumer, none).await, &[code::INVALID_MESSAGES_COUNT])?;
    let more = PollOptions { count: 5, min_count: 6, ..Default::default() };
    refused("more than the count", poll(&consumer, more).await, &[code::INVALID_MESSAGES_COUNT])?;
    let tiny = PollOptions { max_bytes: 100, ..Default::default() };
    refused("no room for a header", poll(&consumer, tiny).await, &[code::INVALID_SIZE])?;
    let external = Consumer::external_group(world.id()?);
    refused("external group", poll(&external, PollOptions::default()).await, &[code::FEATURE_UNAVAILABLE])?;
    let stream = world.id()?;
    let missing = root.poll_messages(&stream, &topic.topic, 0, &consumer, &first, PollOptions::default()).await;
    refused("missing stream", missing.map(|_| ()), code::NO_SUCH_STREAM)
}
