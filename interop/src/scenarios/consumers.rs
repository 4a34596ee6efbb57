//! The partition reader, which fetches several partitions at once, and the high-level consumer on top of it.

use super::scenarios;
use crate::outcome::{Failure, Outcome, equal, holds, present};
use crate::topic::{Topic, texts};
use crate::world::{World, eventually};
use futures_util::StreamExt;
use iggy::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;
use tokio::time::timeout;

scenarios![
    "reader-of-partitions" = reader_of_partitions,
    "reader-resumes" = reader_resumes,
    "reader-commits-on-read" = reader_commits_on_read,
    "consumer-manual-commit" = manual_commit,
    "consumer-auto-commit" = auto_commit,
    "consumer-waits" = consumer_waits,
    "consumer-group-shares" = group_shares,
];

/// What the next message may take on a busy machine.
const PROMPT: Duration = Duration::from_secs(10);

fn waiting(commit: CommitPolicy) -> PollOptions {
    PollOptions { commit, ..PollOptions::wait(IggyDuration::new(Duration::from_millis(500))) }
}

async fn batch(reader: &mut PartitionReader) -> Outcome<PolledMessages> {
    let next = timeout(PROMPT, reader.next()).await;
    Ok(next.map_err(|_| Failure::new("the reader waits for a batch that is there"))??)
}

async fn message(consumer: &mut IggyConsumer) -> Outcome<ReceivedMessage> {
    let next = timeout(PROMPT, consumer.next()).await;
    let next = next.map_err(|_| Failure::new("the consumer waits for a message that is there"))?;
    Ok(present("next message", next)??)
}

fn consumer(client: &IggyClient, name: &str, topic: &Topic, commit: CommitPolicy) -> Outcome<IggyConsumer> {
    let builder = client.consumer(name, &topic.stream.get_string_value()?, &topic.topic.get_string_value()?)?;
    Ok(builder.partitions([0]).poll_options(waiting(commit)).build())
}

/// Consumes `count` messages of partition 0 and returns their offsets.
async fn consume(consumer: &mut IggyConsumer, count: usize) -> Outcome<Vec<u64>> {
    let mut offsets = Vec::new();
    while offsets.len() < count {
        offsets.push(message(consumer).await?.message.header.offset);
    }
    Ok(offsets)
}

async fn stored(client: &IggyClient, topic: &Topic, consumer: &Consumer) -> Outcome<Option<u64>> {
    let offset = client.get_consumer_offset(consumer, &topic.stream, &topic.topic, Some(0)).await?;
    Ok(offset.map(|offset| offset.stored_offset))
}

async fn reader_of_partitions(world: &World) -> Outcome {
    const PARTITIONS: u32 = 8;
    const MESSAGES: u32 = 50;
    let root = world.root().await?;
    let topic = world.topic(PARTITIONS).await?;
    for partition in 0..PARTITIONS {
        topic.send(root, partition, 0..MESSAGES).await?;
    }
    let builder = root.reader(&topic.stream, &topic.topic, &Consumer::new(world.id()?));
    let mut reader = builder.partitions(0..PARTITIONS).options(waiting(CommitPolicy::Manual)).build().await?;
    let mut read: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    while read.values().map(Vec::len).sum::<usize>() < (MESSAGES * PARTITIONS) as usize {
        let batch = batch(&mut reader).await?;
        let offsets = batch.messages.iter().map(|message| message.header.offset);
        read.entry(batch.partition_id).or_default().extend(offsets);
    }
    equal("partitions", read.len(), PARTITIONS as usize)?;
    for offsets in read.into_values() {
        equal("offsets of a partition", offsets, (0..u64::from(MESSAGES)).collect())?;
    }
    topic.send(root, 3, 50..51).await?;
    let live = batch(&mut reader).await?;
    equal("live message", (live.partition_id, live.messages[0].header.offset), (3, 50))?;
    Ok(reader.close().await?)
}

async fn reader_resumes(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    topic.send(root, 0, 0..10).await?;
    let identity = Consumer::new(world.id()?);
    let open = async || {
        let builder = root.reader(&topic.stream, &topic.topic, &identity);
        builder.partitions([0]).options(PollOptions { count: 4, ..waiting(CommitPolicy::Manual) }).build().await
    };
    let mut reader = open().await?;
    let first = batch(&mut reader).await?;
    equal("first message", first.messages[0].header.offset, 0)?;
    reader.commit(present("checkpoint", first.checkpoint())?).await?;
    reader.close().await?;

    let mut reader = open().await?;
    let next = batch(&mut reader).await?;
    let behind = first.messages.len() as u64;
    equal("first message after the restart", next.messages[0].header.offset, behind)?;
    reader.seek(0, PollingStrategy::offset(2)).await?;
    equal("first message after the seek", batch(&mut reader).await?.messages[0].header.offset, 2)?;
    Ok(reader.close().await?)
}

/// The server stores what it hands out, and a close gives back what the application did not take.
async fn reader_commits_on_read(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    topic.send(root, 0, 0..10).await?;
    let identity = Consumer::new(world.id()?);
    let options = PollOptions { count: 3, ..waiting(CommitPolicy::OnRead) };
    let builder = root.reader(&topic.stream, &topic.topic, &identity);
    let mut reader = builder.partitions([0]).options(options).build().await?;
    let taken = batch(&mut reader).await?;
    let last = present("message", taken.messages.last())?.header.offset;
    reader.close().await?;
    eventually(async || equal("stored offset", stored(root, &topic, &identity).await?, Some(last))).await
}

async fn manual_commit(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    topic.send(root, 0, 0..20).await?;
    let name = world.name();
    let mut first = consumer(root, &name, &topic, CommitPolicy::Manual)?;
    first.init().await?;
    for number in 0..8 {
        let received = message(&mut first).await?;
        equal("offset", received.message.header.offset, number)?;
        equal("last offset of the partition", received.current_offset, 19)?;
        first.commit(received.checkpoint()).await?;
    }
    equal("unfinished offset", consume(&mut first, 1).await?, vec![8])?;
    first.shutdown().await?;

    let mut second = consumer(root, &name, &topic, CommitPolicy::Manual)?;
    second.init().await?;
    equal("offsets after the restart", consume(&mut second, 12).await?, (8..20).collect())?;
    Ok(second.shutdown().await?)
}

async fn auto_commit(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    topic.send(root, 0, 0..30).await?;
    let name = world.name();
    let identity = Consumer::new(Identifier::named(&name)?);
    let every_ten = CommitPolicy::Auto(AutoCommit {
        interval: None,
        every: NonZeroU32::new(10).map(CommitEvery::Messages),
        after: CommitAfter::Processing,
    });
    let mut consumer = consumer(root, &name, &topic, every_ten)?;
    consumer.init().await?;
    // A message counts when the application asks for the one behind it. The tenth one starts a store, which takes the
    // latest that counts by then.
    consume(&mut consumer, 15).await?;
    eventually(async || {
        let stored = present("offset", stored(root, &topic, &identity).await?)?;
        holds("ten to fourteen messages are stored", (9..=13).contains(&stored))
    })
    .await?;
    consumer.shutdown().await?;
    equal("offset after the shutdown", stored(root, &topic, &identity).await?, Some(14))
}

async fn consumer_waits(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    let mut early = consumer(root, &world.name(), &topic, CommitPolicy::OnRead)?;
    early.init().await?;
    holds("nothing to consume yet", timeout(Duration::from_millis(800), early.next()).await.is_err())?;
    topic.send(root, 0, 0..3).await?;
    equal("offsets", consume(&mut early, 3).await?, (0..3).collect())?;
    Ok(early.shutdown().await?)
}

/// Two members share a topic. The first one leaves half-way, and nothing is lost or read twice.
async fn group_shares(world: &World) -> Outcome {
    const PARTITIONS: u32 = 4;
    const MESSAGES: u32 = 20;
    let (first, second, writer) = (world.sign_in().await?, world.sign_in().await?, world.root().await?);
    let topic = world.topic(PARTITIONS).await?;
    let name = world.name();
    let join = async |client: &IggyClient| {
        let (stream, topic) = (topic.stream.get_string_value()?, topic.topic.get_string_value()?);
        let builder = client.consumer_group(&name, &stream, &topic)?;
        let mut member = builder.poll_options(waiting(CommitPolicy::Manual)).build();
        member.init().await?;
        Outcome::Ok(member)
    };
    let (mut leaving, mut staying) = (join(&first).await?, join(&second).await?);
    for partition in 0..PARTITIONS {
        topic.send(writer, partition, 0..MESSAGES).await?;
    }
    let mut read: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut take = async |member: &mut IggyConsumer| {
        let received = message(member).await?;
        read.entry(received.partition_id).or_default().push(received.message.header.offset);
        Outcome::Ok(member.commit(received.checkpoint()).await?)
    };
    for _ in 0..MESSAGES {
        take(&mut leaving).await?;
    }
    leaving.shutdown().await?;
    for _ in 0..MESSAGES * (PARTITIONS - 1) {
        take(&mut staying).await?;
    }
    staying.shutdown().await?;
    equal("partitions", read.len(), PARTITIONS as usize)?;
    for offsets in read.into_values() {
        equal("offsets of a partition", offsets, (0..u64::from(MESSAGES)).collect())?;
    }
    equal("messages of partition 0", topic.read_all(writer, 0).await?, texts(0..MESSAGES))
}
