//! What the threads of QUIC tell JavaScript: a queue, and one wake-up for everything that gathers in it.
//!
//! The queue has no limit of its own. What it holds is limited where it arises: connections by the number that an endpoint
//! takes (each counts until its end was read here), messages by the streams that a connection may have open.

use crate::js::Env;
use napi_sys as sys;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Events that one turn of JavaScript takes before it lets others run.
const TURN_EVENTS_MAX: usize = 512;

/// How a connection ended, or why it did not begin.
#[derive(Debug)]
pub struct Ending {
    /// `local`, `application`, `transport`, `idle`, `reset`, `version`, or `internal`.
    pub cause: &'static str,
    pub code: u64,
    pub reason: String,
}

#[derive(Debug)]
pub enum Event {
    /// A connection stands; the text is the address of the peer.
    Opened {
        peer: u32,
        address: String,
    },
    /// A whole message arrived.
    Message {
        peer: u32,
        stream: u32,
        bytes: Vec<u8>,
    },
    /// The peer wants no reply on this stream any more.
    Stopped {
        peer: u32,
        stream: u32,
    },
    /// The stream ended without a message.
    Failed {
        peer: u32,
        stream: u32,
        code: u64,
        reason: String,
    },
    /// What waited for the peer became little.
    Drained {
        peer: u32,
    },
    Closed {
        peer: u32,
        ending: Ending,
    },
    /// Nothing of the endpoint is left.
    Finished,
}

impl Event {
    /// The number of the kind, as `src/addon/addon.ts` knows it.
    fn kind(&self) -> u32 {
        match self {
            Self::Opened { .. } => 0,
            Self::Message { .. } => 1,
            Self::Stopped { .. } => 2,
            Self::Failed { .. } => 3,
            Self::Drained { .. } => 4,
            Self::Closed { .. } => 5,
            Self::Finished => 6,
        }
    }
}

/// Told on the JavaScript thread about each event, before JavaScript is.
pub type Witness = Box<dyn Fn(&Event) + Send + Sync>;

struct Wakeup(sys::napi_threadsafe_function);

// SAFETY: the one thing in Node-API that is made to be used from other threads.
unsafe impl Send for Wakeup {}

pub struct Events {
    queue: Mutex<VecDeque<Event>>,
    /// A wake-up is on its way.
    scheduled: AtomicBool,
    /// Gone once JavaScript ended, or the endpoint did.
    wakeup: Mutex<Option<Wakeup>>,
    witness: Witness,
}

impl Events {
    /// `callback` is called on the thread of `env` as `(kind, peer, stream, code, text, payload)`.
    pub fn new(env: Env, callback: sys::napi_value, witness: Witness) -> Option<Arc<Self>> {
        let events = Arc::new(Self {
            queue: Mutex::new(VecDeque::new()),
            scheduled: AtomicBool::new(false),
            wakeup: Mutex::new(None),
            witness,
        });
        let context = Arc::into_raw(Arc::clone(&events)).cast_mut().cast::<c_void>();
        let mut function = ptr::null_mut();
        // SAFETY: the context is given back in `forget`, which Node.js calls once when the function is no more.
        let status = unsafe {
            sys::napi_create_threadsafe_function(
                env.0,
                callback,
                ptr::null_mut(),
                env.text("iggy-quic").0,
                0,
                1,
                ptr::null_mut(),
                Some(forget),
                context,
                Some(deliver),
                &mut function,
            )
        };
        if status != sys::Status::napi_ok {
            // SAFETY: nobody took the context.
            drop(unsafe { Arc::from_raw(context.cast::<Self>()) });
            return None;
        }
        *lock(&events.wakeup) = Some(Wakeup(function));
        Some(events)
    }

    pub fn push(&self, event: Event) {
        lock(&self.queue).push_back(event);
        self.wake();
    }

    fn wake(&self) {
        if self.scheduled.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(Wakeup(function)) = &*lock(&self.wakeup) {
            // SAFETY: it is taken out before it is released. A refusal means that JavaScript is ending.
            unsafe {
                sys::napi_call_threadsafe_function(
                    *function,
                    ptr::null_mut(),
                    sys::ThreadsafeFunctionCallMode::nonblocking,
                )
            };
        }
    }

    /// JavaScript hears nothing more. Called on its thread.
    pub fn release(&self) {
        let taken = lock(&self.wakeup).take();
        if let Some(Wakeup(function)) = taken {
            // SAFETY: nobody else can reach it any more.
            unsafe { sys::napi_release_threadsafe_function(function, sys::ThreadsafeFunctionReleaseMode::release) };
        }
        lock(&self.queue).clear();
    }

    fn take_turn(&self) -> VecDeque<Event> {
        let mut queue = lock(&self.queue);
        let count = queue.len().min(TURN_EVENTS_MAX);
        queue.drain(..count).collect()
    }

    fn is_empty(&self) -> bool {
        lock(&self.queue).is_empty()
    }
}

/// A panic elsewhere leaves these maps and queues whole.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

unsafe extern "C" fn forget(_: sys::napi_env, _: *mut c_void, context: *mut c_void) {
    drop(Arc::from_raw(context.cast::<Events>()));
}

unsafe extern "C" fn deliver(env: sys::napi_env, callback: sys::napi_value, context: *mut c_void, _: *mut c_void) {
    // A null environment: the function is being torn down.
    if env.is_null() || callback.is_null() {
        return;
    }
    Arc::increment_strong_count(context.cast::<Events>());
    let events = Arc::from_raw(context.cast::<Events>());
    events.scheduled.store(false, Ordering::Release);
    let env = Env(env);
    for event in events.take_turn() {
        (events.witness)(&event);
        let mut scope = ptr::null_mut();
        sys::napi_open_handle_scope(env.0, &mut scope);
        tell(env, callback, event);
        sys::napi_close_handle_scope(env.0, scope);
    }
    if !events.is_empty() {
        events.wake();
    }
}

unsafe fn tell(env: Env, callback: sys::napi_value, event: Event) {
    let none = env.undefined();
    let kind = event.kind();
    let (peer, stream, code, text, payload) = match event {
        Event::Opened { peer, address } => (peer, 0, 0, env.text(&address), none),
        Event::Message { peer, stream, bytes } => (peer, stream, 0, none, env.buffer(bytes)),
        Event::Stopped { peer, stream } => (peer, stream, 0, none, none),
        Event::Failed { peer, stream, code, reason } => (peer, stream, code, env.text(&reason), none),
        Event::Drained { peer } => (peer, 0, 0, none, none),
        Event::Closed { peer, ending } => (peer, 0, ending.code, env.text(&ending.reason), env.text(ending.cause)),
        Event::Finished => (0, 0, 0, none, none),
    };
    let arguments = [
        env.number(f64::from(kind)).0,
        env.number(f64::from(peer)).0,
        env.number(f64::from(stream)).0,
        env.number(code as f64).0,
        text.0,
        payload.0,
    ];
    let status = sys::napi_call_function(env.0, none.0, callback, arguments.len(), arguments.as_ptr(), ptr::null_mut());
    if status == sys::Status::napi_pending_exception {
        let mut error = ptr::null_mut();
        sys::napi_get_and_clear_last_exception(env.0, &mut error);
        // An error in a handler is an uncaught one, as in the handlers of sockets.
        sys::napi_fatal_exception(env.0, error);
    }
}
