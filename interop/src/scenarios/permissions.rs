//! What a user without the rights of root may do.

use super::scenarios;
use crate::code;
use crate::outcome::{Outcome, absent, equal, present, refused};
use crate::topic::{Topic, messages, texts};
use crate::world::{World, user_id};
use iggy::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

scenarios![
    "user-without-rights" = user_without_rights,
    "rights-on-a-stream" = rights_on_a_stream,
    "rights-on-a-topic" = rights_on_a_topic,
    "deleted-topic-takes-its-grants" = deleted_topic_takes_its_grants,
];

const PASSWORD: &str = "a good password";

async fn user(world: &World, permissions: Option<Permissions>) -> Outcome<(String, Arc<IggyClient>)> {
    let name = world.name();
    let options = UserCreateOptions::default();
    world.root().await?.create_user(&name, PASSWORD, UserStatus::Active, permissions, &options).await?;
    let client = world.sign_in_as(&name, PASSWORD).await?;
    Ok((name, client))
}

fn on_stream(stream: u32, granted: StreamPermissions) -> Permissions {
    Permissions { global: GlobalPermissions::default(), streams: Some(BTreeMap::from([(stream as usize, granted)])) }
}

fn on_topic(stream: u32, topic: u32, granted: TopicPermissions) -> Permissions {
    let topics = Some(BTreeMap::from([(topic as usize, granted)]));
    on_stream(stream, StreamPermissions { topics, ..Default::default() })
}

async fn numeric(world: &World, topic: &Topic) -> Outcome<(u32, u32)> {
    let root = world.root().await?;
    let stream = present("stream", root.get_stream(&topic.stream).await?)?;
    let details = present("topic", root.get_topic(&topic.stream, &topic.topic).await?)?;
    Ok((stream.id, details.id))
}

async fn send(client: &IggyClient, topic: &Topic) -> Result<(), IggyError> {
    let mut batch = messages(0..1).map_err(|_| IggyError::InvalidFormat)?;
    client.send_messages(&topic.stream, &topic.topic, &Partitioning::partition_id(0), &mut batch).await.map(|_| ())
}

async fn poll(client: &IggyClient, topic: &Topic) -> Result<usize, IggyError> {
    topic.poll(client, 0, PollingStrategy::first(), 10).await.map(|polled| polled.messages.len())
}

async fn user_without_rights(world: &World) -> Outcome {
    let topic = world.topic(1).await?;
    let (name, user) = user(world, None).await?;
    let refusal = &[code::UNAUTHORIZED];
    refused("stats", user.get_stats().await.map(|_| ()), refusal)?;
    refused("clients", user.get_clients().await, refusal)?;
    refused("users", user.get_users().await, refusal)?;
    refused("root by id", user.get_user(&Identifier::numeric(0)?).await, refusal)?;
    refused("streams", user.get_streams().await, refusal)?;
    refused("stream", user.get_stream(&topic.stream).await, refusal)?;
    refused("new stream", user.create_stream(&world.name(), &StreamCreateOptions::default()).await, refusal)?;
    refused("deleted stream", user.delete_stream(&topic.stream).await, refusal)?;
    refused("send", send(&user, &topic).await, refusal)?;
    refused("poll", poll(&user, &topic).await, refusal)?;
    let snapshot = user.snapshot(SnapshotCompression::Stored, vec![SystemSnapshotType::Test]).await;
    refused("snapshot", snapshot.map(|_| ()), refusal)?;
    refused("changes", user.get_metadata_changes(&MetadataChangesQuery::default()).await.map(|_| ()), refusal)?;

    user.ping().await?;
    user.get_cluster_metadata().await?;
    user.describe_options(OptionsScope::Topic).await?;
    let own = present("own record", user.get_user(&user_id(&name)?).await?)?;
    equal("user of the own client", user.get_me().await?.user_id, Some(own.id))
}

async fn rights_on_a_stream(world: &World) -> Outcome {
    let (granted, other) = (world.topic(1).await?, world.topic(1).await?);
    let (stream, _) = numeric(world, &granted).await?;
    let rights = StreamPermissions { poll_messages: true, ..Default::default() };
    let (name, user) = user(world, Some(on_stream(stream, rights))).await?;
    granted.send(world.root().await?, 0, 0..3).await?;
    equal("messages of the granted stream", poll(&user, &granted).await?, 3)?;
    refused("send to the granted stream", send(&user, &granted).await, &[code::UNAUTHORIZED])?;
    refused("poll of another stream", poll(&user, &other).await, &[code::UNAUTHORIZED])?;

    let rights = StreamPermissions { read_stream: true, send_messages: true, ..Default::default() };
    world.root().await?.update_permissions(&user_id(&name)?, Some(on_stream(stream, rights.clone()))).await?;
    send(&user, &granted).await?;
    present("granted stream", user.get_stream(&granted.stream).await?)?;
    refused("change of the granted stream", user.delete_stream(&granted.stream).await, &[code::UNAUTHORIZED])?;
    let stored = present("user", world.root().await?.get_user(&user_id(&name)?).await?)?;
    equal("stored permissions", stored.permissions, Some(on_stream(stream, rights)))?;

    world.root().await?.update_permissions(&user_id(&name)?, None).await?;
    refused("send without rights", send(&user, &granted).await, &[code::UNAUTHORIZED])
}

async fn rights_on_a_topic(world: &World) -> Outcome {
    let granted = world.topic(1).await?;
    let root = world.root().await?;
    let sibling = Topic { stream: granted.stream.clone(), topic: world.id()? };
    let options = TopicCreateOptions { partitions_count: Some(1), ..Default::default() };
    root.create_topic(&sibling.stream, &sibling.topic.get_string_value()?, &options).await?;
    let (stream, topic) = numeric(world, &granted).await?;
    let rights = TopicPermissions { poll_messages: true, send_messages: true, ..Default::default() };
    let (_, user) = user(world, Some(on_topic(stream, topic, rights))).await?;

    send(&user, &granted).await?;
    equal("messages of the granted topic", poll(&user, &granted).await?, 1)?;
    refused("send to the sibling", send(&user, &sibling).await, &[code::UNAUTHORIZED])?;
    refused("poll of the sibling", poll(&user, &sibling).await, &[code::UNAUTHORIZED])?;
    refused(
        "partitions of the granted topic",
        user.create_partitions(&granted.stream, &granted.topic, 1).await,
        &[code::UNAUTHORIZED],
    )?;
    equal("messages sent by the user", granted.read_all(root, 0).await?, texts(0..1))
}

/// Ids are reused, so a grant must not wait for the next topic of the id.
async fn deleted_topic_takes_its_grants(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    let (stream, id) = numeric(world, &topic).await?;
    let rights = TopicPermissions { send_messages: true, ..Default::default() };
    let (name, _) = user(world, Some(on_topic(stream, id, rights.clone()))).await?;
    root.delete_topic(&topic.stream, &topic.topic).await?;
    let left = present("user", root.get_user(&user_id(&name)?).await?)?.permissions;
    let grants = left.and_then(|left| left.streams).and_then(|mut streams| streams.remove(&(stream as usize)));
    absent("grant on the deleted topic", grants.and_then(|grants| grants.topics))?;
    let dangling = root.update_permissions(&user_id(&name)?, Some(on_topic(stream, id, rights))).await;
    refused("grant on a missing topic", dangling, &[code::TOPIC_ID_NOT_FOUND])
}
