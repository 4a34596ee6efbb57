/** io_uring is asked for by the configuration and not to be had. */
export class BackendRefused extends Error {
  constructor(reason: string, remedy: string) {
    super(`io.backend is uring, but ${reason}. To allow it, ${remedy}; or set io.backend to auto`);
    this.name = "BackendRefused";
  }
}
