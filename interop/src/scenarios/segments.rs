//! Removal of old segments.

use super::scenarios;
use crate::code;
use crate::outcome::{Outcome, equal, holds, present, refused};
use crate::world::{World, eventually};
use bytes::Bytes;
use iggy::prelude::*;

scenarios!["delete-segments" = delete_segments];

const SEGMENT_BYTES: u64 = 1024 * 1024;
const MESSAGE_BYTES: usize = 64 * 1024;
const MESSAGES: u64 = 64;

async fn delete_segments(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world
        .topic_with(TopicCreateOptions {
            partitions_count: Some(1),
            segment_size: Some(IggyByteSize::from(SEGMENT_BYTES)),
            ..Default::default()
        })
        .await?;
    for _ in 0..MESSAGES {
        let payload = Bytes::from(vec![b'x'; MESSAGE_BYTES]);
        let mut batch = [IggyMessage::builder().payload(payload).build()?];
        root.send_messages(&topic.stream, &topic.topic, &Partitioning::partition_id(0), &mut batch).await?;
    }
    let segments = async || {
        let details = present("topic", root.get_topic(&topic.stream, &topic.topic).await?)?;
        Outcome::Ok(details.partitions[0].segments_count)
    };
    eventually(async || holds("4 MiB fill several segments of 1 MiB", segments().await? >= 3)).await?;
    let oldest = async || {
        let polled = topic.poll(root, 0, PollingStrategy::first(), 1).await?;
        Outcome::Ok(present("oldest message", polled.messages.first())?.header.offset)
    };

    let consumer = Consumer::new(world.id()?);
    root.store_consumer_offset(&consumer, &topic.stream, &topic.topic, Some(0), 0).await?;
    root.delete_segments(&topic.stream, &topic.topic, 0, 1).await?;
    equal("oldest offset while a consumer holds it", oldest().await?, 0)?;
    root.delete_consumer_offset(&consumer, &topic.stream, &topic.topic, Some(0)).await?;

    root.delete_segments(&topic.stream, &topic.topic, 0, 1).await?;
    eventually(async || {
        let second = oldest().await?;
        holds("the oldest segment is gone, and nothing more", (1..MESSAGES / 2).contains(&second))
    })
    .await?;
    // What a send left in memory may fill segments later, which are sealed then.
    eventually(async || {
        root.delete_segments(&topic.stream, &topic.topic, 0, 1000).await?;
        equal("segments that are left", segments().await?, 1)
    })
    .await?;
    let last = topic.poll(root, 0, PollingStrategy::last(), 1).await?;
    equal("last offset", last.current_offset, MESSAGES - 1)?;

    let none = root.delete_segments(&topic.stream, &topic.topic, 0, 0).await;
    refused("no segments", none, &[code::INVALID_SEGMENTS_COUNT])?;
    let nowhere = root.delete_segments(&topic.stream, &topic.topic, 7, 1).await;
    refused("segments of a missing partition", nowhere, &[code::PARTITION_NOT_FOUND])
}
