//! Values between JavaScript and Rust: the few of them that this addon needs.

use napi_sys as sys;
use std::ffi::CString;
use std::ptr;

/// Payloads below this are copied into JavaScript; larger ones change hands.
const COPY_BYTES_MAX: usize = 16 * 1024;

/// An error that JavaScript sees thrown, with its `code`.
#[derive(Debug)]
pub struct Failure {
    pub code: &'static str,
    pub message: String,
}

impl Failure {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

pub type Outcome<T> = Result<T, Failure>;

fn check(status: sys::napi_status, what: &str) -> Outcome<()> {
    if status == sys::Status::napi_ok {
        Ok(())
    } else {
        Err(Failure::new("QUIC_ARGUMENT", format!("{what} (status {status})")))
    }
}

/// One call from JavaScript, on its thread.
#[derive(Clone, Copy)]
pub struct Env(pub sys::napi_env);

/// A value that lives as long as the call.
#[derive(Clone, Copy)]
pub struct Value(pub sys::napi_value);

impl Env {
    pub fn undefined(self) -> Value {
        let mut value = ptr::null_mut();
        // SAFETY: `self` is the environment of this call.
        unsafe { sys::napi_get_undefined(self.0, &mut value) };
        Value(value)
    }

    pub fn number(self, number: f64) -> Value {
        let mut value = ptr::null_mut();
        // SAFETY: as above.
        unsafe { sys::napi_create_double(self.0, number, &mut value) };
        Value(value)
    }

    pub fn text(self, text: &str) -> Value {
        let mut value = ptr::null_mut();
        // SAFETY: the length goes with the pointer.
        unsafe { sys::napi_create_string_utf8(self.0, text.as_ptr().cast(), text.len() as isize, &mut value) };
        Value(value)
    }

    /// A Buffer with the bytes: copied when they are few, else owning them until it is collected.
    pub fn buffer(self, bytes: Vec<u8>) -> Value {
        let mut value = ptr::null_mut();
        if bytes.len() >= COPY_BYTES_MAX {
            let mut owned = Box::new(bytes);
            let (data, length) = (owned.as_mut_ptr(), owned.len());
            let hint = Box::into_raw(owned);
            // SAFETY: `free_bytes` takes the box back, once, when nobody can reach the buffer any more.
            let status = unsafe {
                sys::napi_create_external_buffer(self.0, length, data.cast(), Some(free_bytes), hint.cast(), &mut value)
            };
            if status == sys::Status::napi_ok {
                return Value(value);
            }
            // SAFETY: a refused call has not taken it; some builds of Node.js allow no foreign memory.
            return self.copied(&unsafe { Box::from_raw(hint) });
        }
        self.copied(&bytes)
    }

    fn copied(self, bytes: &[u8]) -> Value {
        let mut value = ptr::null_mut();
        // SAFETY: the bytes are read during the call only.
        let status = unsafe {
            sys::napi_create_buffer_copy(self.0, bytes.len(), bytes.as_ptr().cast(), ptr::null_mut(), &mut value)
        };
        if status == sys::Status::napi_ok {
            Value(value)
        } else {
            self.undefined()
        }
    }

    pub fn throw(self, failure: &Failure) {
        let code = CString::new(failure.code).unwrap_or_default();
        let message = CString::new(failure.message.replace('\0', " ")).unwrap_or_default();
        // SAFETY: both strings end with a zero byte.
        unsafe { sys::napi_throw_error(self.0, code.as_ptr(), message.as_ptr()) };
    }
}

unsafe extern "C" fn free_bytes(_: sys::napi_env, _: *mut std::ffi::c_void, hint: *mut std::ffi::c_void) {
    drop(Box::from_raw(hint.cast::<Vec<u8>>()));
}

impl Value {
    pub fn as_number(self, env: Env, what: &str) -> Outcome<f64> {
        let mut number = 0.0;
        // SAFETY: `self` belongs to this call.
        check(unsafe { sys::napi_get_value_double(env.0, self.0, &mut number) }, &format!("{what} is no number"))?;
        Ok(number)
    }

    pub fn as_u32(self, env: Env, what: &str) -> Outcome<u32> {
        // `as` saturates, and turns what is no number at all into 0.
        Ok(self.as_number(env, what)? as u32)
    }

    pub fn as_text(self, env: Env, what: &str) -> Outcome<String> {
        let problem = format!("{what} is no text");
        let mut length = 0;
        // SAFETY: without a buffer only the length is asked for.
        check(unsafe { sys::napi_get_value_string_utf8(env.0, self.0, ptr::null_mut(), 0, &mut length) }, &problem)?;
        let mut bytes = vec![0u8; length + 1];
        // SAFETY: the buffer has room for the text and its zero byte.
        check(
            unsafe {
                sys::napi_get_value_string_utf8(env.0, self.0, bytes.as_mut_ptr().cast(), bytes.len(), &mut length)
            },
            &problem,
        )?;
        bytes.truncate(length);
        String::from_utf8(bytes).map_err(|_| Failure::new("QUIC_ARGUMENT", problem))
    }

    pub fn property(self, env: Env, name: &str) -> Outcome<Value> {
        let key = CString::new(name).unwrap_or_default();
        let mut value = ptr::null_mut();
        // SAFETY: the name ends with a zero byte.
        check(
            unsafe { sys::napi_get_named_property(env.0, self.0, key.as_ptr(), &mut value) },
            &format!("{name} can't be read"),
        )?;
        Ok(Value(value))
    }

    /// The elements of an array.
    pub fn elements(self, env: Env, what: &str) -> Outcome<Vec<Value>> {
        let problem = format!("{what} is no array");
        let mut length = 0;
        // SAFETY: `self` belongs to this call.
        check(unsafe { sys::napi_get_array_length(env.0, self.0, &mut length) }, &problem)?;
        (0..length)
            .map(|at| {
                let mut value = ptr::null_mut();
                // SAFETY: as above.
                check(unsafe { sys::napi_get_element(env.0, self.0, at, &mut value) }, &problem)?;
                Ok(Value(value))
            })
            .collect()
    }

    /// Appends the bytes of a typed array.
    pub fn append_to(self, env: Env, target: &mut Vec<u8>) -> Outcome<()> {
        let (mut kind, mut length, mut data) = (0, 0, ptr::null_mut());
        // SAFETY: `self` belongs to this call; what need not be known is not asked for.
        check(
            unsafe {
                sys::napi_get_typedarray_info(
                    env.0,
                    self.0,
                    &mut kind,
                    &mut length,
                    &mut data,
                    ptr::null_mut(),
                    ptr::null_mut(),
                )
            },
            "bytes are expected",
        )?;
        if kind != sys::TypedarrayType::uint8_array {
            return Err(Failure::new("QUIC_ARGUMENT", "bytes are a Uint8Array"));
        }
        if length > 0 {
            // SAFETY: JavaScript is not running meanwhile, so the array stays where it is.
            target.extend_from_slice(unsafe { std::slice::from_raw_parts(data.cast(), length) });
        }
        Ok(())
    }

    pub fn as_bytes(self, env: Env) -> Outcome<Vec<u8>> {
        let mut bytes = Vec::new();
        self.append_to(env, &mut bytes)?;
        Ok(bytes)
    }

    /// The pieces of an array, back to back.
    pub fn joined(self, env: Env) -> Outcome<Vec<u8>> {
        let mut bytes = Vec::new();
        for piece in self.elements(env, "pieces")? {
            piece.append_to(env, &mut bytes)?;
        }
        Ok(bytes)
    }
}
