//! Resource options.

use super::scenarios;
use crate::code;
use crate::outcome::{Outcome, equal, holds, present, refused};
use crate::topic::Topic;
use crate::world::World;
use iggy::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

scenarios![
    "describe-options" = describe_options,
    "topic-options" = topic_options,
    "topic-defaults" = topic_defaults,
    "update-options" = update_options,
    "option-refusals" = option_refusals,
    "stream-key-refused-or-hidden" = stream_key_refused_or_hidden,
];

const MEBIBYTE: u64 = 1024 * 1024;
const GIBIBYTE: u64 = 1024 * MEBIBYTE;

async fn settings(world: &World, topic: &Topic) -> Outcome<TopicResolvedOptions> {
    let details = world.root().await?.get_topic(&topic.stream, &topic.topic).await?;
    Ok(present("topic", details)?.resolved_options())
}

fn one_hour() -> IggyExpiry {
    IggyExpiry::ExpireDuration(IggyDuration::new(Duration::from_secs(3600)))
}

fn entry(key: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(key.to_owned(), value.to_owned())])
}

async fn describe_options(world: &World) -> Outcome {
    let root = world.root().await?;
    let keys = async |scope| {
        let described = root.describe_options(scope).await?;
        Outcome::Ok(described.into_iter().map(|spec| spec.key).collect::<Vec<String>>())
    };
    let of_topic = [
        "name",
        "compression_algorithm",
        "message_expiry",
        "max_topic_size",
        "segment_size",
        "durability",
        "consumer_offset_durability",
        "partition_resize_policy",
        "messages_required_to_save",
        "size_of_messages_required_to_save",
        "preallocate_segments",
        "replication_factor",
    ];
    equal("keys of a topic", keys(OptionsScope::Topic).await?, of_topic.map(str::to_owned).to_vec())?;
    let of_stream =
        ["name", "encryption_key", "encryption_key_source", "encryption_key_fingerprint", "encryption_kek_fingerprint"];
    equal("keys of a stream", keys(OptionsScope::Stream).await?, of_stream.map(str::to_owned).to_vec())?;
    equal("keys of a user", keys(OptionsScope::User).await?, ["username", "status"].map(str::to_owned).to_vec())?;

    let topic = root.describe_options(OptionsScope::Topic).await?;
    let spec = |key: &str| present("option", topic.iter().find(|spec| spec.key == key));
    let expiry = spec("message_expiry")?;
    holds("the expiry can be changed and reset", expiry.updatable && expiry.resettable)?;
    let size = spec("segment_size")?;
    holds("the segment size is fixed at creation", !size.updatable && !size.resettable)?;
    equal("default segment size", size.default_value.clone(), GIBIBYTE.to_le_bytes().to_vec())
}

async fn topic_options(world: &World) -> Outcome {
    let topic = world
        .topic_with(TopicCreateOptions {
            partitions_count: Some(1),
            compression_algorithm: Some(CompressionAlgorithm::Gzip),
            message_expiry: Some(one_hour()),
            max_topic_size: Some(MaxTopicSize::Custom(IggyByteSize::from(10 * GIBIBYTE))),
            segment_size: Some(IggyByteSize::from(16 * MEBIBYTE)),
            durability: Durability::Persisted,
            consumer_offset_durability: Durability::Persisted,
            partition_resize_policy: Some(PartitionResizePolicy::Fixed),
            messages_required_to_save: Some(500),
            size_of_messages_required_to_save: Some(IggyByteSize::from(2 * MEBIBYTE)),
            preallocate_segments: Some(true),
            ..Default::default()
        })
        .await?;
    let settings = settings(world, &topic).await?;
    equal("compression", settings.compression_algorithm, CompressionAlgorithm::Gzip)?;
    equal("expiry", settings.message_expiry, one_hour())?;
    equal("maximum size", settings.max_topic_size.as_bytes_u64(), 10 * GIBIBYTE)?;
    equal("resize policy", settings.partition_resize_policy, PartitionResizePolicy::Fixed)?;
    equal("segment size", settings.runtime.effective_segment_size().as_bytes_u64(), 16 * MEBIBYTE)?;
    equal("durability", settings.runtime.durability, Durability::Persisted)?;
    equal("durability of offsets", settings.runtime.consumer_offset_durability, Durability::Persisted)?;
    equal("messages to save", settings.runtime.messages_required_to_save, Some(500))?;
    let bytes_to_save = settings.runtime.size_of_messages_required_to_save.map(|size| size.as_bytes_u64());
    equal("bytes to save", bytes_to_save, Some(2 * MEBIBYTE))?;
    equal("preallocation", settings.runtime.preallocate_segments, Some(true))
}

async fn topic_defaults(world: &World) -> Outcome {
    let topic = world.topic(1).await?;
    let details = present("topic", world.root().await?.get_topic(&topic.stream, &topic.topic).await?)?;
    let derived = details.options.values().filter(|option| !option.explicit).count();
    // The client itself always sends both durabilities.
    equal("derived settings", derived, 9)?;
    let settings = details.resolved_options();
    equal("compression", settings.compression_algorithm, CompressionAlgorithm::None)?;
    equal("expiry", settings.message_expiry, IggyExpiry::NeverExpire)?;
    equal("maximum size", settings.max_topic_size, MaxTopicSize::Unlimited)?;
    equal("resize policy", settings.partition_resize_policy, PartitionResizePolicy::Mutable)?;
    equal("durability", settings.runtime.durability, Durability::Replicated)?;
    equal("segment size", settings.runtime.effective_segment_size().as_bytes_u64(), GIBIBYTE)
}

async fn update_options(world: &World) -> Outcome {
    let root = world.root().await?;
    let topic = world.topic(1).await?;
    let size = MaxTopicSize::Custom(IggyByteSize::from(5 * GIBIBYTE));
    let change =
        TopicUpdateOptions { message_expiry: Some(one_hour()), max_topic_size: Some(size), ..Default::default() };
    root.update_topic(&topic.stream, &topic.topic, &change).await?;
    let changed = settings(world, &topic).await?;
    equal("changed expiry", changed.message_expiry, one_hour())?;
    equal("changed maximum size", changed.max_topic_size, size)?;

    let reset = TopicUpdateOptions { reset: BTreeSet::from([OptionKey::MessageExpiry]), ..Default::default() };
    root.update_topic(&topic.stream, &topic.topic, &reset).await?;
    let reset = settings(world, &topic).await?;
    equal("expiry after its reset", reset.message_expiry, IggyExpiry::NeverExpire)?;
    equal("maximum size after the other reset", reset.max_topic_size, size)?;

    let rename = TopicUpdateOptions { name: Some(world.name()), ..Default::default() };
    root.update_topic(&topic.stream, &topic.topic, &rename).await?;
    let details = root.get_topic(&topic.stream, &Identifier::numeric(0)?).await?;
    equal("maximum size after a rename", present("topic", details)?.resolved_options().max_topic_size, size)
}

async fn option_refusals(world: &World) -> Outcome {
    let root = world.root().await?;
    let stream = world.stream().await?;
    let create = async |raw| {
        let options = TopicCreateOptions { partitions_count: Some(1), raw, ..Default::default() };
        root.create_topic(&stream, &world.name(), &options).await
    };
    refused("unknown key", create(entry("no_such_key", "1")).await, &[code::UNSUPPORTED_OPTION_KEY])?;
    refused("value that is no size", create(entry("segment_size", "large")).await, &[code::INVALID_OPTION_VALUE])?;
    refused("segment below 1 MiB", create(entry("segment_size", "512KiB")).await, &[code::INVALID_OPTION_VALUE])?;
    let unaligned = create(entry("segment_size", "1048577")).await;
    refused("segment that is no multiple of 512", unaligned, &[code::INVALID_OPTION_VALUE])?;
    refused("nothing to save", create(entry("messages_required_to_save", "0")).await, &[code::INVALID_OPTION_VALUE])?;
    let copies = create(entry("replication_factor", "33")).await;
    refused("33 replicas", copies, &[code::INVALID_REPLICATION_FACTOR])?;
    let small = create(entry("max_topic_size", "2MiB")).await;
    refused("topic below one segment", small, &[code::INVALID_TOPIC_SIZE])?;

    let topic = world.topic(1).await?;
    let update = async |raw| {
        let change = TopicUpdateOptions { raw, ..Default::default() };
        root.update_topic(&topic.stream, &topic.topic, &change).await
    };
    let fixed = update(entry("segment_size", "16MiB")).await;
    refused("change of a setting fixed at creation", fixed, &[code::OPTION_NOT_UPDATABLE])?;
    refused("unknown key of an update", update(entry("no_such_key", "1")).await, &[code::UNSUPPORTED_OPTION_KEY])?;
    let empty = root.update_topic(&topic.stream, &topic.topic, &TopicUpdateOptions::default()).await;
    refused("update of nothing", empty, &[code::INVALID_COMMAND])?;

    let computed = StreamUpdateOptions { raw: entry("encryption_key_source", "stream"), ..Default::default() };
    refused("computed key", root.update_stream(&stream, &computed).await, &[code::READ_ONLY_OPTION])
}

/// A server without an encryption key refuses a stream with a key of its own; one with a key never returns it.
async fn stream_key_refused_or_hidden(world: &World) -> Outcome {
    const ENCRYPTION_UNAVAILABLE: u32 = 4106;
    let root = world.root().await?;
    let key = StreamEncryptionKey::generate()?;
    let fingerprint = key.fingerprint();
    let options = StreamCreateOptions { encryption_key: Some(key), ..Default::default() };
    match root.create_stream(&world.name(), &options).await {
        Ok(stream) => {
            equal("source of the key", stream.encryption_key_source(), Some(StreamEncryptionSource::Stream))?;
            equal("fingerprint of the key", stream.encryption_key_fingerprint(), Some(fingerprint))
        }
        refusal => refused("key without a server key", refusal, &[ENCRYPTION_UNAVAILABLE]),
    }
}
