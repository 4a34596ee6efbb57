//! A session outlives its connection.

use super::scenarios;
use crate::outcome::{Outcome, equal, present};
use crate::topic::texts;
use crate::world::{World, eventually};
use iggy::prelude::*;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

scenarios!["reconnect-keeps-session" = reconnect_keeps_session];

/// Forwards connections to the server, and cuts them on demand.
struct Link {
    address: String,
    accepting: JoinHandle<()>,
    connections: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Link {
    async fn open(server: String) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let connections = Arc::new(Mutex::new(Vec::new()));
        let accepted = Arc::clone(&connections);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let connection = tokio::spawn(forward(client, server.clone()));
                accepted.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            }
        });
        Ok(Self { address, accepting, connections })
    }

    fn cut(&self) {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).drain(..).for_each(|open| open.abort());
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn forward(mut client: TcpStream, server: String) {
    // Either side closing ends the connection, which is all that the client may notice.
    if let Ok(mut server) = TcpStream::connect(server).await {
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    }
}

/// The client binds its new connection to the session it had: the group membership and the assignment stay.
async fn reconnect_keeps_session(world: &World) -> Outcome {
    let link = Link::open(world.server().address.clone()).await?;
    let server = world.server();
    let client = world.sign_in_at(&link.address, &server.username, &server.password).await?;
    let topic = world.topic(2).await?;
    let group = world.id()?;
    client.create_consumer_group(&topic.stream, &topic.topic, &group.get_string_value()?).await?;
    client.join_consumer_group(&topic.stream, &topic.topic, &group).await?;
    let before = client.sync_consumer_group(&topic.stream, &topic.topic, &group).await?;
    let before = present("assignment before the cut", before)?;
    topic.send(&client, 0, 0..1).await?;

    for round in 1..4 {
        link.cut();
        eventually(async || Ok(client.ping().await?)).await?;
        let after = client.sync_consumer_group(&topic.stream, &topic.topic, &group).await?;
        let after = present("assignment after the cut", after)?;
        equal("partitions after the cut", after.partitions, before.partitions.clone())?;
        equal("generation after the cut", after.generation, before.generation)?;
        topic.send(&client, 0, round..round + 1).await?;
    }
    equal("messages", topic.read_all(&client, 0).await?, texts(0..4))?;
    client.logout_user().await?;
    // The link ends with the scenario: nobody may wait for it later.
    Ok(client.shutdown().await?)
}
