//! What the server says about itself.

use super::scenarios;
use crate::outcome::{Outcome, absent, equal, holds, present};
use crate::world::{World, eventually};
use iggy::prelude::*;

scenarios!["stats" = stats, "clients" = clients, "cluster-metadata" = cluster_metadata, "snapshot" = snapshot,];

async fn stats(world: &World) -> Outcome {
    let root = world.root().await?;
    let before = root.get_stats().await?;
    holds("process id", before.process_id > 0)?;
    holds("server version", !before.iggy_server_version.is_empty())?;
    holds("memory of the process", before.memory_usage.as_bytes_u64() > 0)?;
    holds("a connected client", before.clients_count > 0)?;

    let topic = world.topic(3).await?;
    topic.send(root, 0, 0..25).await?;
    let after = eventually(async || {
        let after = root.get_stats().await?;
        equal("messages", after.messages_count, before.messages_count + 25)?;
        Ok(after)
    })
    .await?;
    equal("streams", after.streams_count, before.streams_count + 1)?;
    equal("topics", after.topics_count, before.topics_count + 1)?;
    equal("partitions", after.partitions_count, before.partitions_count + 3)?;
    equal("segments", after.segments_count, before.segments_count + 3)?;
    holds("size of the messages grows", after.messages_size_bytes > before.messages_size_bytes)?;
    holds("time passes", after.run_time.as_micros() > before.run_time.as_micros())
}

async fn clients(world: &World) -> Outcome {
    let root = world.root().await?;
    let me = root.get_me().await?;
    equal("own user", me.user_id, Some(0))?;
    equal("own transport", me.transport.as_str(), "TCP")?;
    holds(
        "own address names a port",
        me.address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()),
    )?;
    let same = present("own client by id", root.get_client(me.client_id).await?)?;
    equal("address of the own client", same.address, me.address)?;

    let other = world.sign_in().await?.get_me().await?;
    let listed = root.get_clients().await?;
    for id in [me.client_id, other.client_id] {
        present("client in the list", listed.iter().find(|listed| listed.client_id == id))?;
    }
    let unused = listed.iter().map(|listed| listed.client_id).max().unwrap_or_default().wrapping_add(1_000_000);
    absent("client of an unused id", root.get_client(unused).await?)
}

async fn cluster_metadata(world: &World) -> Outcome {
    let metadata = world.root().await?.get_cluster_metadata().await?;
    holds("cluster name", !metadata.name.is_empty())?;
    let leaders = metadata.nodes.iter().filter(|node| node.role == ClusterNodeRole::Leader).count();
    equal("leaders", leaders, 1)?;
    for node in &metadata.nodes {
        equal("status of a node", node.status, ClusterNodeStatus::Healthy)?;
        holds("TCP port of a node", node.endpoints.tcp > 0)?;
    }
    Ok(())
}

async fn snapshot(world: &World) -> Outcome {
    const ZIP_ENTRY: &[u8] = b"PK\x03\x04";
    let root = world.root().await?;
    for compression in [SnapshotCompression::Stored, SnapshotCompression::Deflated] {
        let archive = root.snapshot(compression, vec![SystemSnapshotType::Test]).await?;
        holds("the archive is a ZIP file", archive.0.starts_with(ZIP_ENTRY))?;
    }
    let everything = root.snapshot(SnapshotCompression::Deflated, vec![SystemSnapshotType::All]).await?;
    for entry in ["resource_usage.txt", "server_config.txt", "server_logs.txt"] {
        let named = everything.0.windows(entry.len()).any(|window| window == entry.as_bytes());
        holds(entry, named)?;
    }
    Ok(())
}
