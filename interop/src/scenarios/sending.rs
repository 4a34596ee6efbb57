//! Sends, and what of them can be read back.

use super::scenarios;
use crate::code;
use crate::outcome::{Failure, Outcome, equal, holds, present, refused};
use crate::topic::{Topic, message, messages, offsets, text, texts};
use crate::world::World;
use bytes::Bytes;
use futures_util::future::try_join_all;
use iggy::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

scenarios![
    "send-to-partition" = send_to_partition,
    "send-balanced" = send_balanced,
    "send-keyed" = send_keyed,
    "message-fields" = message_fields,
    "message-headers" = message_headers,
    "message-sizes" = message_sizes,
    "send-refusals" = send_refusals,
    "concurrent-senders" = concurrent_senders,
    "persisted-topic" = persisted_topic,
];

async fn send_to_partition(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(3).await?;
    equal("offset of the first batch", topic.send(root, 1, 0..10).await?, 0)?;
    equal("offset of the second batch", topic.send(root, 1, 10..15).await?, 10)?;
    equal("first offset of another partition", topic.send(root, 2, 0..1).await?, 0)?;
    equal("messages of partition 0", topic.read_all(root, 0).await?, texts(0..0))?;
    equal("messages of partition 1", topic.read_all(root, 1).await?, texts(0..15))?;
    equal("messages of partition 2", topic.read_all(root, 2).await?, texts(0..1))?;
    let details = present("topic", root.get_topic(&topic.stream, &topic.topic).await?)?;
    equal("last offset", details.partitions[1].current_offset, 14)?;
    equal("message counts", details.partitions.iter().map(|of| of.messages_count).collect(), vec![0, 15, 1])
}

async fn send_balanced(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(3).await?;
    for number in 0..6 {
        send(root, &topic, &Partitioning::balanced(), vec![message(number)?]).await?;
    }
    for partition in 0..3 {
        equal("messages per partition", topic.read_all(root, partition).await?.len(), 2)?;
    }
    Ok(())
}

async fn send_keyed(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(3).await?;
    let key = Partitioning::messages_key_str("user-123")?;
    let mut chosen = BTreeSet::new();
    for number in 0..4 {
        chosen.insert(send(root, &topic, &key, vec![message(number)?]).await?);
    }
    // XXH32 of the key modulo the number of partitions, whichever client sends.
    equal("partitions of the key", chosen, BTreeSet::from([1]))?;
    equal("messages of the key", topic.read_all(root, 1).await?, texts(0..4))
}

async fn message_fields(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    let ids = [1, u128::from(u64::MAX) + 1, u128::MAX];
    let mut batch = Vec::new();
    for id in ids {
        batch.push(IggyMessage::builder().id(id).payload(Bytes::from_static(b"x")).build()?);
    }
    let sent: Vec<u64> = batch.iter().map(|message| message.header.origin_timestamp).collect();
    send(root, &topic, &Partitioning::partition_id(0), batch).await?;
    let polled = topic.poll(root, 0, PollingStrategy::first(), 10).await?;
    equal("ids", polled.messages.iter().map(|message| message.header.id).collect(), ids.to_vec())?;
    let origins: Vec<u64> = polled.messages.iter().map(|message| message.header.origin_timestamp).collect();
    equal("origin timestamps", origins, sent)?;
    let now = IggyTimestamp::now().as_micros();
    let appended = polled.messages.iter().map(|message| message.header.timestamp);
    holds("append timestamps are recent", appended.into_iter().all(|time| now.abs_diff(time) < 60_000_000))?;

    send(root, &topic, &Partitioning::partition_id(0), vec![IggyMessage::from("without an id")]).await?;
    let last = topic.poll(root, 0, PollingStrategy::last(), 1).await?;
    holds("the client fills a missing id", present("message", last.messages.first())?.header.id != 0)
}

async fn message_headers(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    let values: [(&str, HeaderValue); 15] = [
        ("raw", HeaderValue::try_from([0, 255, 1].as_slice())?),
        ("string", HeaderValue::try_from("zażółć")?),
        ("bool", true.into()),
        ("int8", i8::MIN.into()),
        ("int16", i16::MIN.into()),
        ("int32", i32::MIN.into()),
        ("int64", i64::MIN.into()),
        ("int128", i128::MIN.into()),
        ("uint8", u8::MAX.into()),
        ("uint16", u16::MAX.into()),
        ("uint32", u32::MAX.into()),
        ("uint64", u64::MAX.into()),
        ("uint128", u128::MAX.into()),
        ("float32", 1.5_f32.into()),
        ("float64", (-2.25_f64).into()),
    ];
    let mut headers = BTreeMap::new();
    for (key, value) in values {
        headers.insert(HeaderKey::try_from(key)?, value);
    }
    let with =
        IggyMessage::builder().id(1).payload(Bytes::from_static(b"with")).user_headers(headers.clone()).build()?;
    send(root, &topic, &Partitioning::partition_id(0), vec![with, message(0)?]).await?;
    let polled = topic.poll(root, 0, PollingStrategy::first(), 10).await?;
    equal("headers", polled.messages[0].user_headers_map()?, Some(headers))?;
    holds("a message without headers", polled.messages[1].user_headers_map()?.is_none_or(|map| map.is_empty()))
}

async fn message_sizes(world: &World) -> Outcome {
    const MEBIBYTE: usize = 1024 * 1024;
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    for (offset, size) in [1, 1000, MEBIBYTE, 10 * MEBIBYTE].into_iter().enumerate() {
        let payload = (0..=250).cycle().take(size).collect::<Bytes>();
        let sent = IggyMessage::builder().id(1).payload(payload.clone()).build()?;
        send(root, &topic, &Partitioning::partition_id(0), vec![sent]).await?;
        // Larger than the default limit of a reply: a first message always comes, if need be alone.
        let polled = topic.poll(root, 0, PollingStrategy::offset(offset as u64), 10).await?;
        equal("offsets", offsets(&polled), vec![offset as u64])?;
        holds(&format!("payload of {size} bytes is intact"), polled.messages[0].payload == payload)?;
    }
    Ok(())
}

async fn send_refusals(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    let first = Partitioning::partition_id(0);
    let empty = root.send_messages(&topic.stream, &topic.topic, &first, &mut []).await;
    refused("empty batch", empty, &[code::INVALID_MESSAGES_COUNT])?;
    let hollow = IggyMessage::builder().payload(Bytes::new()).build();
    refused("empty payload", hollow, &[code::INVALID_PAYLOAD_LENGTH])?;
    let partition = Partitioning::partition_id(7);
    let nowhere = root.send_messages(&topic.stream, &topic.topic, &partition, &mut messages(0..1)?).await;
    refused("missing partition", nowhere, &[code::PARTITION_NOT_FOUND])?;
    let nowhere = root.send_messages(&topic.stream, &world.id()?, &first, &mut messages(0..1)?).await;
    refused("missing topic", nowhere, code::NO_SUCH_TOPIC)?;
    let nowhere = root.send_messages(&world.id()?, &topic.topic, &first, &mut messages(0..1)?).await;
    refused("missing stream", nowhere, code::NO_SUCH_STREAM)?;
    equal("messages", topic.read_all(root, 0).await?, texts(0..0))
}

/// Each sender must find its batches whole, in its order, at the offsets that its confirmations named.
async fn concurrent_senders(world: &World) -> Outcome {
    const SENDERS: u32 = 4;
    const BATCHES: u32 = 25;
    const BATCH: u32 = 20;
    let topic = world.topic(1).await?;
    let mut clients = Vec::new();
    for _ in 0..SENDERS {
        clients.push(world.sign_in().await?);
    }
    let confirmed = try_join_all(clients.iter().zip(0..).map(async |(client, sender)| {
        let mut confirmed = Vec::new();
        for batch in 0..BATCHES {
            let first = (sender * BATCHES + batch) * BATCH;
            confirmed.push((first, topic.send(client, 0, first..first + BATCH).await?));
        }
        Ok::<_, Failure>(confirmed)
    }))
    .await?;
    let read = topic.read_all(&clients[0], 0).await?;
    equal("messages", read.len(), (SENDERS * BATCHES * BATCH) as usize)?;
    for (first, offset) in confirmed.into_iter().flatten() {
        for (number, found) in (first..first + BATCH).zip(&read[offset as usize..]) {
            equal("message at its confirmed offset", found, &text(number))?;
        }
    }
    Ok(())
}

async fn persisted_topic(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world
        .topic_with(TopicCreateOptions {
            partitions_count: Some(1),
            durability: Durability::Persisted,
            consumer_offset_durability: Durability::Persisted,
            ..Default::default()
        })
        .await?;
    for batch in 0..10 {
        topic.send(root, 0, batch * 10..batch * 10 + 10).await?;
    }
    equal("messages", topic.read_all(root, 0).await?, texts(0..100))?;
    let consumer = Consumer::new(world.id()?);
    root.store_consumer_offset(&consumer, &topic.stream, &topic.topic, Some(0), 42).await?;
    let stored = root.get_consumer_offset(&consumer, &topic.stream, &topic.topic, Some(0)).await?;
    equal("stored offset", present("offset", stored)?.stored_offset, 42)
}

/// Sends one batch. Returns the partition that took it.
async fn send(
    client: &IggyClient,
    topic: &Topic,
    partitioning: &Partitioning,
    mut batch: Vec<IggyMessage>,
) -> Outcome<u32> {
    let sent = client.send_messages(&topic.stream, &topic.topic, partitioning, &mut batch).await?;
    Ok(present("confirmation", sent.confirmations.first())?.partition_id)
}
