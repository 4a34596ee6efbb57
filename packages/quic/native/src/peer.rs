//! One connection, on either side: one message each way on every stream.

use crate::events::{lock, Ending, Event, Events};
use crate::settings::Settings;
use bytes::Bytes;
use quinn::{Connection, ConnectionError, ReadError, RecvStream, SendStream, VarInt};
use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot, Notify};

/// A peer that breaks the rules of the protocol is closed with this.
pub const PROTOCOL_VIOLATION: u32 = 0x1004;
/// Bytes that wait for the peer above which the owner is told when they became fewer.
const CONGESTED_BYTES: usize = 1024 * 1024;
/// Pieces of a message that are taken at once; each is a part of a datagram.
const PIECES: usize = 32;

/// What JavaScript says about a stream.
pub enum Word {
    /// The reply; none of its bytes is an end without a reply.
    Reply(Vec<u8>, Undelivered),
    /// The message that would come is of no use any more.
    Abandon,
}

pub struct Request {
    stream: u32,
    bytes: Vec<u8>,
    queued: Queued,
    word: oneshot::Receiver<Word>,
}

pub struct Peer {
    pub id: u32,
    pub connection: Connection,
    settings: Arc<Settings>,
    events: Arc<Events>,
    streams: Mutex<HashMap<u32, oneshot::Sender<Word>>>,
    next_stream: AtomicU32,
    message_bytes_max: AtomicUsize,
    /// Bytes of messages of which a part is there.
    unfinished_bytes: AtomicUsize,
    /// Bytes of whole messages that JavaScript has not answered.
    unanswered_bytes: AtomicUsize,
    room: Notify,
    /// Bytes given by JavaScript that QUIC has not taken yet.
    queued_bytes: AtomicUsize,
    is_congested: AtomicBool,
    /// Replies that the peer has not acknowledged.
    undelivered: AtomicUsize,
    delivered: Notify,
    heard_millis: AtomicU64,
    requests: mpsc::UnboundedSender<Request>,
}

/// Why there is no message.
enum NoMessage {
    Reset(u64),
    ConnectionLost,
    Violation(String),
}

impl Peer {
    pub fn new(
        id: u32,
        connection: Connection,
        settings: Arc<Settings>,
        events: Arc<Events>,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Request>) {
        let (requests, receiver) = mpsc::unbounded_channel();
        let peer = Self {
            id,
            connection,
            message_bytes_max: AtomicUsize::new(settings.message_bytes_max),
            settings,
            events,
            streams: Mutex::new(HashMap::new()),
            next_stream: AtomicU32::new(1),
            unfinished_bytes: AtomicUsize::new(0),
            unanswered_bytes: AtomicUsize::new(0),
            room: Notify::new(),
            queued_bytes: AtomicUsize::new(0),
            is_congested: AtomicBool::new(false),
            undelivered: AtomicUsize::new(0),
            delivered: Notify::new(),
            heard_millis: AtomicU64::new(now_millis()),
            requests,
        };
        (Arc::new(peer), receiver)
    }

    // What JavaScript asks for, on its thread.

    /// Answers a message. False when its stream is gone.
    pub fn respond(self: &Arc<Self>, stream: u32, bytes: Vec<u8>) -> bool {
        let Some(sender) = lock(&self.streams).remove(&stream) else {
            return false;
        };
        let undelivered = Undelivered::new(self, bytes.len());
        sender.send(Word::Reply(bytes, undelivered)).is_ok()
    }

    /// Sends a message on a new stream, whose number the caller chooses. Streams open in the order of asking.
    pub fn request(self: &Arc<Self>, stream: u32, bytes: Vec<u8>) {
        let (sender, word) = oneshot::channel();
        lock(&self.streams).insert(stream, sender);
        let queued = Queued::new(self, bytes.len());
        // Refused when the connection is gone, which is told elsewhere.
        let _ = self.requests.send(Request { stream, bytes, queued, word });
    }

    pub fn abandon(&self, stream: u32) {
        if let Some(sender) = lock(&self.streams).remove(&stream) {
            let _ = sender.send(Word::Abandon);
        }
    }

    pub fn set_message_limit(&self, bytes: usize) {
        if self.message_bytes_max.swap(bytes, Ordering::Relaxed) != bytes {
            self.connection.set_receive_window(self.settings.window_for(bytes));
        }
    }

    pub fn queued_bytes(&self) -> usize {
        self.queued_bytes.load(Ordering::Relaxed)
    }

    pub fn quiet_millis(&self) -> u64 {
        now_millis().saturating_sub(self.heard_millis.load(Ordering::Relaxed))
    }

    /// Closes once the peer has what was sent to it, or after a grace.
    pub async fn finish(self: Arc<Self>, code: VarInt, reason: String, grace: Duration) {
        let delivered = async {
            loop {
                let changed = self.delivered.notified();
                if self.undelivered.load(Ordering::Acquire) == 0 {
                    return;
                }
                changed.await;
            }
        };
        let _ = tokio::time::timeout(grace, delivered).await;
        self.connection.close(code, reason.as_bytes());
    }

    // What the threads of QUIC do.

    /// The side that is asked: takes streams until the connection ends.
    pub async fn serve(self: Arc<Self>) -> Ending {
        loop {
            match self.connection.accept_bi().await {
                Ok((send, receive)) => {
                    let stream = self.next_stream.fetch_add(1, Ordering::Relaxed);
                    begin(Arc::clone(&self).answer(stream, send, receive));
                }
                Err(error) => return ending_of(error),
            }
        }
    }

    async fn answer(self: Arc<Self>, stream: u32, mut send: SendStream, mut receive: RecvStream) {
        let bytes = match self.read_request(&mut receive).await {
            Ok(bytes) => bytes,
            Err(NoMessage::Violation(reason)) => {
                self.connection.close(VarInt::from_u32(PROTOCOL_VIOLATION), reason.as_bytes());
                return;
            }
            Err(NoMessage::Reset(_) | NoMessage::ConnectionLost) => return,
        };
        let unanswered = Unanswered::new(&self, bytes.len());
        let (sender, mut word) = oneshot::channel();
        lock(&self.streams).insert(stream, sender);
        self.events.push(Event::Message { peer: self.id, stream, bytes });
        let word = tokio::select! {
            biased;
            word = &mut word => word,
            stopped = send.stopped() => match stopped {
                Ok(_) => {
                    self.events.push(Event::Stopped { peer: self.id, stream });
                    word.await
                }
                Err(_) => {
                    lock(&self.streams).remove(&stream);
                    return;
                }
            },
        };
        drop(unanswered);
        match word {
            Ok(Word::Reply(bytes, mut undelivered)) => {
                if !bytes.is_empty() {
                    // An error here means that the peer, or the connection, is gone.
                    let _ = send.write_chunk(Bytes::from(bytes)).await;
                }
                undelivered.is_taken();
                let _ = send.finish();
                let _ = send.stopped().await;
            }
            Ok(Word::Abandon) | Err(_) => {
                let _ = send.reset(VarInt::from_u32(0));
            }
        }
    }

    async fn read_request(&self, receive: &mut RecvStream) -> Result<Vec<u8>, NoMessage> {
        let mut unfinished = Unfinished { peer: self, bytes: 0 };
        let mut message = Vec::new();
        loop {
            self.has_room().await;
            let before = message.len();
            if self.read_pieces(receive, &mut message).await? {
                return Ok(message);
            }
            let total = unfinished.add(message.len() - before);
            let limit = self.message_bytes_max.load(Ordering::Relaxed);
            if total > Settings::unfinished_bytes_max(limit) {
                return Err(NoMessage::Violation(format!("{total} bytes of unfinished requests")));
            }
        }
    }

    /// While JavaScript has much to answer, nothing is read, and flow control stops the peer.
    async fn has_room(&self) {
        loop {
            let changed = self.room.notified();
            if self.unanswered_bytes.load(Ordering::Acquire) < self.settings.unanswered_bytes_high {
                return;
            }
            changed.await;
        }
    }

    /// Takes what arrived of a message. True when that was the end of it.
    async fn read_pieces(&self, receive: &mut RecvStream, message: &mut Vec<u8>) -> Result<bool, NoMessage> {
        let mut pieces: [Bytes; PIECES] = std::array::from_fn(|_| Bytes::new());
        let count = match receive.read_chunks(&mut pieces).await {
            Ok(None) => return Ok(true),
            Ok(Some(count)) => count,
            Err(ReadError::Reset(code)) => return Err(NoMessage::Reset(code.into_inner())),
            Err(_) => return Err(NoMessage::ConnectionLost),
        };
        self.heard_millis.store(now_millis(), Ordering::Relaxed);
        let limit = self.message_bytes_max.load(Ordering::Relaxed);
        for piece in &pieces[..count] {
            if message.len() + piece.len() > limit {
                return Err(NoMessage::Violation(format!("a message of more than {limit} bytes")));
            }
            message.extend_from_slice(piece);
        }
        Ok(false)
    }

    /// The side that asks: opens a stream for each request, until the connection ends.
    pub async fn ask(self: Arc<Self>, requests: mpsc::UnboundedReceiver<Request>) -> Ending {
        let (running, mut all_ended) = mpsc::channel(1);
        let ending = Arc::clone(&self).open_streams(requests, running).await;
        // Replies that arrived before the end are still taken, and told first.
        let _ = all_ended.recv().await;
        ending
    }

    async fn open_streams(
        self: Arc<Self>,
        mut requests: mpsc::UnboundedReceiver<Request>,
        running: mpsc::Sender<()>,
    ) -> Ending {
        loop {
            let next = tokio::select! {
                biased;
                error = self.connection.closed() => return ending_of(error),
                request = requests.recv() => request,
            };
            // The connection holds a sender of its own.
            let Some(mut request) = next else { return ending_of(self.connection.closed().await) };
            let opened = tokio::select! {
                biased;
                _ = &mut request.word => continue,
                opened = self.connection.open_bi() => opened,
            };
            match opened {
                Ok((send, receive)) => {
                    let exchange = Arc::clone(&self).exchange(request, send, receive);
                    let running = running.clone();
                    begin(async move {
                        exchange.await;
                        drop(running);
                    });
                }
                Err(error) => return ending_of(error),
            }
        }
    }

    async fn exchange(self: Arc<Self>, request: Request, mut send: SendStream, mut receive: RecvStream) {
        let Request { stream, bytes, queued, mut word } = request;
        let reply = async {
            let _ = send.write_chunk(Bytes::from(bytes)).await;
            drop(queued);
            let _ = send.finish();
            let mut message = Vec::new();
            while !self.read_pieces(&mut receive, &mut message).await? {}
            Ok(message)
        };
        let result = tokio::select! {
            biased;
            _ = &mut word => None,
            result = reply => Some(result),
        };
        lock(&self.streams).remove(&stream);
        let peer = self.id;
        match result {
            None => {
                let _ = send.reset(VarInt::from_u32(0));
                let _ = receive.stop(VarInt::from_u32(0));
            }
            Some(Ok(bytes)) => self.events.push(Event::Message { peer, stream, bytes }),
            Some(Err(NoMessage::Reset(code))) => {
                let reason = "the server reset the stream".to_owned();
                self.events.push(Event::Failed { peer, stream, code, reason });
            }
            Some(Err(NoMessage::Violation(reason))) => {
                self.events.push(Event::Failed { peer, stream, code: 0, reason });
            }
            // The end of the connection answers everything that waits.
            Some(Err(NoMessage::ConnectionLost)) => {}
        }
    }
}

/// Goes the first steps of a task at once. What can be read or written without waiting keeps the order of the streams
/// like that, as far as the network kept it: a request and its cancel arrive as they were sent.
fn begin(task: impl Future<Output = ()> + Send + 'static) {
    let mut task = Box::pin(task);
    let mut context = Context::from_waker(Waker::noop());
    // The task is polled again as soon as it is a task, so nobody misses the waker.
    if task.as_mut().poll(&mut context).is_pending() {
        tokio::spawn(task);
    }
}

/// Bytes that JavaScript gave and QUIC has not taken.
struct Queued {
    peer: Arc<Peer>,
    bytes: usize,
}

impl Queued {
    fn new(peer: &Arc<Peer>, bytes: usize) -> Self {
        let queued = peer.queued_bytes.fetch_add(bytes, Ordering::AcqRel) + bytes;
        if queued > CONGESTED_BYTES {
            peer.is_congested.store(true, Ordering::Release);
            // What is taken right now may have looked before.
            peer.tell_drained(peer.queued_bytes.load(Ordering::Acquire));
        }
        Self { peer: Arc::clone(peer), bytes }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        let left = self.peer.queued_bytes.fetch_sub(self.bytes, Ordering::AcqRel) - self.bytes;
        self.peer.tell_drained(left);
    }
}

impl Peer {
    fn tell_drained(&self, queued: usize) {
        if queued <= CONGESTED_BYTES && self.is_congested.swap(false, Ordering::AcqRel) {
            self.events.push(Event::Drained { peer: self.id });
        }
    }
}

/// A reply on its way to the peer.
pub struct Undelivered {
    queued: Option<Queued>,
    peer: Arc<Peer>,
}

impl Undelivered {
    fn new(peer: &Arc<Peer>, bytes: usize) -> Self {
        peer.undelivered.fetch_add(1, Ordering::AcqRel);
        Self { queued: Some(Queued::new(peer, bytes)), peer: Arc::clone(peer) }
    }

    fn is_taken(&mut self) {
        self.queued = None;
    }
}

impl Drop for Undelivered {
    fn drop(&mut self) {
        self.peer.undelivered.fetch_sub(1, Ordering::AcqRel);
        self.peer.delivered.notify_waiters();
    }
}

/// A message that JavaScript has and has not answered.
struct Unanswered {
    peer: Arc<Peer>,
    bytes: usize,
}

impl Unanswered {
    fn new(peer: &Arc<Peer>, bytes: usize) -> Self {
        peer.unanswered_bytes.fetch_add(bytes, Ordering::AcqRel);
        Self { peer: Arc::clone(peer), bytes }
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        self.peer.unanswered_bytes.fetch_sub(self.bytes, Ordering::AcqRel);
        self.peer.room.notify_waiters();
    }
}

struct Unfinished<'peer> {
    peer: &'peer Peer,
    bytes: usize,
}

impl Unfinished<'_> {
    /// Gives those of all streams together.
    fn add(&mut self, bytes: usize) -> usize {
        self.bytes += bytes;
        self.peer.unfinished_bytes.fetch_add(bytes, Ordering::AcqRel) + bytes
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.peer.unfinished_bytes.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

pub fn ending_of(error: ConnectionError) -> Ending {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let plain = |cause| Ending { cause, code: 0, reason: error.to_string() };
    match &error {
        ConnectionError::TransportError(inner) => {
            Ending { cause: "transport", code: u64::from(inner.code), reason: inner.reason.clone() }
        }
        ConnectionError::ConnectionClosed(frame) => {
            Ending { cause: "refused", code: u64::from(frame.error_code), reason: text(&frame.reason) }
        }
        ConnectionError::ApplicationClosed(frame) => {
            Ending { cause: "application", code: frame.error_code.into_inner(), reason: text(&frame.reason) }
        }
        ConnectionError::VersionMismatch => plain("version"),
        ConnectionError::Reset => plain("reset"),
        ConnectionError::TimedOut => plain("idle"),
        ConnectionError::LocallyClosed => plain("local"),
        ConnectionError::CidsExhausted => plain("internal"),
    }
}

fn now_millis() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed().as_millis();
    u64::try_from(elapsed).unwrap_or(u64::MAX)
}
