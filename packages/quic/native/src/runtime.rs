//! The threads of QUIC: one small pool for the whole process, whatever number of endpoints and JavaScript threads there are.

use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

/// More would only compete with the threads of the server.
const THREADS_MAX: usize = 4;

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// Starts the threads with the first call.
pub fn runtime() -> &'static Runtime {
    RUNTIME.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Builder::new_multi_thread()
            .worker_threads(cores.min(THREADS_MAX))
            .thread_name("iggy-quic")
            .enable_all()
            .build()
            .expect("threads can be started")
    })
}
