//! UDP sockets.

use crate::js::Failure;
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use socket2::{Domain, Protocol, Socket, Type};
use std::fmt::{Debug, Formatter};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll};

/// Bursts wait here while all threads are busy. The system may give less.
const BUFFER_BYTES: usize = 2 * 1024 * 1024;

pub fn bind(address: SocketAddr) -> Result<UdpSocket, Failure> {
    open(address).map_err(|error| {
        let code = match error.kind() {
            io::ErrorKind::AddrInUse => "EADDRINUSE",
            io::ErrorKind::AddrNotAvailable => "EADDRNOTAVAIL",
            io::ErrorKind::PermissionDenied => "EACCES",
            _ => "QUIC_BIND",
        };
        Failure::new(code, format!("bind {code} {address} (UDP): {error}"))
    })
}

fn open(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        // `::` serves IPv4, too, as it does for TCP.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    // A smaller buffer loses datagrams in a burst, which QUIC sends again; it is no reason not to serve.
    let _ = socket.set_recv_buffer_size(BUFFER_BYTES);
    let _ = socket.set_send_buffer_size(BUFFER_BYTES);
    socket.bind(&address.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Counts what arrives: whether a peer that does not answer sends anything at all.
pub struct CountingSocket {
    inner: Arc<dyn AsyncUdpSocket>,
    received: Arc<AtomicU64>,
}

impl CountingSocket {
    pub fn new(inner: Arc<dyn AsyncUdpSocket>, received: Arc<AtomicU64>) -> Self {
        Self { inner, received }
    }
}

impl Debug for CountingSocket {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(formatter)
    }
}

impl AsyncUdpSocket for CountingSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.inner).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit) -> io::Result<()> {
        self.inner.try_send(transmit)
    }

    fn poll_recv(
        &self,
        context: &mut Context,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let result = self.inner.poll_recv(context, buffers, meta);
        if let Poll::Ready(Ok(count)) = &result {
            self.received.fetch_add(*count as u64, Ordering::Relaxed);
        }
        result
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}
