//! Limits and periods of an endpoint, as JavaScript gives them.

use crate::js::{Env, Outcome, Value};
use quinn::congestion::CubicConfig;
use quinn::{IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};
use std::sync::Arc;
use std::time::Duration;

/// The smallest datagram that every path of QUIC carries.
const MTU_MIN: u16 = 1200;
/// What path discovery tries at most, unless the first datagrams are larger: Ethernet less the headers of IPv6 and UDP.
const MTU_DISCOVERY_MAX: u16 = 1452;

pub struct Settings {
    /// Streams that the peer may have open; 0 for a client.
    pub streams_max: u32,
    pub initial_mtu: u16,
    pub send_window: u64,
    pub receive_window: u32,
    pub stream_receive_window: u32,
    /// 0 is off, as with the next.
    pub keep_alive_millis: u64,
    pub idle_millis: u64,
    pub handshake_millis: u64,
    /// Largest message of a peer, until it is said otherwise.
    pub message_bytes_max: usize,
    /// Bytes of messages that JavaScript has not answered above which a connection is read no further.
    pub unanswered_bytes_high: usize,
    /// Connections above this are refused.
    pub connections_max: u32,
}

impl Settings {
    pub fn read(env: Env, options: Value) -> Outcome<Self> {
        let number = |name: &str| options.property(env, name)?.as_number(env, name);
        Ok(Self {
            streams_max: number("streamsMax")? as u32,
            initial_mtu: (number("initialMtu")? as u16).max(MTU_MIN),
            send_window: number("sendWindowBytes")? as u64,
            receive_window: number("receiveWindowBytes")? as u32,
            stream_receive_window: number("streamReceiveWindowBytes")? as u32,
            keep_alive_millis: number("keepAliveMillis")? as u64,
            idle_millis: number("idleTimeoutMillis")? as u64,
            handshake_millis: number("handshakeMillis")? as u64,
            message_bytes_max: number("messageBytesMax")? as usize,
            unanswered_bytes_high: number("unansweredBytesHigh")? as usize,
            connections_max: number("connectionsMax")? as u32,
        })
    }

    /// Bytes of unfinished messages that a peer may have here; more end the connection.
    pub fn unfinished_bytes_max(message_bytes_max: usize) -> usize {
        message_bytes_max.saturating_mul(4)
    }

    /// A peer that may send only small messages needs no large window either.
    pub fn window_for(&self, message_bytes_max: usize) -> VarInt {
        let bytes = Self::unfinished_bytes_max(message_bytes_max).min(self.receive_window as usize);
        VarInt::from_u64(bytes as u64).unwrap_or(VarInt::MAX)
    }

    pub fn transport(&self) -> Arc<TransportConfig> {
        let mut config = TransportConfig::default();
        config
            .max_concurrent_bidi_streams(VarInt::from_u32(self.streams_max))
            .max_concurrent_uni_streams(VarInt::from_u32(0))
            .datagram_receive_buffer_size(None)
            .initial_mtu(self.initial_mtu)
            .mtu_discovery_config(Some(discovery(self.initial_mtu)))
            .send_window(self.send_window)
            .receive_window(self.window_for(self.message_bytes_max))
            .stream_receive_window(VarInt::from_u32(self.stream_receive_window))
            .keep_alive_interval(period(self.keep_alive_millis))
            .max_idle_timeout(
                period(self.idle_millis)
                    .map(|period| IdleTimeout::try_from(period).unwrap_or(IdleTimeout::from(VarInt::MAX))),
            )
            .congestion_controller_factory(Arc::new(CubicConfig::default()));
        Arc::new(config)
    }
}

fn discovery(initial_mtu: u16) -> MtuDiscoveryConfig {
    let mut config = MtuDiscoveryConfig::default();
    config.upper_bound(MTU_DISCOVERY_MAX.max(initial_mtu));
    config
}

pub fn period(millis: u64) -> Option<Duration> {
    (millis > 0).then(|| Duration::from_millis(millis))
}
