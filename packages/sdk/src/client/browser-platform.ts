import { FeatureUnavailableError } from "../errors/index.js";
import type { Platform } from "./platform.js";

/** Browsers have no sockets. */
export const browserPlatform: Platform = {
  loadTransport: (name) =>
    Promise.reject(new FeatureUnavailableError(`a browser has no ${name} transport in this build`)),
};
