//! Streams, topics and partitions.

use super::scenarios;
use crate::code;
use crate::outcome::{Outcome, absent, equal, holds, present, refused};
use crate::topic::texts;
use crate::world::World;
use futures_util::future::join_all;
use iggy::prelude::*;

scenarios![
    "stream-lifecycle" = stream_lifecycle,
    "stream-refusals" = stream_refusals,
    "topic-lifecycle" = topic_lifecycle,
    "topic-refusals" = topic_refusals,
    "partitions" = partitions,
    "recreated-topic" = recreated_topic,
    "one-name-many-creators" = one_name_many_creators,
];

fn renamed_stream(name: &str) -> StreamUpdateOptions {
    StreamUpdateOptions { name: Some(name.to_owned()), ..Default::default() }
}

fn renamed_topic(name: &str) -> TopicUpdateOptions {
    TopicUpdateOptions { name: Some(name.to_owned()), ..Default::default() }
}

fn partitions_of(count: u32) -> TopicCreateOptions {
    TopicCreateOptions { partitions_count: Some(count), ..Default::default() }
}

async fn stream_lifecycle(world: &World) -> Outcome {
    let root = world.root().await?;
    let name = world.name();
    let created = root.create_stream(&name, &StreamCreateOptions::default()).await?;
    equal("name of the reply", created.name.as_str(), name.as_str())?;
    equal("topics of a new stream", created.topics_count, 0)?;

    let by_id = present("stream by id", root.get_stream(&Identifier::numeric(created.id)?).await?)?;
    equal("name of the stream", by_id.name.as_str(), name.as_str())?;
    let by_name = present("stream by name", root.get_stream(&Identifier::named(&name)?).await?)?;
    equal("id of the stream", by_name.id, created.id)?;
    equal("creation time", by_name.created_at.as_micros(), created.created_at.as_micros())?;
    let listed = root.get_streams().await?;
    present("stream in the list", listed.iter().find(|stream| stream.id == created.id && stream.name == name))?;

    let renamed = world.name();
    root.update_stream(&Identifier::named(&name)?, &renamed_stream(&renamed)).await?;
    absent("stream by its old name", root.get_stream(&Identifier::named(&name)?).await?)?;
    let stream = present("renamed stream", root.get_stream(&Identifier::named(&renamed)?).await?)?;
    equal("id of the renamed stream", stream.id, created.id)?;

    root.delete_stream(&Identifier::numeric(created.id)?).await?;
    absent("deleted stream by name", root.get_stream(&Identifier::named(&renamed)?).await?)?;
    absent("deleted stream by id", root.get_stream(&Identifier::numeric(created.id)?).await?)
}

async fn stream_refusals(world: &World) -> Outcome {
    let root = world.root().await?;
    let (first, second) = (world.stream().await?, world.stream().await?);
    let name = first.get_string_value()?;
    let duplicate = root.create_stream(&name, &StreamCreateOptions::default()).await;
    refused("second stream of the name", duplicate, &[code::STREAM_NAME_ALREADY_EXISTS])?;
    let taken = root.update_stream(&second, &renamed_stream(&name)).await;
    refused("rename to a taken name", taken, &[code::STREAM_NAME_ALREADY_EXISTS])?;
    root.update_stream(&first, &renamed_stream(&name)).await?;

    let missing = world.id()?;
    absent("missing stream", root.get_stream(&missing).await?)?;
    refused("delete of a missing stream", root.delete_stream(&missing).await, code::NO_SUCH_STREAM)?;
    let rename = root.update_stream(&missing, &renamed_stream(&world.name())).await;
    refused("rename of a missing stream", rename, code::NO_SUCH_STREAM)
}

async fn topic_lifecycle(world: &World) -> Outcome {
    let root = world.root().await?;
    let stream = world.stream().await?;
    let name = world.name();
    let created = root.create_topic(&stream, &name, &partitions_of(3)).await?;
    equal("name of the reply", created.name.as_str(), name.as_str())?;
    equal("first topic id of a stream", created.id, 0)?;
    equal("partitions of the reply", created.partitions.iter().map(|partition| partition.id).collect(), vec![0, 1, 2])?;

    let by_id = present("topic by id", root.get_topic(&stream, &Identifier::numeric(0)?).await?)?;
    equal("name of the topic", by_id.name.as_str(), name.as_str())?;
    for partition in &by_id.partitions {
        equal("messages of a new partition", partition.messages_count, 0)?;
        equal("segments of a new partition", partition.segments_count, 1)?;
        holds("incarnation of a new partition", partition.context.incarnation > 0)?;
    }
    let empty = root.create_topic(&stream, &world.name(), &partitions_of(0)).await?;
    equal("second topic id of a stream", empty.id, 1)?;
    equal("partitions of an empty topic", empty.partitions_count, 0)?;
    equal("topics of the list", root.get_topics(&stream).await?.iter().map(|topic| topic.id).collect(), vec![0, 1])?;
    let details = present("stream", root.get_stream(&stream).await?)?;
    equal("topics of the stream", details.topics.iter().map(|topic| topic.id).collect(), vec![0, 1])?;

    let renamed = world.name();
    root.update_topic(&stream, &Identifier::named(&name)?, &renamed_topic(&renamed)).await?;
    absent("topic by its old name", root.get_topic(&stream, &Identifier::named(&name)?).await?)?;
    root.delete_topic(&stream, &Identifier::named(&renamed)?).await?;
    absent("deleted topic", root.get_topic(&stream, &Identifier::numeric(0)?).await?)?;
    let reused = root.create_topic(&stream, &world.name(), &partitions_of(1)).await?;
    equal("lowest free topic id", reused.id, 0)
}

async fn topic_refusals(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    let name = topic.topic.get_string_value()?;
    let duplicate = root.create_topic(&topic.stream, &name, &partitions_of(1)).await;
    refused("second topic of the name", duplicate, &[code::TOPIC_NAME_ALREADY_EXISTS])?;
    let elsewhere = world.stream().await?;
    root.create_topic(&elsewhere, &name, &partitions_of(1)).await?;

    let missing_stream = world.id()?;
    let orphan = root.create_topic(&missing_stream, &name, &partitions_of(1)).await;
    refused("topic of a missing stream", orphan, code::NO_SUCH_STREAM)?;
    equal("topics of a missing stream", root.get_topics(&missing_stream).await?.len(), 0)?;
    absent("missing topic", root.get_topic(&topic.stream, &world.id()?).await?)?;
    let delete = root.delete_topic(&topic.stream, &world.id()?).await;
    refused("delete of a missing topic", delete, code::NO_SUCH_TOPIC)?;
    let many = root.create_topic(&topic.stream, &world.name(), &partitions_of(1001)).await;
    refused("1001 partitions", many, &[code::TOO_MANY_PARTITIONS])
}

async fn partitions(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(2).await?;
    let count = async || {
        let details = present("topic", root.get_topic(&topic.stream, &topic.topic).await?)?;
        equal("length of the partition list", details.partitions.len(), details.partitions_count as usize)?;
        Outcome::Ok(details.partitions_count)
    };
    root.create_partitions(&topic.stream, &topic.topic, 3).await?;
    equal("partitions after adding three", count().await?, 5)?;
    topic.send(root, 4, 0..1).await?;
    root.delete_partitions(&topic.stream, &topic.topic, 4).await?;
    equal("partitions after removing four", count().await?, 1)?;
    let gone = topic.poll(root, 4, PollingStrategy::first(), 1).await;
    refused("poll of a removed partition", gone.map(|_| ()), &[code::PARTITION_NOT_FOUND, code::HISTORY_UNAVAILABLE])?;

    let too_many = root.delete_partitions(&topic.stream, &topic.topic, 2).await;
    refused("removing more than there are", too_many, &[code::INVALID_PARTITIONS_COUNT])?;
    let none = root.create_partitions(&topic.stream, &topic.topic, 0).await;
    refused("adding none", none, &[code::TOO_MANY_PARTITIONS])?;

    let fixed = world
        .topic_with(TopicCreateOptions {
            partition_resize_policy: Some(PartitionResizePolicy::Fixed),
            ..partitions_of(2)
        })
        .await?;
    let grow = root.create_partitions(&fixed.stream, &fixed.topic, 1).await;
    refused("adding to a fixed topic", grow, &[code::PARTITION_RESIZE_DISABLED])?;
    let shrink = root.delete_partitions(&fixed.stream, &fixed.topic, 1).await;
    refused("removing from a fixed topic", shrink, &[code::PARTITION_RESIZE_DISABLED])
}

/// A position of a deleted topic must not reach its namesake, which has the same ids.
async fn recreated_topic(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    topic.send(root, 0, 0..10).await?;
    let polled = topic.poll(root, 0, PollingStrategy::first(), 5).await?;
    let checkpoint = present("checkpoint", polled.checkpoint())?;
    let name = topic.topic.get_string_value()?;
    root.delete_topic(&topic.stream, &topic.topic).await?;
    root.create_topic(&topic.stream, &name, &partitions_of(1)).await?;

    let other = world.sign_in().await?;
    topic.send(&other, 0, 20..23).await?;
    let stale = topic.poll(root, 0, polled.continuation(), 5).await;
    refused("continuation of the deleted topic", stale.map(|_| ()), &[code::HISTORY_UNAVAILABLE])?;
    let consumer = Consumer::new(world.id()?);
    let stale = root.store_consumer_position(&consumer, &topic.stream, &topic.topic, &checkpoint).await;
    refused("checkpoint of the deleted topic", stale, &[code::HISTORY_UNAVAILABLE])?;
    equal("messages of the new topic", topic.read_all(&other, 0).await?, texts(20..23))
}

async fn one_name_many_creators(world: &World) -> Outcome {
    const CREATORS: usize = 8;
    let name = world.name();
    let mut clients = Vec::new();
    for _ in 0..CREATORS {
        clients.push(world.sign_in().await?);
    }
    let options = StreamCreateOptions::default();
    let results = join_all(clients.iter().map(|client| client.create_stream(&name, &options))).await;
    let (created, rest): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    equal("creations that succeeded", created.len(), 1)?;
    for result in rest {
        refused("creation of a taken name", result, &[code::STREAM_NAME_ALREADY_EXISTS])?;
    }
    Ok(())
}
