//! A UDP socket with its connections: one that accepts them, or one that makes a single one.

use crate::events::{lock, Ending, Event, Events};
use crate::js::{Env, Failure, Outcome, Value};
use crate::peer::{ending_of, Peer};
use crate::runtime::runtime;
use crate::settings::Settings;
use crate::socket::{bind, CountingSocket};
use crate::tls;
use quinn::{ClientConfig, EndpointConfig, Incoming, Runtime, ServerConfig, TokioRuntime, VarInt};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Handshakes under way above which a peer first has to prove that it is where it says.
const UNPROVEN_HANDSHAKES_MAX: u32 = 128;
/// First datagrams of connections that wait to be looked at, and their bytes.
const INCOMING_MAX: usize = 1024;
const INCOMING_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Time for the last datagrams of an endpoint that closes.
const GOODBYE: Duration = Duration::from_secs(3);
/// The one connection of a client.
pub const SERVER_PEER: u32 = 1;

/// The connections of an endpoint. Each is counted until JavaScript has read of its end, which limits what can wait there.
pub struct Peers {
    open: Mutex<HashMap<u32, Arc<Peer>>>,
    count: AtomicU32,
}

pub struct Endpoint {
    quinn: quinn::Endpoint,
    pub events: Arc<Events>,
    peers: Arc<Peers>,
    settings: Arc<Settings>,
    received: Arc<AtomicU64>,
    handshakes: AtomicU32,
    next_peer: AtomicU32,
}

impl Endpoint {
    pub fn open_server(env: Env, options: Value, callback: Value) -> Outcome<Arc<Self>> {
        let settings = Settings::read(env, options)?;
        let address = address_of(env, options, "host", "port")?;
        let config = server_config(env, options, &settings)?;
        let endpoint = Self::open(env, callback, address, settings, Some(config))?;
        runtime().spawn(Arc::clone(&endpoint).accept());
        Ok(endpoint)
    }

    pub fn open_client(env: Env, options: Value, callback: Value) -> Outcome<Arc<Self>> {
        let settings = Settings::read(env, options)?;
        let remote = address_of(env, options, "host", "port")?;
        let name = options.property(env, "serverName")?.as_text(env, "serverName")?;
        let mut config = ClientConfig::new(tls::client(env, options)?);
        config.transport_config(settings.transport());
        let local = if remote.is_ipv4() { [0; 4].into() } else { IpAddr::from([0u16; 8]) };
        let endpoint = Self::open(env, callback, SocketAddr::new(local, 0), settings, None)?;
        let connecting = endpoint
            .quinn
            .connect_with(config, remote, &name)
            .map_err(|error| Failure::new("QUIC_CONNECT", error.to_string()));
        let connecting = match connecting {
            Ok(connecting) => connecting,
            Err(failure) => {
                endpoint.events.release();
                return Err(failure);
            }
        };
        let task = Arc::clone(&endpoint);
        runtime().spawn(async move {
            let ending = match connecting.await {
                Ok(connection) => task.converse(connection).await,
                Err(error) => ending_of(error),
            };
            task.events.push(Event::Closed { peer: SERVER_PEER, ending });
        });
        Ok(endpoint)
    }

    fn open(
        env: Env,
        callback: Value,
        address: SocketAddr,
        settings: Settings,
        config: Option<ServerConfig>,
    ) -> Outcome<Arc<Self>> {
        let socket = bind(address)?;
        let received = Arc::new(AtomicU64::new(0));
        let failed = |error: std::io::Error| Failure::new("QUIC_BIND", format!("{address} (UDP): {error}"));
        let inner = TokioRuntime.wrap_udp_socket(socket).map_err(failed)?;
        let counting = Arc::new(CountingSocket::new(inner, Arc::clone(&received)));
        let quinn = quinn::Endpoint::new_with_abstract_socket(
            EndpointConfig::default(),
            config,
            counting,
            Arc::new(TokioRuntime),
        )
        .map_err(failed)?;
        let peers = Arc::new(Peers { open: Mutex::new(HashMap::new()), count: AtomicU32::new(0) });
        let witness = Arc::clone(&peers);
        let events = Events::new(env, callback.0, Box::new(move |event| witness.heard(event)))
            .ok_or_else(|| Failure::new("QUIC_ARGUMENT", "a function for events is expected"))?;
        Ok(Arc::new(Self {
            quinn,
            events,
            peers,
            settings: Arc::new(settings),
            received,
            handshakes: AtomicU32::new(0),
            next_peer: AtomicU32::new(1),
        }))
    }

    pub fn port(&self) -> u16 {
        self.quinn.local_addr().map_or(0, |address| address.port())
    }

    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    pub fn peer(&self, id: u32) -> Option<Arc<Peer>> {
        lock(&self.peers.open).get(&id).cloned()
    }

    /// For connections from now on.
    pub fn set_certificate(&self, env: Env, options: Value) -> Outcome<()> {
        self.quinn.set_server_config(Some(server_config(env, options, &self.settings)?));
        Ok(())
    }

    pub fn stop_accepting(&self) {
        self.quinn.set_server_config(None);
    }

    /// Ends every connection; `Finished` follows.
    pub fn close(self: Arc<Self>, code: VarInt, reason: &str) {
        self.quinn.close(code, reason.as_bytes());
        runtime().spawn(async move {
            let _ = tokio::time::timeout(GOODBYE, self.quinn.wait_idle()).await;
            self.events.push(Event::Finished);
        });
    }

    async fn accept(self: Arc<Self>) {
        while let Some(incoming) = self.quinn.accept().await {
            if self.peers.count.load(Ordering::Relaxed) >= self.settings.connections_max {
                incoming.refuse();
            } else if self.handshakes.load(Ordering::Relaxed) >= UNPROVEN_HANDSHAKES_MAX
                && !incoming.remote_address_validated()
                && incoming.may_retry()
            {
                let _ = incoming.retry();
            } else {
                self.peers.count.fetch_add(1, Ordering::Relaxed);
                self.handshakes.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(Arc::clone(&self).welcome(incoming));
            }
        }
    }

    async fn welcome(self: Arc<Self>, incoming: Incoming) {
        let connection = match incoming.accept() {
            Ok(connecting) => {
                let limit = Duration::from_millis(self.settings.handshake_millis);
                tokio::time::timeout(limit, connecting).await.ok().and_then(Result::ok)
            }
            Err(_) => None,
        };
        self.handshakes.fetch_sub(1, Ordering::Relaxed);
        let Some(connection) = connection else {
            self.peers.count.fetch_sub(1, Ordering::Relaxed);
            return;
        };
        let id = self.next_peer.fetch_add(1, Ordering::Relaxed);
        let address = address_text(connection.remote_address());
        let (peer, _) = Peer::new(id, connection, Arc::clone(&self.settings), Arc::clone(&self.events));
        lock(&self.peers.open).insert(id, Arc::clone(&peer));
        self.events.push(Event::Opened { peer: id, address });
        let ending = peer.serve().await;
        self.events.push(Event::Closed { peer: id, ending });
    }

    async fn converse(&self, connection: quinn::Connection) -> Ending {
        let address = address_text(connection.remote_address());
        let (settings, events) = (Arc::clone(&self.settings), Arc::clone(&self.events));
        let (peer, requests) = Peer::new(SERVER_PEER, connection, settings, events);
        self.peers.count.fetch_add(1, Ordering::Relaxed);
        lock(&self.peers.open).insert(SERVER_PEER, Arc::clone(&peer));
        self.events.push(Event::Opened { peer: SERVER_PEER, address });
        peer.ask(requests).await
    }
}

impl Peers {
    fn heard(&self, event: &Event) {
        if let Event::Closed { peer, .. } = event {
            if lock(&self.open).remove(peer).is_some() {
                self.count.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

fn server_config(env: Env, options: Value, settings: &Settings) -> Outcome<ServerConfig> {
    let mut config = ServerConfig::with_crypto(tls::server(env, options)?);
    config
        .transport_config(settings.transport())
        .max_incoming(INCOMING_MAX)
        .incoming_buffer_size_total(INCOMING_BYTES_MAX);
    Ok(config)
}

fn address_of(env: Env, options: Value, host: &str, port: &str) -> Outcome<SocketAddr> {
    let text = options.property(env, host)?.as_text(env, host)?;
    let port = options.property(env, port)?.as_number(env, port)? as u16;
    let ip: IpAddr = text.parse().map_err(|_| Failure::new("QUIC_ARGUMENT", format!("{text} is no IP address")))?;
    Ok(SocketAddr::new(ip, port))
}

/// An IPv4 peer of an IPv6 socket is shown as what it is.
fn address_text(address: SocketAddr) -> String {
    SocketAddr::new(address.ip().to_canonical(), address.port()).to_string()
}
