//! The native part of `@iggy/quic`. JavaScript names endpoints, connections and streams by number; a number that is not
//! there any more is passed over, because an end may cross what JavaScript asks for.

mod endpoint;
mod events;
mod js;
mod peer;
mod runtime;
mod settings;
mod socket;
mod tls;

use crate::endpoint::Endpoint;
use crate::events::lock;
use crate::js::{Env, Failure, Outcome, Value};
use crate::peer::Peer;
use crate::runtime::runtime;
use napi_sys as sys;
use quinn::VarInt;
use std::collections::HashMap;
use std::ffi::{c_void, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

/// Grows with every change of what the two sides say to each other; `src/addon/addon.ts` asks for it.
const REVISION: u32 = 1;
const ARGUMENTS_MAX: usize = 6;

#[derive(Default)]
struct Registry {
    endpoints: HashMap<u32, Arc<Endpoint>>,
    last: u32,
}

static REGISTRY: LazyLock<Mutex<Registry>> = LazyLock::new(Mutex::default);

type Arguments = [Value; ARGUMENTS_MAX];
type Export = fn(Env, &Arguments) -> Outcome<Option<f64>>;

const EXPORTS: &[(&str, Export)] = &[
    ("openServer", |env, [options, callback, ..]| {
        Ok(Some(register(env, Endpoint::open_server(env, *options, *callback)?)))
    }),
    ("openClient", |env, [options, callback, ..]| {
        Ok(Some(register(env, Endpoint::open_client(env, *options, *callback)?)))
    }),
    ("port", |env, [id, ..]| with_endpoint(env, *id, |endpoint| Ok(Some(f64::from(endpoint.port()))))),
    ("received", |env, [id, ..]| with_endpoint(env, *id, |endpoint| Ok(Some(endpoint.received() as f64)))),
    ("setCertificate", |env, [id, options, ..]| {
        with_endpoint(env, *id, |endpoint| endpoint.set_certificate(env, *options).map(|()| None))
    }),
    ("stopAccepting", |env, [id, ..]| {
        with_endpoint(env, *id, |endpoint| {
            endpoint.stop_accepting();
            Ok(None)
        })
    }),
    ("close", |env, [id, code, reason, ..]| {
        let (code, reason) = close_code(env, *code, *reason)?;
        with_endpoint(env, *id, |endpoint| {
            endpoint.close(code, &reason);
            Ok(None)
        })
    }),
    ("forget", |env, [id, ..]| {
        let id = id.as_u32(env, "endpoint")?;
        // SAFETY: the same pair as in `register`.
        unsafe { sys::napi_remove_env_cleanup_hook(env.0, Some(environment_ends), hook_argument(id)) };
        forget(id);
        Ok(None)
    }),
    ("respond", |env, [id, peer, stream, pieces, ..]| {
        let bytes = pieces.joined(env)?;
        let stream = stream.as_u32(env, "stream")?;
        with_peer(env, *id, *peer, |peer| {
            peer.respond(stream, bytes);
            None
        })
    }),
    ("request", |env, [id, peer, stream, message, ..]| {
        let bytes = message.as_bytes(env)?;
        let stream = stream.as_u32(env, "stream")?;
        with_peer(env, *id, *peer, |peer| {
            peer.request(stream, bytes);
            None
        })
    }),
    ("abandon", |env, [id, peer, stream, ..]| {
        let stream = stream.as_u32(env, "stream")?;
        with_peer(env, *id, *peer, |peer| {
            peer.abandon(stream);
            None
        })
    }),
    ("setMessageLimit", |env, [id, peer, bytes, ..]| {
        let bytes = bytes.as_number(env, "bytes")? as usize;
        with_peer(env, *id, *peer, |peer| {
            peer.set_message_limit(bytes);
            None
        })
    }),
    ("queuedBytes", |env, [id, peer, ..]| with_peer(env, *id, *peer, |peer| Some(peer.queued_bytes() as f64))),
    ("quietMillis", |env, [id, peer, ..]| with_peer(env, *id, *peer, |peer| Some(peer.quiet_millis() as f64))),
    ("mtu", |env, [id, peer, ..]| {
        with_peer(env, *id, *peer, |peer| Some(f64::from(peer.connection.stats().path.current_mtu)))
    }),
    ("finishPeer", |env, [id, peer, code, reason, grace, ..]| {
        let (code, reason) = close_code(env, *code, *reason)?;
        let grace = Duration::from_millis(grace.as_number(env, "grace")? as u64);
        with_peer(env, *id, *peer, |peer| {
            runtime().spawn(Arc::clone(peer).finish(code, reason, grace));
            None
        })
    }),
    ("closePeer", |env, [id, peer, code, reason, ..]| {
        let (code, reason) = close_code(env, *code, *reason)?;
        with_peer(env, *id, *peer, |peer| {
            peer.connection.close(code, reason.as_bytes());
            None
        })
    }),
];

fn close_code(env: Env, code: Value, reason: Value) -> Outcome<(VarInt, String)> {
    let code = VarInt::from_u32(code.as_u32(env, "code")?);
    Ok((code, reason.as_text(env, "reason")?))
}

fn register(env: Env, endpoint: Arc<Endpoint>) -> f64 {
    let mut registry = lock(&REGISTRY);
    registry.last += 1;
    let id = registry.last;
    registry.endpoints.insert(id, endpoint);
    // After the events have theirs: hooks run in reverse order, so this one finds them alive.
    // SAFETY: the argument is a number.
    unsafe { sys::napi_add_env_cleanup_hook(env.0, Some(environment_ends), hook_argument(id)) };
    f64::from(id)
}

fn hook_argument(id: u32) -> *mut c_void {
    id as usize as *mut c_void
}

/// The thread that opened the endpoint ends, and nobody closed it.
unsafe extern "C" fn environment_ends(argument: *mut c_void) {
    forget(argument as usize as u32);
}

fn forget(id: u32) {
    let endpoint = lock(&REGISTRY).endpoints.remove(&id);
    if let Some(endpoint) = endpoint {
        endpoint.events.release();
        endpoint.close(VarInt::from_u32(0), "");
    }
}

fn with_endpoint(env: Env, id: Value, run: impl FnOnce(Arc<Endpoint>) -> Outcome<Option<f64>>) -> Outcome<Option<f64>> {
    let id = id.as_u32(env, "endpoint")?;
    let endpoint = lock(&REGISTRY).endpoints.get(&id).cloned();
    endpoint.map_or(Ok(None), run)
}

fn with_peer(env: Env, id: Value, peer: Value, run: impl FnOnce(&Arc<Peer>) -> Option<f64>) -> Outcome<Option<f64>> {
    let peer = peer.as_u32(env, "connection")?;
    with_endpoint(env, id, |endpoint| Ok(endpoint.peer(peer).and_then(|peer| run(&peer))))
}

unsafe extern "C" fn call(raw: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let env = Env(raw);
    let none = env.undefined();
    let mut count = ARGUMENTS_MAX;
    let mut values = [none.0; ARGUMENTS_MAX];
    let mut data = ptr::null_mut();
    sys::napi_get_cb_info(raw, info, &mut count, values.as_mut_ptr(), ptr::null_mut(), &mut data);
    let (_, export) = EXPORTS[data as usize];
    // Much of QUIC only works from inside its threads, or where they are said to be.
    let _inside = runtime().enter();
    let outcome = catch_unwind(AssertUnwindSafe(|| export(env, &values.map(Value))));
    match outcome.unwrap_or_else(|_| Err(Failure::new("QUIC_PANIC", "the addon failed; see the standard error"))) {
        Ok(Some(number)) => env.number(number).0,
        Ok(None) => none.0,
        Err(failure) => {
            env.throw(&failure);
            none.0
        }
    }
}

/// Called by Node.js once for each thread that loads the addon.
///
/// # Safety
/// Only Node.js may call it.
#[no_mangle]
pub unsafe extern "C" fn napi_register_module_v1(raw: sys::napi_env, exports: sys::napi_value) -> sys::napi_value {
    let env = Env(raw);
    for (at, (name, _)) in EXPORTS.iter().enumerate() {
        let name = CString::new(*name).unwrap_or_default();
        let mut function = ptr::null_mut();
        sys::napi_create_function(
            raw,
            name.as_ptr(),
            name.as_bytes().len() as isize,
            Some(call),
            at as *mut c_void,
            &mut function,
        );
        sys::napi_set_named_property(raw, exports, name.as_ptr(), function);
    }
    sys::napi_set_named_property(raw, exports, c"revision".as_ptr(), env.number(f64::from(REVISION)).0);
    exports
}

/// Declares that Node-API 8 is enough.
#[no_mangle]
pub extern "C" fn node_api_module_get_api_version_v1() -> i32 {
    8
}
