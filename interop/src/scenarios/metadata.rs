//! The log of metadata changes.

use super::scenarios;
use crate::code;
use crate::outcome::{Outcome, equal, holds, present, refused};
use crate::world::{World, user_id};
use iggy::prelude::*;

scenarios!["metadata-changes" = changes, "metadata-current" = current, "metadata-refusals" = refusals];

async fn changes(world: &World) -> Outcome {
    let root = world.root().await?;
    let latest = MetadataChangesQuery { start: MetadataChangeStart::Latest, ..Default::default() };
    let mut cursor = present("latest cursor", root.get_metadata_changes(&latest).await?.next)?;

    let topic = world.topic(2).await?;
    root.create_partitions(&topic.stream, &topic.topic, 1).await?;
    let group = world.name();
    root.create_consumer_group(&topic.stream, &topic.topic, &group).await?;
    let user = world.name();
    root.create_user(&user, "a good password", UserStatus::Active, None, &UserCreateOptions::default()).await?;
    root.delete_user(&user_id(&user)?).await?;

    let mut kinds = Vec::new();
    let mut positions = Vec::new();
    loop {
        // Pages of two, to walk over page ends.
        let query = MetadataChangesQuery { start: MetadataChangeStart::After(cursor), limit: 2, ..Default::default() };
        let page = root.get_metadata_changes(&query).await?;
        equal("status", page.status, MetadataChangeStatus::Ok)?;
        equal("phase", page.phase, MetadataChangePhase::Changes)?;
        holds("records of a page", page.records.len() <= 2)?;
        for record in &page.records {
            positions.push((record.op, record.ordinal));
            kinds.extend(kind(&record.change));
        }
        cursor = present("next cursor", page.next)?;
        if !page.has_more {
            break;
        }
    }
    let expected =
        ["stream created", "topic created", "partitions changed", "group created", "user created", "user deleted"];
    equal("changes", kinds, expected.to_vec())?;
    holds("positions rise", positions.is_sorted_by(|left, right| left < right))?;

    let streams = MetadataChangesQuery {
        start: MetadataChangeStart::Earliest,
        groups: vec![MetadataChangeGroup::Streams],
        limit: 1000,
        ..Default::default()
    };
    let page = root.get_metadata_changes(&streams).await?;
    let name = topic.stream.get_string_value()?;
    let created = page.records.iter().any(|record| match &record.change {
        MetadataChange::StreamCreated(stream) => stream.name == name,
        _ => false,
    });
    holds("the stream is in the log of streams", created || page.has_more)
}

fn kind(change: &MetadataChange) -> Option<&'static str> {
    match change {
        MetadataChange::StreamCreated(_) => Some("stream created"),
        MetadataChange::TopicCreated(_) => Some("topic created"),
        MetadataChange::PartitionsChanged(_) => Some("partitions changed"),
        MetadataChange::ConsumerGroupCreated(_) => Some("group created"),
        MetadataChange::UserCreated(_) => Some("user created"),
        MetadataChange::UserDeleted(_) => Some("user deleted"),
        // Sessions of clients come and go beside the scenario.
        _ => None,
    }
}

async fn current(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(2).await?;
    let (mut streams, mut topics, mut partitions) = (Vec::new(), Vec::new(), Vec::new());
    let mut token = None;
    loop {
        let query = MetadataChangesQuery {
            start: MetadataChangeStart::Current(token),
            groups: vec![MetadataChangeGroup::Streams, MetadataChangeGroup::Topics, MetadataChangeGroup::Partitions],
            limit: 1,
            ..Default::default()
        };
        let page = root.get_metadata_changes(&query).await?;
        equal("status", page.status, MetadataChangeStatus::Ok)?;
        equal("phase", page.phase, MetadataChangePhase::Current)?;
        for item in page.items {
            match item {
                MetadataCurrentItem::Stream(stream) => streams.push(stream.name),
                MetadataCurrentItem::Topic(topic) => topics.push(topic.name),
                MetadataCurrentItem::Partitions(topic) => partitions.push(topic.partitions_count),
                other => {
                    return Err(crate::outcome::Failure::new(format_args!("item that nobody asked for: {other:?}")));
                }
            }
        }
        token = page.current_page_token;
        if token.is_none() {
            break;
        }
    }
    holds("the stream is in the state", streams.contains(&topic.stream.get_string_value()?))?;
    holds("the topic is in the state", topics.contains(&topic.topic.get_string_value()?))?;
    equal("topics with partitions", partitions.len(), topics.len())?;
    holds("the partitions are in the state", partitions.contains(&2))
}

async fn refusals(world: &World) -> Outcome {
    let root = world.root().await?;
    let orphaned = MetadataChangesQuery {
        start: MetadataChangeStart::Current(None),
        groups: vec![MetadataChangeGroup::Topics],
        ..Default::default()
    };
    let orphaned = root.get_metadata_changes(&orphaned).await;
    refused("topics without their streams", orphaned.map(|_| ()), &[code::INVALID_COMMAND])?;
    let endless = MetadataChangesQuery { limit: 1001, ..Default::default() };
    refused("page of 1001", root.get_metadata_changes(&endless).await.map(|_| ()), &[code::INVALID_COMMAND])?;

    let foreign = MetadataChangeCursor { log_id: 1, op: 1, checksum: 1, ordinal: 0 };
    let query = MetadataChangesQuery { start: MetadataChangeStart::After(foreign), ..Default::default() };
    let page = root.get_metadata_changes(&query).await?;
    equal("status of a cursor of another history", page.status, MetadataChangeStatus::Reset)
}
