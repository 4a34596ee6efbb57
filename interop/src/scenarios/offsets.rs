//! Stored offsets of consumers.

use super::scenarios;
use crate::code;
use crate::outcome::{Outcome, absent, equal, present, refused};
use crate::topic::{Topic, offsets};
use crate::world::{World, eventually};
use iggy::prelude::*;

scenarios![
    "consumer-offset" = consumer_offset,
    "separate-offsets" = separate_offsets,
    "offset-refusals" = offset_refusals,
    "commit-on-read" = commit_on_read,
    "commit-checkpoint" = commit_checkpoint,
    "external-group-offset" = external_group_offset,
];

async fn stored(client: &IggyClient, topic: &Topic, consumer: &Consumer, partition: u32) -> Outcome<Option<u64>> {
    let offset = client.get_consumer_offset(consumer, &topic.stream, &topic.topic, Some(partition)).await?;
    Ok(offset.map(|offset| offset.stored_offset))
}

async fn store(
    client: &IggyClient,
    topic: &Topic,
    consumer: &Consumer,
    partition: u32,
    offset: u64,
) -> Result<(), IggyError> {
    client.store_consumer_offset(consumer, &topic.stream, &topic.topic, Some(partition), offset).await
}

async fn consumer_offset(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    topic.send(root, 0, 0..10).await?;
    let consumer = Consumer::new(world.id()?);
    absent("offset of a new consumer", stored(root, &topic, &consumer, 0).await?)?;
    for offset in [0, 7, 4] {
        store(root, &topic, &consumer, 0, offset).await?;
        equal("stored offset", stored(root, &topic, &consumer, 0).await?, Some(offset))?;
        let options = PollOptions { count: 1, ..Default::default() };
        let next = topic.poll_as(root, &consumer, 0, PollingStrategy::next(), options).await?;
        equal("next after the stored offset", offsets(&next), vec![offset + 1])?;
    }
    let details = root.get_consumer_offset(&consumer, &topic.stream, &topic.topic, Some(0)).await?;
    equal("last offset of the partition", present("offset", details)?.current_offset, 9)?;
    root.delete_consumer_offset(&consumer, &topic.stream, &topic.topic, Some(0)).await?;
    absent("deleted offset", stored(root, &topic, &consumer, 0).await?)
}

async fn separate_offsets(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(2).await?;
    topic.send(root, 0, 0..10).await?;
    topic.send(root, 1, 0..10).await?;
    let (named, other, numbered) =
        (Consumer::new(world.id()?), Consumer::new(world.id()?), Consumer::new(Identifier::numeric(77)?));
    store(root, &topic, &named, 0, 1).await?;
    store(root, &topic, &named, 1, 2).await?;
    store(root, &topic, &other, 0, 3).await?;
    store(root, &topic, &numbered, 0, 4).await?;
    equal("offset of the first consumer", stored(root, &topic, &named, 0).await?, Some(1))?;
    equal("its offset of another partition", stored(root, &topic, &named, 1).await?, Some(2))?;
    equal("offset of the second consumer", stored(root, &topic, &other, 0).await?, Some(3))?;
    equal("offset of the numbered consumer", stored(root, &topic, &numbered, 0).await?, Some(4))?;
    absent("offset that nobody stored", stored(root, &topic, &other, 1).await?)
}

async fn offset_refusals(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    let consumer = Consumer::new(world.id()?);
    let early = store(root, &topic, &consumer, 0, 0).await;
    refused("offset of an empty partition", early, &[code::INVALID_OFFSET])?;
    topic.send(root, 0, 0..3).await?;
    refused("offset beyond the end", store(root, &topic, &consumer, 0, 3).await, &[code::INVALID_OFFSET])?;
    let missing = root.delete_consumer_offset(&consumer, &topic.stream, &topic.topic, Some(0)).await;
    refused("delete of a missing offset", missing, &[code::CONSUMER_OFFSET_NOT_FOUND])?;
    let nowhere = store(root, &topic, &consumer, 5, 0).await;
    refused("offset of a missing partition", nowhere, &[code::PARTITION_NOT_FOUND])?;
    let group = Consumer::group(world.id()?);
    let nobody = store(root, &topic, &group, 0, 0).await;
    refused("offset of a missing group", nobody, code::NO_SUCH_GROUP)
}

async fn commit_on_read(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    topic.send(root, 0, 0..10).await?;
    let consumer = Consumer::new(world.id()?);
    let options = PollOptions { count: 4, commit: CommitPolicy::OnRead, ..Default::default() };
    for expected in [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9], vec![]] {
        let polled = topic.poll_as(root, &consumer, 0, PollingStrategy::next(), options).await?;
        equal("offsets of a committing read", offsets(&polled), expected)?;
    }
    // The store follows the reply.
    eventually(async || equal("stored offset", stored(root, &topic, &consumer, 0).await?, Some(9))).await
}

async fn commit_checkpoint(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    topic.send(root, 0, 0..10).await?;
    let consumer = Consumer::new(world.id()?);
    let options = PollOptions { count: 6, ..Default::default() };
    let polled = topic.poll_as(root, &consumer, 0, PollingStrategy::next(), options).await?;
    let (third, last) = (present("checkpoint", polled.checkpoint_at(2))?, present("checkpoint", polled.checkpoint())?);
    root.store_consumer_position(&consumer, &topic.stream, &topic.topic, &last).await?;
    equal("offset of the last message", stored(root, &topic, &consumer, 0).await?, Some(5))?;
    root.store_consumer_position(&consumer, &topic.stream, &topic.topic, &third).await?;
    equal("offset of an earlier message", stored(root, &topic, &consumer, 0).await?, Some(2))?;
    root.delete_consumer_position(&consumer, &topic.stream, &topic.topic, &last).await?;
    absent("deleted offset", stored(root, &topic, &consumer, 0).await?)
}

/// Offsets of a group that another system manages: no membership, and values that the partition need not hold.
async fn external_group_offset(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    let name = world.name();
    root.create_consumer_group(&topic.stream, &topic.topic, &name).await?;
    let external = Consumer::external_group(Identifier::named(&name)?);
    absent("offset of a new group", stored(root, &topic, &external, 0).await?)?;
    store(root, &topic, &external, 0, 12_345).await?;
    equal("stored offset", stored(root, &topic, &external, 0).await?, Some(12_345))?;
    let member = Consumer::group(Identifier::named(&name)?);
    absent("offset of the group itself", stored(root, &topic, &member, 0).await?)?;
    root.delete_consumer_offset(&external, &topic.stream, &topic.topic, Some(0)).await?;
    absent("deleted offset", stored(root, &topic, &external, 0).await?)
}
