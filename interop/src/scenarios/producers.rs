//! The high-level producer, and producers whose batches are written once.

use super::scenarios;
use crate::code;
use crate::outcome::{Outcome, equal, holds, present, refused};
use crate::topic::{Topic, messages, texts};
use crate::world::World;
use iggy::prelude::*;

scenarios![
    "producer-direct" = direct,
    "producer-background" = background,
    "producer-idempotent" = idempotent,
    "producer-sequences" = sequences,
    "producer-window" = window,
];

fn named_topic(world: &World) -> Outcome<Topic> {
    Ok(Topic { stream: world.id()?, topic: world.id()? })
}

fn builder(client: &IggyClient, topic: &Topic, partitions: u32) -> Outcome<IggyProducerBuilder> {
    let builder = client.producer(&topic.stream.get_string_value()?, &topic.topic.get_string_value()?)?;
    Ok(builder.create_topic_if_not_exists(partitions, IggyExpiry::ServerDefault, MaxTopicSize::ServerDefault))
}

/// Stream and topic do not exist: the producer makes them, and cuts what it sends into requests.
async fn direct(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = named_topic(world)?;
    let producer = builder(root, &topic, 1)?
        .direct(DirectConfig::builder().batch_length(1000).build())
        .partitioning(Partitioning::partition_id(0))
        .build();
    producer.init().await?;
    let sent = producer.send(messages(0..2500)?).await?;
    let bases = sent.confirmations.iter().map(|confirmation| confirmation.base_offset).collect();
    equal("offsets of the requests", bases, vec![0, 1000, 2000])?;
    equal("messages", topic.read_all(root, 0).await?, texts(0..2500))
}

async fn background(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = named_topic(world)?;
    let producer = builder(root, &topic, 1)?
        .background(BackgroundConfig::builder().build())
        .partitioning(Partitioning::partition_id(0))
        .build();
    producer.init().await?;
    for batch in 0..50 {
        producer.send(messages(batch * 10..batch * 10 + 10)?).await?;
    }
    producer.shutdown().await;
    equal("messages", topic.read_all(root, 0).await?, texts(0..500))
}

async fn idempotent(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = named_topic(world)?;
    let producer = builder(root, &topic, 2)?.idempotent().partitioning(Partitioning::balanced()).build();
    producer.init().await?;
    for batch in 0..6 {
        producer.send(messages(batch * 10..batch * 10 + 10)?).await?;
    }
    let mut read = topic.read_all(root, 0).await?;
    equal("messages of one partition", read.len(), 30)?;
    read.extend(topic.read_all(root, 1).await?);
    let mut expected = texts(0..60);
    expected.sort_unstable();
    read.sort_unstable();
    equal("messages of both partitions", read, expected)
}

/// One batch of a producer whose first message has the sequence `base`.
async fn send_from(
    client: &IggyClient,
    topic: &Topic,
    (producer, epoch, base): (u64, u16, u32),
    count: u32,
) -> Result<u64, IggyError> {
    let section = BatchProducer::new(producer, epoch, base).ok_or(IggyError::InvalidFormat)?;
    let mut batch = messages(base..base + count).map_err(|_| IggyError::InvalidFormat)?;
    let sent = client.send_producer_messages(&topic.stream, &topic.topic, 0, section, &mut batch).await?;
    sent.confirmations.first().map(|confirmation| confirmation.base_offset).ok_or(IggyError::InvalidFormat)
}

async fn sequences(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    let producer = root.next_producer_id().await?;
    let early = send_from(root, &topic, (producer, 0, 5), 1).await;
    refused("unknown producer above sequence 0", early, &[code::PRODUCER_UNKNOWN])?;
    equal("first batch", send_from(root, &topic, (producer, 0, 0), 5).await?, 0)?;
    equal("second batch", send_from(root, &topic, (producer, 0, 5), 5).await?, 5)?;
    equal("second batch again", send_from(root, &topic, (producer, 0, 5), 5).await?, 5)?;
    equal("first batch again", send_from(root, &topic, (producer, 0, 0), 5).await?, 0)?;
    let gap = send_from(root, &topic, (producer, 0, 12), 1).await;
    refused("gap in the sequence", gap, &[code::PRODUCER_SEQUENCE_OUT_OF_ORDER])?;
    let overlap = send_from(root, &topic, (producer, 0, 7), 2).await;
    refused("overlap in the sequence", overlap, &[code::PRODUCER_SEQUENCE_OUT_OF_ORDER])?;

    let elsewhere = world.sign_in().await?;
    equal("resend by another session", send_from(&elsewhere, &topic, (producer, 0, 5), 5).await?, 5)?;
    equal("first batch of the next epoch", send_from(root, &topic, (producer, 1, 0), 2).await?, 10)?;
    let fenced = send_from(root, &topic, (producer, 0, 10), 1).await;
    refused("older epoch", fenced, &[code::PRODUCER_EPOCH_FENCED])?;
    let read: Vec<String> = texts(0..10).into_iter().chain(texts(0..2)).collect();
    equal("messages", topic.read_all(root, 0).await?, read)
}

/// A partition knows the last five batches of a producer.
async fn window(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    let (first, second) = (root.next_producer_id().await?, root.next_producer_id().await?);
    holds("producer ids differ", first != second)?;
    for sequence in 0..6 {
        send_from(root, &topic, (first, 0, sequence), 1).await?;
    }
    for sequence in 1..6 {
        let again = send_from(root, &topic, (first, 0, sequence), 1).await?;
        equal("offset of a known batch", again, u64::from(sequence))?;
    }
    let forgotten = send_from(root, &topic, (first, 0, 0), 1).await;
    refused("batch before the last five", forgotten, &[code::PRODUCER_SEQUENCE_OUT_OF_ORDER])?;
    equal("first batch of another producer", send_from(root, &topic, (second, 0, 0), 1).await?, 6)?;
    let details = present("topic", root.get_topic(&topic.stream, &topic.topic).await?)?;
    equal("messages", details.messages_count, 7)
}
