//! Commands below the typed calls of the SDK.

use super::scenarios;
use crate::code;
use crate::outcome::{Outcome, equal, holds, present, refused};
use crate::world::World;
use bytes::{BufMut, Bytes, BytesMut};
use iggy::prelude::*;

scenarios!["raw-commands" = raw_commands, "raw-refusals" = raw_refusals];

const PING: u32 = 1;
const STATS: u32 = 10;
const SNAPSHOT: u32 = 11;
const CREATE_STREAM: u32 = 202;
const UPDATE_TOPIC_RETIRED: u32 = 304;
const LOGIN: u32 = 38;
const UNKNOWN: u32 = 60_000;

async fn raw_commands(world: &World) -> Outcome {
    let root = world.root().await?;
    equal("reply of a ping", root.send_binary_request(PING, Bytes::new()).await?, Bytes::new())?;
    let stats = root.send_binary_request(STATS, Bytes::new()).await?;
    holds("the stats have a body", stats.len() > 100)?;

    let name = world.name();
    let mut body = BytesMut::new();
    body.put_u8(u8::try_from(name.len()).unwrap_or_default());
    body.put_slice(name.as_bytes());
    let created = root.send_binary_request(CREATE_STREAM, body.freeze()).await?;
    let id = present("id of the created stream", created.first_chunk::<4>())?;
    let stream = root.get_stream(&Identifier::numeric(u32::from_le_bytes(*id))?).await?;
    equal("name of the created stream", present("created stream", stream)?.name, name)
}

async fn raw_refusals(world: &World) -> Outcome {
    let root = world.root().await?;
    for (what, command) in [("unknown command", UNKNOWN), ("retired command", UPDATE_TOPIC_RETIRED), ("sign-in", LOGIN)]
    {
        let reply = root.send_binary_request(command, Bytes::new()).await;
        refused(what, reply, &[code::INVALID_COMMAND])?;
    }
    let truncated = root.send_binary_request(CREATE_STREAM, Bytes::from_static(&[200, b'x'])).await;
    refused("truncated body", truncated, &[code::INVALID_COMMAND])?;
    for (what, body) in [("compression 99", &[99, 1, 1][..]), ("everything and more", &[1, 2, 100, 1][..])] {
        let snapshot = root.send_binary_request(SNAPSHOT, Bytes::copy_from_slice(body)).await;
        refused(what, snapshot.map(|_| ()), &[code::INVALID_COMMAND])?;
    }
    root.ping().await?;
    root.get_streams().await?;
    Ok(())
}
